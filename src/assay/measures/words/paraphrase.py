"""Paraphrases: the grid of objects and actions, what an object's new name costs, and how far words may go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.frames import judged, require, sums
from assay.measures.measure import Measure, Panel
from assay.measures.result import MeasureError, Result
from assay.measures.success.rates import Rate, rates
from assay.measures.words.names import WORDS
from assay.support.stats.intervals import Interval, paired_difference
from assay.support.stats.resampling import table_correlation

NONE = "none"
"""Said as in the original instruction."""
OBJECTS = (NONE, "addition", "contextual", "habitual")
"""Ways to name things, after LIBERO-Para; ``assay.perturb.words.grid.cells`` makes them."""
ACTIONS = (
    *(NONE, "addition", "contextual", "habitual", "coordination", "subordination"),
    *("need", "embedded", "permission", "question", "hint"),
)
"""Ways to say what to do."""
_PRESERVED = (NONE, "addition")
_NONE = {"object": NONE, "action": NONE}


@dataclass(frozen=True, slots=True)
class Cell(Result):
    """One combination of a way to name things and a way to say what to do with them."""

    object: str
    action: str
    rate: Rate
    pd: float | None
    """Mean distance of its words from the original's; None where they were not scored."""


@dataclass(frozen=True, slots=True)
class Grid(Result):
    """Success over the cells; the control stands where both are none."""

    cells: tuple[Cell, ...]
    """Those that have episodes, row by row."""
    objects: tuple[Rate, ...]
    """Each way to name things, whatever the action; without the control."""
    actions: tuple[Rate, ...]
    """Each way to say what to do, whatever the object; without the control."""


@dataclass(frozen=True, slots=True)
class ObjectGap(Result):
    """Paraphrases that keep the object's name (none, addition) against those that change it."""

    preserved: Rate
    paraphrased: Rate
    change: float
    """paraphrased - preserved"""
    interval: Interval
    """Newcombe's, over wordings."""


@dataclass(frozen=True, slots=True)
class Correlation(Result):
    """Pearson's correlation between a cell's mean distance and its success rate."""

    r: float
    cells: int
    p: float
    """If rows and columns of the grid could change places: cells of one row or column are no witnesses of their own."""
    interval: Interval
    """Fisher's, as wide as such changes make it."""


def paraphrases(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows that are paraphrases. Raises MeasureError where there is none."""
    require(frame, "object", "action")
    return frame.filter(
        (pl.col("condition") != CONTROL) & pl.col("object").is_not_null() & pl.col("action").is_not_null()
    )


def reworded(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows that are paraphrases, whether or not it is known how they were made.

    Raises MeasureError where there is none.
    """
    told = [each for each in (("object", "action"), ("scores",)) if set(each) <= set(frame.columns)]
    known = [pl.all_horizontal(pl.col(each).is_not_null()) for each in told]
    rows = frame.filter((pl.col("condition") != CONTROL) & pl.any_horizontal(known)) if known else frame[:0]
    if not len(rows):
        raise MeasureError("no episode has the labels of a paraphrase")
    return rows


def grid(frame: pl.DataFrame) -> Grid:
    """The 4 x 11 grid and its margins."""
    rows = paraphrases(frame)
    usual = frame.filter(pl.col("condition") == CONTROL).with_columns(
        **{name: pl.lit(value) for name, value in _NONE.items()}
    )
    scored = rows.with_columns(pd=pl.col("pd") if "pd" in rows.columns else pl.lit(None, pl.Float64))
    distances = {
        (thing, action): mean
        for thing, action, mean in scored.group_by("object", "action").agg(pl.col("pd").mean()).iter_rows()
    }
    distances[_NONE["object"], _NONE["action"]] = 0.0
    found = {
        (str(rate.group["object"]), str(rate.group["action"])): rate
        for part in (usual, rows)
        for rate in rates(part, ("object", "action"))
    }
    cells = tuple(
        Cell(thing, action, found[thing, action], distances.get((thing, action)))
        for thing in OBJECTS
        for action in ACTIONS
        if (thing, action) in found
    )
    return Grid(
        cells, *(_margin(rows, name, order) for name, order in (("object", OBJECTS), ("action", ACTIONS)))
    )


def object_gap(frame: pl.DataFrame) -> ObjectGap:
    """What it costs to call things by another name."""
    rows = paraphrases(frame).with_columns(preserved=pl.col("object").is_in(_PRESERVED))
    both = {bool(rate.group["preserved"]): rate for rate in rates(rows, ("preserved",)) if rate.count}
    if len(both) < 2:
        raise MeasureError("needs paraphrases that keep the object's name and others that change it")
    kept, success = pl.col("preserved").cast(pl.Int64), pl.col("success")
    table = sums(
        judged(rows),
        wording(rows),
        hits=kept * success,
        weights=kept,
        other_hits=(1 - kept) * success,
        other_weights=1 - kept,
    ).T
    hits, weights, other_hits, other_weights = table
    most = (weights.sum(), other_weights.sum())
    found = paired_difference((hits, other_hits), (weights, other_weights), most)
    return ObjectGap(both[True], both[False], found.difference, found.interval)


def distance_correlation(grid: Grid) -> Correlation:
    """Whether success falls as words move away, cell by cell; without the control."""
    points = [
        (cell.object, cell.action, cell.pd, cell.rate.rate)
        for cell in grid.cells
        if cell.pd is not None
        and cell.rate.rate is not None
        and (cell.object, cell.action) != tuple(_NONE.values())
    ]
    if len(points) < 4:
        raise MeasureError(f"{len(points)} scored cells; needs 4 at least")
    tables = np.full((2, len(OBJECTS), len(ACTIONS)), np.nan)
    for thing, action, *point in points:
        tables[:, OBJECTS.index(thing), ACTIONS.index(action)] = point
    if any(np.nanmax(table) == np.nanmin(table) for table in tables):
        raise MeasureError("all cells are alike")
    r, p, interval = table_correlation(*tables)
    return Correlation(r, len(points), p, interval)


def wording(rows: pl.DataFrame) -> list[str]:
    """The columns that tell one wording from another; its seeds share them."""
    return [name for name in ("task", "condition", "instruction", "s_k", "s_t") if name in rows.columns]


def _margin(rows: pl.DataFrame, name: str, order: tuple[str, ...]) -> tuple[Rate, ...]:
    found = {str(rate.group[name]): rate for rate in rates(rows, (name,))}
    return tuple(found[value] for value in order if value in found)


_NEEDS = ("object", "action")
GRID = Measure(
    "grid",
    "Success over LIBERO-Para's grid of ways to name things and ways to say what to do.",
    lambda run: grid(run.frame),
    needs=_NEEDS,
    panels=(
        Panel(
            WORDS,
            tables=("assay.report.tables:grid_table",),
            figures=(
                "assay.report.figures.paraphrase:grid_figure",
                "assay.report.figures.paraphrase:distance_figure",
            ),
        ),
    ),
)
OBJECT_GAP = Measure(
    "object_gap",
    "Paraphrases that keep the object's name against those that change it, as LIBERO-Para's labels have it.",
    lambda run: object_gap(run.frame),
    needs=_NEEDS,
    panels=(Panel(WORDS, runs="assay.report.figures.paraphrase:gap_figure"),),
)
DISTANCE_CORRELATION = Measure(
    "distance_correlation",
    "Whether success falls as the instruction moves away from the original, cell by cell.",
    lambda run: distance_correlation(run.result(GRID)),
    needs=(*_NEEDS, "pd"),
)
