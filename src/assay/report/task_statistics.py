"""What the tasks ask for: LIBERO-X's Tables XI and XII, its tree of labels (Figure 8) and its flows (Figure 12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from assay.extensions.papers.libero_x.tables import level_rows
from assay.measures.frames import atoms
from assay.measures.result import MeasureError
from assay.measures.success.task_labels import label_families
from assay.measures.views.style import FAINT, INK, SERIES, WIDTH, Drawing
from assay.measures.views.table import Column, Table, Value
from assay.measures.views.wording import plural
from assay.report.papers.base import PaperRun, Part, of_each
from assay.tasks.census import Asked, Census, census
from assay.tasks.labels import COLUMN, read

MOST = 14
"""Categories of objects, and of containers, that a figure shows; the rest is drawn together."""
OWN = (1, 4)
"""The levels with tasks of their own: 2 and 3 repeat those of 1, and 5 those of 4."""
OTHERS = "others"
ALL_TASKS = "all tasks"
NOTHING = "nothing"
"""In place of a container: the predicate has none."""


def census_of(run: PaperRun, *levels: int) -> Census:
    """What the tasks of a run's levels ask for: each task of a level, and each other goal that a seed drew there."""
    rows = level_rows(run, *levels).filter(pl.col("truth") != "{}")
    if not len(rows):
        raise MeasureError("no episode says what its goal was")
    families = label_families(rows)
    goal = pl.col("truth").map_elements(lambda each: "; ".join(sorted(atoms(each))), return_dtype=pl.String)
    by = ["task", "level", "_goal", *(f"{COLUMN}{family}" for family in families)]
    asked = rows.with_columns(_goal=goal).select(by).unique(maintain_order=True)
    return census(
        Asked(
            tuple(str(line["_goal"]).split("; ")),
            {family: read(line[f"{COLUMN}{family}"]) for family in families},
        )
        for line in asked.iter_rows(named=True)
    )


def frequencies(runs: Sequence[PaperRun], *levels: int) -> Iterator[Part]:
    """Tables XI and XII: how often each predicate, object and container is asked for."""
    found, missing = of_each(runs, lambda run: census_of(run, *levels))
    yield frequency_table(found)
    yield from missing


def frequency_table(found: Mapping[str, Census]) -> Table:
    """How often each predicate, object and container occurs, by name of the tasks."""
    several = len(found) > 1
    scenes = any(each.all.scenes is not None for each in found.values())
    rows: list[tuple[Value, ...]] = [
        (*((name,) if several else ()), part, what, *((each.scenes,) if scenes else ()), each.tasks)
        for name, counted in found.items()
        for part, things in counted.parts.items()
        for what, each in {ALL_TASKS if part == "predicate" else "": counted.all, **things}.items()
        if what
    ]
    return Table(
        "frequency",
        "Predicates, objects and containers",
        (
            *((Column("model"),) if several else ()),
            Column("part"),
            Column("name"),
            *((Column("scenes", "count"),) if scenes else ()),
            Column("tasks", "count"),
        ),
        tuple(rows),
        "A task counts once for each name in its goal. Objects are what is placed, opened or turned; containers where "
        "something is placed.",
    )


def label_tree(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Figure 8: the families, their labels, and how many tasks have each; a tree of each run whose tasks differ."""
    found, missing = of_each(runs, lambda run: census_of(run, *OWN))
    same = len({repr(each.labels) for each in found.values()}) == 1
    for place, (name, each) in enumerate(found.items(), start=1):
        yield tree_figure(each, "" if same else name, f"tree-{place}")
        if same:
            break
    yield from missing


def label_table(found: Census) -> Table:
    """How many tasks have each label."""
    scenes = found.all.scenes is not None
    rows: list[tuple[Value, ...]] = [
        (family, label, *((each.scenes,) if scenes else ()), each.tasks, each.tasks / found.all.tasks)
        for family, labels in found.labels.items()
        for label, each in labels.items()
    ]
    return Table(
        "labels",
        "Labels",
        (
            Column("family"),
            Column("label"),
            *((Column("scenes", "count"),) if scenes else ()),
            Column("tasks", "count"),
            Column("of all tasks", "share"),
        ),
        tuple(rows),
        "A task may have several labels of a family.",
    )


def tree_figure(found: Census, of: str = "", name: str = "tree") -> Drawing:
    """The families, their labels, and how many tasks have each."""
    if not found.labels:
        raise MeasureError("no task has a label")
    leaves = sum(len(labels) for labels in found.labels.values())

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(leaves + len(found.labels) - 1, -1)
        row, middles = 0.0, []
        for place, (family, labels) in enumerate(found.labels.items()):
            colour = SERIES[place % len(SERIES)]
            middle = row + (len(labels) - 1) / 2
            middles.append(middle)
            for number, (label, each) in enumerate(labels.items()):
                _joined(axes, (0.325, middle), (0.5, row + number), colour)
                axes.text(0.51, row + number, label, va="center")
                share = each.tasks / found.all.tasks
                axes.add_patch(
                    Rectangle((0.7, row + number - 0.3), 0.22 * share, 0.6, color=colour, alpha=0.75)
                )
                axes.text(0.705 + 0.22 * share, row + number, f" {each.tasks:,}", va="center", color=FAINT)
            axes.text(0.215, middle, family, va="center", color=colour, fontweight="bold")
            row += len(labels) + 1
        root = (middles[0] + middles[-1]) / 2
        for place, middle in enumerate(middles):
            _joined(axes, (0.09, root), (0.21, middle), SERIES[place % len(SERIES)])
        axes.text(0.085, root, plural(found.all.tasks, "task"), va="center", ha="right", fontweight="bold")

    caption = (
        "How many tasks have each label; a task may have several of a family. Bars: the share of all tasks."
    )
    title = f"{of}: labels of the tasks" if of else "Labels of the tasks"
    return Drawing(name, title, caption, (WIDTH, 0.24 * (leaves + len(found.labels)) + 0.3), paint)


def flows(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Figure 12: from predicates through objects to containers; a figure of each run whose tasks differ."""
    found, missing = of_each(runs, lambda run: census_of(run, *OWN))
    same = len({repr(each.flows) for each in found.values()}) == 1
    for place, (name, each) in enumerate(found.items(), start=1):
        yield flow_figure(each, "" if same else name, f"flows-{place}")
        if same:
            break
    yield from missing


def flow_figure(found: Census, of: str = "", name: str = "flows") -> Drawing:
    """From predicates through objects to containers: bands as wide as there are tasks."""
    if not found.flows:
        raise MeasureError("no task has a goal")
    kept = [set(list(part)[:MOST]) for part in (found.predicates, found.objects, found.containers)]
    merged: dict[tuple[str, str, str], int] = {}
    for triple, each in found.flows.items():
        shown = tuple(
            each_name if each_name in known else (OTHERS if each_name else NOTHING)
            for each_name, known in zip(triple, kept, strict=True)
        )
        key = (shown[0], shown[1], shown[2])
        merged[key] = merged.get(key, 0) + each.tasks
    columns = [_stacked(merged, place) for place in range(3)]
    total = sum(merged.values())
    gap = 0.012 * total
    tall = max(sum(column.values()) + gap * (len(column) - 1) for column in columns)
    colours = {each: (*SERIES, *[FAINT] * len(columns[0]))[place] for place, each in enumerate(columns[0])}
    counts = list(found.parts.values())

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_xlim(-0.16, 1.2)
        axes.set_ylim(tall * 1.02, -0.06 * tall)
        tops = [_tops(column, gap, tall) for column in columns]
        for place, (column, heading) in enumerate(
            zip(columns, ("predicate", "object", "container"), strict=True)
        ):
            x = place / 2
            axes.text(x, -0.035 * tall, heading, ha="center", fontweight="bold", color=INK)
            for what, count in column.items():
                top = tops[place][what]
                colour = colours.get(what, FAINT) if place == 0 else FAINT
                axes.add_patch(Rectangle((x - 0.008, top), 0.016, count, color=colour, lw=0))
                left = place == 0
                known = f"  {counts[place][what].tasks:,}" if what in counts[place] else ""
                axes.text(
                    x - 0.014 if left else x + 0.014, top + count / 2,
                    f"{what.replace('_', ' ')}{known}", ha="right" if left else "left", va="center", fontsize=7,
                )  # fmt: skip
        for start in (0, 1):
            used = [dict(each) for each in (tops[start], tops[start + 1])]
            bands: dict[tuple[str, str, str], int] = {}
            for triple, count in merged.items():
                key = (triple[0], triple[start], triple[start + 1])
                bands[key] = bands.get(key, 0) + count
            order = [list(columns[place]) for place in (0, start, start + 1)]
            for key in sorted(bands, key=lambda each: [order[n].index(each[n]) for n in (1, 2, 0)]):
                root, one, other = key
                _band(axes, start / 2, used[0][one], used[1][other], bands[key], colours[root])
                used[0][one] += bands[key]
                used[1][other] += bands[key]

    left = " ".join(
        f"The {len(part) - MOST} rarest {what} are drawn as {OTHERS}."
        for what, part in (("objects", found.objects), ("containers", found.containers))
        if len(part) > MOST
    )
    caption = (
        f"{plural(found.all.tasks, 'task')}; numbers are tasks. Bands: one line of a goal, as wide as the number of "
        f"tasks that have it, in the colour of its predicate; {NOTHING}: the predicate has no container. {left}"
    ).strip()
    title = f"{of}: predicates, objects and containers" if of else "Predicates, objects and containers"
    lines = max(len(column) for column in columns)
    return Drawing(name, title, caption, (WIDTH, max(4.0, 0.3 * lines + 0.8)), paint)


def _stacked(merged: Mapping[tuple[str, str, str], int], place: int) -> dict[str, int]:
    """The names of a column and how many tasks each has, the most first; what is put together, last."""
    counts: dict[str, int] = {}
    for triple, count in merged.items():
        counts[triple[place]] = counts.get(triple[place], 0) + count
    return dict(sorted(counts.items(), key=lambda item: (item[0] in (OTHERS, NOTHING), -item[1])))


def _tops(column: Mapping[str, int], gap: float, tall: float) -> dict[str, float]:
    """Where each name's bar begins, the whole column in the middle of the height."""
    top = (tall - sum(column.values()) - gap * (len(column) - 1)) / 2
    found: dict[str, float] = {}
    for what, count in column.items():
        found[what] = top
        top += count + gap
    return found


def _band(axes: Axes, x: float, top: float, other: float, count: float, colour: str) -> None:
    """A band from one column to the next."""
    near, far, middle = x + 0.008, x + 0.5 - 0.008, x + 0.25
    corners = [
        (near, top), (middle, top), (middle, other), (far, other),
        (far, other + count), (middle, other + count), (middle, top + count), (near, top + count), (near, top),
    ]  # fmt: skip
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    axes.add_patch(PathPatch(Path(corners, codes), facecolor=colour, alpha=0.32, lw=0))


def _joined(axes: Axes, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    """A smooth line of the tree."""
    middle = (start[0] + end[0]) / 2
    path = Path(
        [start, (middle, start[1]), (middle, end[1]), end],
        [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
    )
    axes.add_patch(PathPatch(path, facecolor="none", edgecolor=colour, lw=1.2, alpha=0.6))
