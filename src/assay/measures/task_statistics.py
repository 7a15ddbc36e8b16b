"""Statistics of task sets: frequencies of predicates, objects, containers and labels, as tables and figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from assay.measures.result import MeasureError
from assay.measures.views.style import FAINT, INK, SERIES, WIDTH, Drawing, Figure
from assay.measures.views.table import Column, Table, Value
from assay.measures.views.wording import plural
from assay.tasks.labels import Census

MOST_CATEGORIES = 14
"""Maximum number of object categories, and of containers, in a figure; less frequent ones are merged."""
OTHERS = "others"
ALL_TASKS = "all tasks"
NOTHING = "nothing"
"""Name shown for the container of a predicate that has none."""


def frequency_table(results: Mapping[str, Census]) -> Table:
    """Make the table of the number of tasks with each predicate, object and container, for task sets by name."""
    several = len(results) > 1
    has_scenes = any(result.all.scenes is not None for result in results.values())
    rows: list[tuple[Value, ...]] = [
        (*((name,) if several else ()), part, what, *((count.scenes,) if has_scenes else ()), count.tasks)
        for name, result in results.items()
        for part, counts in result.parts.items()
        for what, count in {ALL_TASKS if part == "predicate" else "": result.all, **counts}.items()
        if what
    ]
    return Table(
        "frequency",
        "Predicates, objects and containers",
        (
            *((Column("model"),) if several else ()),
            Column("part"),
            Column("name"),
            *((Column("scenes", "count"),) if has_scenes else ()),
            Column("tasks", "count"),
        ),
        tuple(rows),
        "A task counts once for each name in its goal. Objects are placed, opened or turned; containers receive an "
        "object.",
    )


def label_table(result: Census) -> Table:
    """Make the table of the number of tasks with each label."""
    has_scenes = result.all.scenes is not None
    rows: list[tuple[Value, ...]] = [
        (family, label, *((count.scenes,) if has_scenes else ()), count.tasks, count.tasks / result.all.tasks)
        for family, labels in result.labels.items()
        for label, count in labels.items()
    ]
    return Table(
        "labels",
        "Labels",
        (
            Column("family"),
            Column("label"),
            *((Column("scenes", "count"),) if has_scenes else ()),
            Column("tasks", "count"),
            Column("of all tasks", "share"),
        ),
        tuple(rows),
        "A task may have several labels from one family.",
    )


def tree_figure(result: Census, of: str = "", name: str = "tree") -> Drawing:
    """Draw the labels of the tasks as a tree, grouped by family, with the number of tasks for each."""
    if not result.labels:
        raise MeasureError("no task has a label")
    leaves = sum(len(labels) for labels in result.labels.values())

    def paint(figure: Figure) -> None:
        from matplotlib.patches import Rectangle

        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(leaves + len(result.labels) - 1, -1)
        row, middles = 0.0, []
        for place, (family, labels) in enumerate(result.labels.items()):
            colour = SERIES[place % len(SERIES)]
            middle = row + (len(labels) - 1) / 2
            middles.append(middle)
            for y, (label, count) in enumerate(labels.items(), start=int(row)):
                _connect(axes, (0.325, middle), (0.5, y), colour)
                axes.text(0.51, y, label, va="center")
                width = 0.22 * count.tasks / result.all.tasks
                axes.add_patch(Rectangle((0.7, y - 0.3), width, 0.6, color=colour, alpha=0.75))
                axes.text(0.705 + width, y, f" {count.tasks:,}", va="center", color=FAINT)
            axes.text(0.215, middle, family, va="center", color=colour, fontweight="bold")
            row += len(labels) + 1
        root = (middles[0] + middles[-1]) / 2
        for place, middle in enumerate(middles):
            _connect(axes, (0.09, root), (0.21, middle), SERIES[place % len(SERIES)])
        axes.text(0.085, root, plural(result.all.tasks, "task"), va="center", ha="right", fontweight="bold")

    caption = (
        "Number of tasks with each label; a task may have several from one family. Bars: fraction of tasks."
    )
    title = f"{of}: labels of the tasks" if of else "Labels of the tasks"
    return Drawing(name, title, caption, (WIDTH, 0.24 * (leaves + len(result.labels)) + 0.3), paint)


def flow_figure(result: Census, of: str = "", name: str = "flows") -> Drawing:
    """Draw a flow diagram from predicates through objects to containers; a band's width is its number of tasks."""
    if not result.flows:
        raise MeasureError("no task has a goal")
    shown = [
        set(list(part)[:MOST_CATEGORIES]) for part in (result.predicates, result.objects, result.containers)
    ]
    merged: Counter[tuple[str, ...]] = Counter()
    for triple, count in result.flows.items():
        names = zip(triple, shown, strict=True)
        key = tuple(what if what in kept else (OTHERS if what else NOTHING) for what, kept in names)
        merged[key] += count.tasks
    columns = []
    for place in range(3):
        totals: Counter[str] = Counter()
        for key, tasks in merged.items():
            totals[key[place]] += tasks
        # in decreasing order, merged names last
        order = sorted(totals, key=lambda name: (name in (OTHERS, NOTHING), -totals[name]))
        columns.append({name: totals[name] for name in order})
    gap = 0.012 * sum(merged.values())
    tall = max(sum(column.values()) + gap * (len(column) - 1) for column in columns)
    colours = dict(zip(columns[0], (*SERIES, *[FAINT] * len(columns[0])), strict=False))
    counts = list(result.parts.values())

    def paint(figure: Figure) -> None:
        from matplotlib.patches import PathPatch, Rectangle
        from matplotlib.path import Path

        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_xlim(-0.16, 1.2)
        axes.set_ylim(tall * 1.02, -0.06 * tall)
        tops: list[dict[str, float]] = []
        for column in columns:  # centred vertically
            top = (tall - sum(column.values()) - gap * (len(column) - 1)) / 2
            above = accumulate((count + gap for count in column.values()), initial=top)
            tops.append(dict(zip(column, above, strict=False)))
        for place, heading in enumerate(("predicate", "object", "container")):
            x = place / 2
            axes.text(x, -0.035 * tall, heading, ha="center", fontweight="bold", color=INK)
            side: Any = {"x": x - 0.014, "ha": "right"} if place == 0 else {"x": x + 0.014, "ha": "left"}
            for what, count in columns[place].items():
                top = tops[place][what]
                colour = colours[what] if place == 0 else FAINT
                axes.add_patch(Rectangle((x - 0.008, top), 0.016, count, color=colour, lw=0))
                tasks = f"  {counts[place][what].tasks:,}" if what in counts[place] else ""
                text = f"{what.replace('_', ' ')}{tasks}"
                axes.text(**side, y=top + count / 2, s=text, va="center", fontsize=7)
        for start in (0, 1):
            used = [dict(tops[start]), dict(tops[start + 1])]
            bands: Counter[tuple[str, str, str]] = Counter()
            for triple, count in merged.items():
                bands[triple[0], triple[start], triple[start + 1]] += count
            order = [list(columns[place]) for place in (0, start, start + 1)]
            for key in sorted(bands, key=lambda band: [order[n].index(band[n]) for n in (1, 2, 0)]):
                root, near, far = key
                (left, right), count = (used[0][near], used[1][far]), bands[key]
                x0, x1, x2 = start / 2 + 0.008, start / 2 + 0.25, start / 2 + 0.492
                upper = [(x0, left), (x1, left), (x1, right), (x2, right)]
                lower = [(x, y + count) for x, y in reversed(upper)]
                codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
                band = Path([*upper, *lower, upper[0]], codes)
                axes.add_patch(PathPatch(band, facecolor=colours[root], alpha=0.32, lw=0))
                used[0][near] += count
                used[1][far] += count

    merged_note = " ".join(
        f"Only the {MOST_CATEGORIES} most frequent {what} are shown; the rest are merged into {OTHERS}."
        for what, part in (("objects", result.objects), ("containers", result.containers))
        if len(part) > MOST_CATEGORIES
    )
    caption = (
        f"{plural(result.all.tasks, 'task')}; numbers count tasks. Each band is one line of a goal, in the colour of "
        f"its predicate; its width shows the number of tasks. {NOTHING}: the predicate has no container. {merged_note}"
    ).strip()
    title = f"{of}: predicates, objects and containers" if of else "Predicates, objects and containers"
    rows = max(len(column) for column in columns)
    return Drawing(name, title, caption, (WIDTH, max(4.0, 0.3 * rows + 0.8)), paint)


def _connect(axes: Any, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    """Draw a smooth connecting line in the tree."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    middle = (start[0] + end[0]) / 2
    points = [start, (middle, start[1]), (middle, end[1]), end]
    path = Path(points, [Path.MOVETO, *[Path.CURVE4] * 3])
    axes.add_patch(PathPatch(path, facecolor="none", edgecolor=colour, lw=1.2, alpha=0.6))
