"""Time: success within a limit, time to success, and success without a mistake."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.episodes.spec import Label
from assay.measures.clustering import medians, shares
from assay.measures.conduct.progress import NO_ATOMS
from assay.measures.failure.grounding import named
from assay.measures.frames import controls, judged
from assay.measures.measure import Measure, Panel
from assay.measures.result import MeasureError, Result
from assay.measures.world.curves import TIME
from assay.support.stats.intervals import Interval

FACTORS = (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, None)
"""Limits as multiples of a reference time, as LIBERO-X has them; None for no limit."""

DEMONSTRATED = "reference_steps"
"""The label of the demonstrator's time, control steps."""
FEWEST = "best"
"""The label of the fewest actions that a task can be done with, where a world knows them."""
REFERENCE = "_reference"
"""The column of reference times, control steps; it is no label."""
UNTIMED = "_untimed"
"""The column that says of which tasks no success within a limit can be told: one of them has no reference time."""
LIMITED = "limit_factor"
"""The label of an episode's own limit, as a multiple of that time; null for none."""


@dataclass(frozen=True, slots=True)
class Limit(Result):
    """Success within a time limit."""

    factor: float | None
    """Of the reference time; None for no limit but the task's horizon."""
    successes: int
    count: int
    rate: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Limits(Result):
    """Success against the time limit."""

    limits: tuple[Limit, ...]
    reference: dict[str, float]
    """Control steps: task -> reference time; the median where its episodes have several."""
    unknown: int
    """Episodes of tasks without a reference time; they do not count."""


@dataclass(frozen=True, slots=True)
class TimeToSuccess(Result):
    """How long successes take, in control steps: of successes alone, so that groups with other rates do not compare."""

    group: dict[str, Label]
    median: float
    """Of the successes."""
    interval: Interval | None
    """From order statistics, over starts and variants; None where they are worth fewer than six."""
    successes: int
    count: int
    """Successes and failures."""
    half_succeed_by: float | None
    """By when half of all episodes have succeeded; None where fewer do. This one compares between groups."""


@dataclass(frozen=True, slots=True)
class NoMistakes(Result):
    """Success without a mistake (CoGeLoT): at the first attempt, with nothing lost again."""

    group: dict[str, Label]
    flawless: int
    """Successes in which a named thing moved first, and no atom that had come true came apart again; after a request
    that was taken back nothing need have moved."""
    successes: int
    count: int
    rate: float
    """flawless / count"""
    interval: Interval


def time_limits(
    frame: pl.DataFrame,
    reference: Mapping[str, float] | None = None,
    factors: Sequence[float | None] = FACTORS,
) -> Limits:
    """Success, had the time been limited to multiples of a reference time (control steps).

    What happens after a limit cannot change what happened before it, so one run gives all limits up to its
    own; ``None``, no limit, only where no episode had one. Raises MeasureError where no task has a reference.
    """
    rows = with_references(frame, reference)
    known = rows.drop_nulls(REFERENCE)
    if not len(known):
        raise MeasureError("no task has a reference time, nor a successful control")
    found = tuple(_within(known, (), factor)[()] for factor in possible(known, factors))
    typical = known.group_by("task").agg(pl.col(REFERENCE).median()).sort("task")
    return Limits(found, dict(typical.iter_rows()), len(rows) - len(known))


def limits_by(
    frame: pl.DataFrame, by: Sequence[str], factors: Sequence[float | None] = FACTORS
) -> dict[tuple[Label, ...], tuple[Limit, ...]]:
    """Success within each limit that the run can tell, of the groups that share the columns ``by``.

    What failed has failed within every limit, with a reference time or without. A success without one cannot be
    judged: within a limit, its task is left out, of parts of a `timed` run in all of them. Raises MeasureError where
    no limit can be told.
    """
    rows = with_references(frame).drop_nulls(by)
    known = rows.filter(~pl.col(UNTIMED))
    found: dict[tuple[Label, ...], list[Limit]] = {}
    told = possible(rows, factors)
    if not told:
        raise MeasureError(
            f"its episodes were stopped before {min(each for each in factors if each):g} times the reference time"
        )
    for factor in told:
        for group, limit in _within(rows if factor is None else known, by, factor).items():
            found.setdefault(group, []).append(limit)
    if not found:
        raise MeasureError("no task has a reference time, nor a successful control")
    return {group: tuple(limits) for group, limits in found.items()}


def with_references(frame: pl.DataFrame, reference: Mapping[str, float] | None = None) -> pl.DataFrame:
    """The judged rows with a column of reference times, control steps, null where none is known; and `UNTIMED`.

    That is, for each episode: the task's in ``reference``; else the demonstrator's, which certified episodes
    have as a label; else the median of the run's own successful controls of the task. Columns that are there
    already stay: part of a run has its references from the whole.
    """
    rows = judged(frame)
    if REFERENCE in rows.columns:
        return rows
    successes = controls(rows).filter(pl.col("success") == 1)
    usual = dict(successes.group_by("task").agg(pl.col("steps").median()).iter_rows())
    given, own_median = (
        pl.col("task").replace_strict(dict(each), default=None, return_dtype=pl.Float64)
        for each in (reference or {}, usual)
    )
    label = pl.col(DEMONSTRATED).cast(pl.Float64) if DEMONSTRATED in rows.columns else pl.lit(None)
    untold = (pl.col("success") == 1) & pl.col(REFERENCE).is_null()
    return rows.with_columns(pl.coalesce(given, label, own_median).alias(REFERENCE)).with_columns(
        untold.any().over("task").alias(UNTIMED)
    )


def within_limit(frame: pl.DataFrame, factor: float) -> pl.DataFrame:
    """The rows with successes that came later than a multiple of the reference time as failures.

    As in `limits_by`, tasks with a success that has no reference time are left out.
    """
    late = (pl.col("outcome") == "success") & (pl.col("steps") > factor * pl.col(REFERENCE)).fill_null(False)
    outcome = pl.when(late).then(pl.lit("failure")).otherwise("outcome").alias("outcome")
    return timed(frame).filter(~pl.col(UNTIMED)).with_columns(outcome)


def timed(frame: pl.DataFrame) -> pl.DataFrame:
    """All rows, errors too, with the columns of `with_references`, for measures of parts of the run."""
    times = with_references(frame).select("id", REFERENCE, UNTIMED)
    rows = frame.drop(REFERENCE, UNTIMED, strict=False)
    rows = rows.join(times, on="id", how="left", maintain_order="left")
    return rows.with_columns(pl.col(UNTIMED).fill_null(value=False).any().over("task"))


def possible(rows: pl.DataFrame, factors: Sequence[float | None] = FACTORS) -> list[float | None]:
    """The limits that episodes can tell: up to their own; none at all only where none of them had one."""
    own = min(rows[LIMITED].drop_nulls().to_list(), default=math.inf) if LIMITED in rows.columns else math.inf
    return [factor for factor in factors if (math.inf if factor is None else factor) <= own]


def _within(rows: pl.DataFrame, by: Sequence[str], factor: float | None) -> dict[tuple[Label, ...], Limit]:
    """Success of each group within a limit; nothing where there is no row."""
    if not len(rows):
        return {}
    late = (
        pl.lit(False) if factor is None else (pl.col("steps") > factor * pl.col(REFERENCE)).fill_null(False)
    )
    told = rows.with_columns(_in_time=(pl.col("success") == 1) & ~late)
    known = shares(told, "_in_time", by)
    counted = pl.col("_in_time").sum(), pl.len()
    counts = told.group_by(by, maintain_order=True).agg(counted) if by else told.select(counted)
    return {
        tuple(group): Limit(factor, hits, count, hits / count, known[tuple(group)][1])
        for *group, hits, count in counts.iter_rows()
    }


def time_to_success(frame: pl.DataFrame, by: Sequence[str] = ("condition",)) -> tuple[TimeToSuccess, ...]:
    """How long the successes of each group take; groups without a success are left out."""
    tried = judged(frame).drop_nulls(by)
    rows = tried.filter(pl.col("success") == 1)
    if not len(rows):
        raise MeasureError("no episode succeeds")
    counts = {key: len(group) for key, group in (tried.group_by(by) if by else [((), tried)])}
    known = medians(rows, "steps", by)
    found = []
    for key, group in rows.group_by(by, maintain_order=True) if by else [((), rows)]:
        middle = float(np.median(group["steps"].to_numpy()))
        group_of = dict(zip(by, key, strict=True))
        steps, half = np.sort(group["steps"].to_numpy()), -(-counts[key] // 2)
        by_then = float(steps[half - 1]) if len(steps) >= half else None
        found.append(TimeToSuccess(group_of, middle, known[key], len(group), counts[key], by_then))
    return tuple(found)


def no_mistakes(
    frame: pl.DataFrame, by: Sequence[str] = ("condition",), ignoring: Sequence[str] = ()
) -> tuple[NoMistakes, ...]:
    """How often each group succeeds without a mistake: with the fewest actions, where they are known.

    The columns ``ignoring`` go with the start, and do not tell variants of a task apart.
    """
    rows = judged(frame).drop_nulls(by)
    if FEWEST in rows.columns:
        clean = pl.col("steps") <= pl.col(FEWEST)
    elif (rows["truth"] != "{}").any():
        stages = pl.col("stages") if "stages" in rows.columns else pl.lit(None, pl.String).alias("stages")
        clean = pl.struct("truth", "moved", stages).map_elements(_clean, return_dtype=pl.Boolean)
    else:
        raise MeasureError("no episode says when its goal was true")
    rows = rows.with_columns(_flawless=(pl.col("success") == 1) & clean).drop(*ignoring, strict=False)
    known = shares(rows, "_flawless", by)
    found = []
    for key, group in rows.group_by(by, maintain_order=True) if by else [((), rows)]:
        hits, count, (_, interval) = int(group["_flawless"].sum()), len(group), known[key]
        group_of = dict(zip(by, key, strict=True))
        found.append(NoMistakes(group_of, hits, int(group["success"].sum()), count, hits / count, interval))
    return tuple(found)


def _clean(row: dict[str, str | None]) -> bool:
    """A named thing moved first, and each atom came true once; what held at the start may be undone.

    Whoever stops because the request was taken back may have moved nothing yet.
    """
    truth = str(row["truth"])
    once = all(sum(first > 0 for first, _ in spans) <= 1 for spans in json.loads(truth).values())
    if row["moved"] is None and row["stages"] == NO_ATOMS:
        return once
    return once and row["moved"] in named(truth).split("+")


TIME_LIMITS = Measure(
    "time_limits",
    "Success against the time limit; only changes after which success is expected.",
    lambda run: time_limits(run.plausible),
    continuous=True,
    panels=(
        Panel(
            TIME,
            tables=("assay.report.tables:limits_table",),
            runs="assay.report.figures.curves:limits_figure",
        ),
    ),
)
TIME_TO_SUCCESS = Measure(
    "time_to_success",
    "How long successes take, by condition.",
    lambda run: time_to_success(run.frame),
    continuous=True,
    panels=(Panel(TIME, figures=("assay.report.figures.curves:time_figure",)),),
)
NO_MISTAKES = Measure(
    "no_mistakes",
    "Success without a mistake, by condition.",
    lambda run: no_mistakes(run.whole, ignoring=run.world.start_columns),
)
