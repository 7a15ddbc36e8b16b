"""Paraphrases: the grid of names and phrasings, the cost of other names, and success against distance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.frames import ACTIONS, NONE, OBJECTS, require, sums, valid_rows
from assay.measures.measure import Measure, Panel, ReportedRun
from assay.measures.result import MeasureError, Result
from assay.measures.success.rates import RATE, Rate, interval_note, rates, rates_drawing
from assay.measures.views import style
from assay.measures.views.style import Drawing, Figure
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import between, describe_runs, number, p_phrase, plural, points
from assay.measures.words.names import WORDS
from assay.support.stats.intervals import Interval, paired_difference
from assay.support.stats.resampling import table_correlation

if TYPE_CHECKING:
    from assay.perturb.words.grid.table import GridStats


@dataclass(frozen=True, slots=True)
class GridCell(Result):
    """One combination of a way of naming objects and a phrasing of the action."""

    object: Annotated[str, Column("names")]
    action: Annotated[str, Column("action")]
    rate: Rate
    pd: Annotated[float | None, Column("PD", "number")]
    """Mean distance of the cell's instructions from the original; None if not scored."""


@dataclass(frozen=True, slots=True)
class Grid(Result):
    """Success by cell of the paraphrase grid; the control is the cell (none, none)."""

    cells: tuple[GridCell, ...]
    """Cells with episodes, row by row."""
    objects: tuple[Rate, ...]
    """Success for each way of naming objects, over all phrasings, excluding the control."""
    actions: tuple[Rate, ...]
    """Success for each phrasing of the action, over all ways of naming objects, excluding the control."""


@dataclass(frozen=True, slots=True)
class ObjectGap(Result):
    """Paraphrases that keep the object's name (none, addition), compared with those that change it."""

    preserved: Rate
    paraphrased: Rate
    change: float
    """Difference ``paraphrased - preserved``."""
    interval: Interval
    """Newcombe interval over wordings."""


@dataclass(frozen=True, slots=True)
class Correlation(Result):
    """Pearson's correlation between a cell's mean distance and its success rate."""

    r: float
    cells: int
    p: float
    """p value by permutation of the grid's rows and columns, because cells of one row or column are not independent."""
    interval: Interval
    """Fisher's interval, widened for the dependence between cells."""


def paraphrases(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of paraphrases in the grid. Raises MeasureError if none exist."""
    require(frame, "object", "action")
    return frame.filter(
        (pl.col("condition") != CONTROL) & pl.col("object").is_not_null() & pl.col("action").is_not_null()
    )


def all_paraphrases(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of all paraphrases, including those of unknown type. Raises MeasureError if none exist."""
    labels = [names for names in (("object", "action"), ("scores",)) if set(names) <= set(frame.columns)]
    has_labels = [pl.lit(False), *(pl.all_horizontal(pl.col(names).is_not_null()) for names in labels)]
    rows = frame.filter((pl.col("condition") != CONTROL) & pl.any_horizontal(has_labels))
    if not len(rows):
        raise MeasureError("no episode has the labels of a paraphrase")
    return rows


def grid(frame: pl.DataFrame) -> Grid:
    """Measure success over the 4 x 11 grid and its margins."""
    rows = paraphrases(frame)
    usual = frame.filter(pl.col("condition") == CONTROL)
    usual = usual.with_columns(object=pl.lit(NONE), action=pl.lit(NONE))
    distances = {}
    if "pd" in rows.columns:
        means = rows.group_by("object", "action", maintain_order=True).agg(pl.col("pd").mean())
        distances = {(names, action): mean for names, action, mean in means.iter_rows()}
    distances[NONE, NONE] = 0.0
    by_cell = {
        (str(rate.group["object"]), str(rate.group["action"])): rate
        for part in (usual, rows)
        for rate in rates(part, ("object", "action"))
    }
    cells = tuple(
        GridCell(*cell, by_cell[cell], distances.get(cell))
        for cell in product(OBJECTS, ACTIONS)
        if cell in by_cell
    )

    def margin(name: str, order: tuple[str, ...]) -> tuple[Rate, ...]:
        by_value = {str(rate.group[name]): rate for rate in rates(rows, (name,))}
        return tuple(by_value[value] for value in order if value in by_value)

    return Grid(cells, margin("object", OBJECTS), margin("action", ACTIONS))


def object_gap(frame: pl.DataFrame) -> ObjectGap:
    """Measure the cost of referring to objects by another name."""
    rows = paraphrases(frame).with_columns(preserved=pl.col("object").is_in((NONE, "addition")))
    both = {bool(rate.group["preserved"]): rate for rate in rates(rows, ("preserved",)) if rate.count}
    if len(both) < 2:
        raise MeasureError(
            "the comparison needs paraphrases that keep the object's name and paraphrases that change it"
        )
    old, success = pl.col("preserved").cast(pl.Int64), pl.col("success")
    parts = {"hits": old * success, "count": old, "new_hits": (1 - old) * success, "new_count": 1 - old}
    hits, count, new_hits, new_count = sums(valid_rows(rows), wording_columns(rows), **parts).T
    estimate = paired_difference((hits, new_hits), (count, new_count), (count.sum(), new_count.sum()))
    return ObjectGap(both[True], both[False], estimate.difference, estimate.interval)


def distance_correlation(grid: Grid) -> Correlation:
    """Correlate success with the instruction's distance from the original over all cells except the control."""
    points = [
        (cell.object, cell.action, cell.pd, cell.rate.rate)
        for cell in grid.cells
        if cell.pd is not None and cell.rate.rate is not None and (cell.object, cell.action) != (NONE, NONE)
    ]
    if len(points) < 4:
        raise MeasureError(f"a correlation needs at least 4 scored cells; found {len(points)}")
    tables = np.full((2, len(OBJECTS), len(ACTIONS)), np.nan)
    for names, action, *point in points:
        tables[:, OBJECTS.index(names), ACTIONS.index(action)] = point
    if any(np.nanmax(table) == np.nanmin(table) for table in tables):
        raise MeasureError("all cells have the same distance, or the same success rate")
    r, p, interval = table_correlation(*tables)
    return Correlation(r, len(points), p, interval)


def wording_columns(rows: pl.DataFrame) -> list[str]:
    """Return the columns that identify a wording; a wording is shared by several seeds."""
    return [name for name in ("task", "condition", "instruction", "s_k", "s_t") if name in rows.columns]


def grid_table(grid: Grid, report: ReportedRun) -> Table:
    """Return a table of the paraphrase grid."""
    return Table.of(
        "paraphrase-grid",
        "The paraphrase grid",
        grid.cells,
        *("object", "action", *(f"rate.{name}" for name in RATE), "pd"),
        note=f"{interval_note(cell.rate for cell in grid.cells)} PD: mean distance from the original instruction.",
    )


def grid_figure(grid: Grid, report: ReportedRun) -> Drawing:
    """Plot success over the paraphrase grid as a 4 x 11 heat map with margins."""
    cells: dict[tuple[float, float], Rate] = {
        (OBJECTS.index(cell.object), ACTIONS.index(cell.action)): cell.rate for cell in grid.cells
    }
    right, below = len(ACTIONS) + 0.25, len(OBJECTS) + 0.25  # with a gap of a quarter of a cell
    margins = {(float(OBJECTS.index(str(rate.group["object"]))), right): rate for rate in grid.objects}
    margins |= {(below, float(ACTIONS.index(str(rate.group["action"])))): rate for rate in grid.actions}

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place in product(range(len(OBJECTS)), range(len(ACTIONS))):
            if place not in cells:
                style.fill_cell(axes, *place, None, hatch="////")
        for (row, column), rate in {**cells, **margins}.items():
            ink = style.fill_cell(axes, row, column, rate.rate)
            text = "error" if rate.rate is None else f"{100 * rate.rate:.0f}"
            where: Any = {"ha": "center", "va": "center", "color": ink}
            axes.text(column + 0.5, row + 0.42, text, fontsize=9, fontweight="bold", **where)
            axes.text(column + 0.5, row + 0.78, f"{rate.count:,}", fontsize=6.2, **where)
        rows, columns = [*range(len(OBJECTS)), below], [*range(len(ACTIONS)), right]
        style.grid_axes(axes, rows, [*OBJECTS, "all"], columns, [*ACTIONS, "all"])

    sides = (
        (rate.interval.high - rate.rate, rate.rate - rate.interval.low)
        for rate in cells.values()
        if rate.interval is not None and rate.rate is not None
    )
    widest = max(map(max, sides), default=0.0)
    caption = (
        f"Success in percent and, below it, the number of episodes; "
        f"{plural(sum(rate.count for rate in cells.values()), 'episode')} in {len(cells)} of 44 cells. Top left: "
        "control; the margins exclude it; hatched cells have no episode. The widest 95 % Wilson interval of a cell "
        f"extends {100 * widest:.0f} points to one side."
    )
    title = "Success over the paraphrase grid"
    return Drawing("paraphrase-grid", title, caption, (style.WIDTH, 3.6), paint, in_a_column=False)


def distance_figure(grid: Grid, report: ReportedRun) -> Drawing:
    """Plot the success of each cell against the mean distance of its instructions."""
    correlation = report.profile.get(DISTANCE_CORRELATION)
    points_by_object: dict[str, list[tuple[float, float, Interval]]] = {}
    for cell in grid.cells:
        if cell.pd and cell.rate.rate is not None and cell.rate.interval is not None:
            point = cell.pd, cell.rate.rate, cell.rate.interval
            points_by_object.setdefault(cell.object, []).append(point)
    if not points_by_object:
        raise MeasureError("no cell has both a distance and an episode without an error")

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, name in enumerate(OBJECTS):
            if name not in points_by_object:
                continue
            x, y, intervals = zip(*points_by_object[name], strict=True)
            look = style.series(place)
            low, high = [interval.low for interval in intervals], [interval.high for interval in intervals]
            axes.vlines(x, low, high, color=look["color"], lw=0.7, alpha=0.5)
            axes.plot(x, y, linestyle="", label=name, markersize=4.5, clip_on=False, **look)
        if correlation is not None:
            every = [(x, y) for points in points_by_object.values() for x, y, _ in points]
            distance, success = np.array(every).T
            slope, level = np.polyfit(distance, success, 1)
            along = np.linspace(distance.min(), distance.max(), 200)
            line = slope * along + level
            within = (line >= 0) & (line <= 1)
            axes.plot(along[within], line[within], color=style.FAINT, linewidth=1.1, linestyle="--", zorder=1)
        style.share_limits(axes)
        axes.set_xlim(left=0)
        axes.set_xlabel("mean distance from the original instruction, PD")
        axes.set_ylabel("success")
        figure.legend(title="names", loc="outside lower center", ncols=4, columnspacing=1, handletextpad=0.2)

    text = "There are too few cells, or too little variation, for a correlation."
    if correlation is not None:
        text = (
            f"Pearson's r = {number(correlation.r, 2)} over {correlation.cells} cells "
            f"(95 % interval {between(correlation.interval, digits=2)}, Fisher; {p_phrase(correlation.p)})."
        )
    caption = f"Each mark is a cell of the grid; lines: 95 % Wilson intervals. {text}"
    title = "Success against the distance from the original instruction"
    return Drawing("distance-success", title, caption, (style.HALF, 3.2), paint)


def gap_figure(runs: Mapping[str, ObjectGap]) -> Drawing:
    """Plot success with the original object names and with other names."""
    groups = {
        name if len(runs) > 1 else "": [("name kept", gap.preserved), ("another name", gap.paraphrased)]
        for name, gap in runs.items()
    }
    costs = {
        name: f"{points(gap.change)} points (95 % interval {between(gap.interval, 100)}, Newcombe over wordings)"
        for name, gap in runs.items()
    }
    caption = (
        "Paraphrases that keep the names of objects (none, addition) and paraphrases that change them. "
        f"{describe_runs(costs)}. Lines: 95 % Wilson intervals."
    )
    return rates_drawing("object-gap", "Cost of another name", caption, groups)


_NEEDS = ("object", "action")
GRID = Measure(
    "grid",
    "Success over LIBERO-Para's grid of ways to name objects and phrasings of the action.",
    lambda run: grid(run.frame),
    needs=_NEEDS,
    panels=(Panel(WORDS, (grid_table,), (grid_figure, distance_figure)),),
)
OBJECT_GAP = Measure(
    "object_gap",
    "Paraphrases that keep the object's name, compared with those that change it, by LIBERO-Para's labels.",
    lambda run: object_gap(run.frame),
    needs=_NEEDS,
    panels=(Panel(WORDS, runs=gap_figure),),
)
DISTANCE_CORRELATION = Measure(
    "distance_correlation",
    "Correlation of success with the distance of the instruction from the original, over cells.",
    lambda run: distance_correlation(run.result(GRID)),
    needs=(*_NEEDS, "pd"),
)


DISTANCES = {
    "pd": ("Figure 5", "Mean distance PD of the paraphrases of each cell"),
    "structural_distance": ("Figure 10", "Mean structural distance, 1 - S_T, of each cell"),
    "keyword_distance": ("Figure 11", "Mean keyword distance, 1 - S_K, of each cell"),
}
"""Distance in `CellStats` -> number of its figure in LIBERO-Para, and the figure's title."""


def counts_table(stats: GridStats) -> Table:
    """Return LIBERO-Para's Table 8: the number of paraphrases in each cell."""
    counts = {key: cell.count for key, cell in stats.cells.items()}
    rows = [
        (action, *(counts.get((names, action)) for names in OBJECTS), stats.total(action=action))
        for action in ACTIONS
    ]
    rows.append(("total", *(stats.total(object=names) for names in OBJECTS), stats.paraphrases))
    return Table(
        "counts",
        "Paraphrases of each cell",
        (
            Column("action"),
            *(Column(f"names: {names}", "count") for names in OBJECTS),
            Column("total", "count"),
        ),
        tuple(rows),
        "Rows: phrasing of the action; columns: names of objects. A wording counts once, whatever its seed or model.",
    )


def originals_table(stats: GridStats) -> Table:
    """Return LIBERO-Para's Table 9: the number of paraphrases of each original instruction."""
    return Table(
        "originals",
        "Paraphrases of each original instruction",
        (Column("original instruction"), Column("paraphrases", "count")),
        (*stats.originals.items(), ("total", stats.paraphrases)),
    )


def names_table(stats: GridStats) -> Table:
    """Return LIBERO-Para's Figure 12 as a table: the names of each object in the original instructions."""
    from assay.perturb.words.grid.table import object_names  # loads the simulator

    names = object_names(stats.originals)
    if not names:
        raise MeasureError("none of these instructions is an original instruction of libero_goal")
    several = [noun for noun, forms in names.items() if len(forms) > 1]
    note = f"several names: {', '.join(several)}" if several else "each has one name in all instructions"
    return Table(
        "names",
        "Names of each object in the original instructions",
        (Column("thing"), Column("called"), Column("instructions", "count")),
        tuple((noun, name, len(ids)) for noun, forms in names.items() for name, ids in forms.items()),
        f"{plural(len(names), 'object')}; {note}.",
    )


def distance_grid(stats: GridStats, which: str) -> Drawing:
    """Plot LIBERO-Para's Figure 5, 10 or 11: the mean distance of each cell."""
    cells = {key: value for key, cell in stats.cells.items() if (value := getattr(cell, which)) is not None}
    if not cells:
        raise MeasureError("the paraphrases have no similarity scores; add them with `assay words score`")
    scored = sum(cell.scored for cell in stats.cells.values())
    unscored = stats.paraphrases - scored
    left = f"; {unscored:,} without similarity scores are left out" if unscored else ""
    caption = (
        "Darker cells are farther from the original instruction. "
        f"{plural(scored, 'paraphrase')} in {plural(len(cells), 'cell')}{left}."
    )
    farthest = max(cells.values()) or 1.0
    return style.grid_map(
        which.replace("_", "-"),
        DISTANCES[which][1],
        caption,
        cells,
        text=lambda value: number(value, 2),
        shade=lambda value: 1 - value / farthest,
    )
