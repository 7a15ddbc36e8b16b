"""Time: success within a limit, time to success, and success without a mistake."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.measures.grounding import named
from assay.measures.intervals import Interval, median_interval, wilson_interval
from assay.measures.result import MeasureError, Result
from assay.measures.table import controls, judged
from assay.suites.spec import Label

FACTORS = (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, None)
"""Limits as multiples of a reference time, as LIBERO-X has them; None for no limit."""


@dataclass(frozen=True, slots=True)
class Limit(Result):
    """Success within a time limit."""

    factor: float | None
    """Of the reference time; None for no limit but the run's own."""
    successes: int
    count: int
    rate: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Limits(Result):
    """Success against the time limit."""

    limits: tuple[Limit, ...]
    reference: dict[str, float]
    """Control steps: task -> reference time."""
    unknown: int
    """Episodes of tasks without a reference time; they do not count."""


@dataclass(frozen=True, slots=True)
class TimeToSuccess(Result):
    """How long successes take, in control steps."""

    group: dict[str, Label]
    median: float
    interval: Interval | None
    """None below six successes."""
    successes: int


@dataclass(frozen=True, slots=True)
class NoMistakes(Result):
    """Success without a mistake (CoGeLoT): at the first attempt, with nothing lost again."""

    group: dict[str, Label]
    flawless: int
    """Successes in which a named thing moved first, and no atom that had come true came apart again."""
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
    """Success, had the time been limited to multiples of each task's reference time (control steps).

    Without a reference, that of a demonstrator, the median of the run's own successful controls is taken.
    What happens after a limit cannot change what happened before it, so one run gives all limits up to its
    own.
    """
    rows = judged(frame, "time limits")
    if reference is None:
        usual = controls(rows).filter(pl.col("success") == 1).group_by("task").agg(pl.col("steps").median())
        reference = {str(task): float(steps) for task, steps in usual.sort("task").iter_rows()}
    known = rows.filter(pl.col("task").is_in(list(reference)))
    if not len(known):
        raise MeasureError("time limits: no task has a reference time, nor a successful control")
    times = known["task"].replace_strict(dict(reference), return_dtype=pl.Float64).to_numpy()
    steps, success = known["steps"].to_numpy(), known["success"].to_numpy().astype(bool)
    found = []
    for factor in factors:
        hits = int((success if factor is None else success & (steps <= factor * times)).sum())
        found.append(
            Limit(factor, hits, len(known), hits / len(known), wilson_interval(hits / len(known), len(known)))
        )
    return Limits(tuple(found), dict(reference), len(rows) - len(known))


def time_to_success(frame: pl.DataFrame, by: Sequence[str] = ("condition",)) -> tuple[TimeToSuccess, ...]:
    """How long the successes of each group take; groups without a success are left out."""
    rows = judged(frame, "time to success").filter(pl.col("success") == 1).drop_nulls(by)
    if not len(rows):
        raise MeasureError("time to success: no episode succeeds")
    found = []
    for key, group in rows.group_by(by, maintain_order=True) if by else [((), rows)]:
        steps = group["steps"].to_numpy().astype(float)
        found.append(
            TimeToSuccess(
                dict(zip(by, key, strict=True)), float(np.median(steps)), median_interval(steps), len(steps)
            )
        )
    return tuple(found)


def no_mistakes(frame: pl.DataFrame, by: Sequence[str] = ("condition",)) -> tuple[NoMistakes, ...]:
    """How often each group succeeds without a mistake."""
    rows = judged(frame, "no mistakes").drop_nulls(by)
    if not (rows["truth"] != "{}").any():
        raise MeasureError("no mistakes: no episode says when its goal was true")
    clean = pl.struct("truth", "moved").map_elements(_clean, return_dtype=pl.Boolean)
    rows = rows.with_columns(flawless=(pl.col("success") == 1) & clean)
    found = []
    for key, group in rows.group_by(by, maintain_order=True) if by else [((), rows)]:
        hits, count = int(group["flawless"].sum()), len(group)
        interval = wilson_interval(hits / count, count)
        group_of = dict(zip(by, key, strict=True))
        found.append(NoMistakes(group_of, hits, int(group["success"].sum()), count, hits / count, interval))
    return tuple(found)


def _clean(row: dict[str, str | None]) -> bool:
    """A named thing moved first, and each atom came true once; what held at the start may be undone."""
    truth = str(row["truth"])
    once = all(sum(first > 0 for first, _ in spans) <= 1 for spans in json.loads(truth).values())
    return once and row["moved"] in named(truth).split("+")
