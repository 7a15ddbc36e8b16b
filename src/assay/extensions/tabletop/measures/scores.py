"""Scores: each task at each level, the level as the unweighted mean of its tasks, and what changes cost."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.frames import require
from assay.measures.result import Missing, Result, attempt
from assay.measures.success.drops import Drop, drops
from assay.measures.success.rates import Rate, rates
from assay.support.stats.intervals import Interval, wilson_interval

NEEDED = ("kind", "level", "best")


def table_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows by level and task, conditions as they are met. Raises MeasureError where these are not known."""
    require(frame, *NEEDED)
    number = pl.col("kind").str.strip_prefix("T").cast(pl.Int64, strict=False)
    order = frame.select("condition").unique(maintain_order=True).with_row_index("_met")
    rows = frame.join(order, on="condition", maintain_order="left").with_columns(_number=number)
    return rows.sort("_met", "level", "_number", "seed", maintain_order=True).drop("_met", "_number")


def flawless(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows as they are judged when no mistake is allowed: success takes the fewest actions."""
    late = (pl.col("outcome") == "success") & (pl.col("steps") > pl.col("best"))
    return frame.with_columns(outcome=pl.when(late).then(pl.lit("failure")).otherwise("outcome"))


BINS = 12 * 50 + 2 * 100
"""What the paper counts as equally likely choices of an action; it adds up what it should multiply."""


@dataclass(frozen=True, slots=True)
class TaskScore(Result):
    """One task at one level under one condition."""

    condition: str
    kind: str
    """``T1`` to ``T17``."""
    level: str
    """``L1`` to ``L4``."""
    allowed: Rate
    """Success with mistakes allowed."""
    flawless: Rate
    """Success with the fewest actions."""
    chance: float | None
    """The paper's convention, 1/800 for each action that is needed: mean over the episodes that count."""


@dataclass(frozen=True, slots=True)
class MeanScore(Result):
    """The unweighted mean of success rates of tasks."""

    score: float
    effective: float
    """Effective sample size."""
    interval: Interval
    """Wilson's, stratified by task."""


@dataclass(frozen=True, slots=True)
class LevelScore(Result):
    """One level under one condition."""

    condition: str
    level: str
    tasks: int
    """Those with an episode that counts."""
    control: float | None
    """The score of the same tasks unchanged, with mistakes allowed."""
    count: int
    errors: int
    allowed: MeanScore
    flawless: MeanScore
    chance: float
    """Mean over the tasks."""


@dataclass(frozen=True, slots=True)
class Against(Result):
    """Paired difference to the control at a level, over pairs with the same task and seed.

    A difficulty draws another scene; every other condition shares the scene of its control.
    """

    condition: str
    level: str | None
    """None for all together."""
    allowed: Drop
    flawless: Drop


def task_scores(rows: pl.DataFrame, ignoring: Sequence[str]) -> tuple[TaskScore, ...]:
    """Every task at every level under every condition; ``ignoring`` columns that go with a start."""
    by = ("condition", "level", "kind")
    counted = rows.with_columns(
        _chance=pl.when(pl.col("outcome") != "error").then((1 / BINS) ** pl.col("best").cast(pl.Float64))
    )
    chances = counted.group_by(by, maintain_order=True).agg(pl.col("_chance").mean())["_chance"]
    scores = []
    measured = (
        rates(rows.drop(*ignoring, strict=False), by),
        rates(flawless(rows).drop(*ignoring, strict=False), by),
    )
    for allowed, strict, chance in zip(*measured, chances, strict=True):
        condition, level, kind = (str(allowed.group[name]) for name in by)
        scores.append(TaskScore(condition, kind, level, allowed, strict, chance))
    return tuple(scores)


def mean_of(found: Sequence[Rate]) -> MeanScore:
    """The unweighted mean of tasks' success rates; each must have an episode that counts.

    Only what happens within a task is left to chance. The variance of the mean is that of independent tasks,
    from rates with half a success and half a failure added to each: a task that always succeeds, or never, is
    not known for certain.
    """
    hits, counts = np.array([(rate.successes, rate.count) for rate in found], float).T
    near = (hits + 0.5) / (counts + 1)
    variance = float((near * (1 - near) / counts).sum()) / len(found) ** 2
    score, usual = float((hits / counts).mean()), float(near.mean())
    effective = usual * (1 - usual) / variance
    return MeanScore(score, effective, wilson_interval(score, effective))


def level_scores(tasks: Sequence[TaskScore]) -> tuple[LevelScore, ...]:
    """Every level under every condition; left out where no episode counts."""
    groups: dict[tuple[str, str], list[TaskScore]] = {}
    for task in tasks:
        groups.setdefault((task.condition, task.level), []).append(task)
    return tuple(
        LevelScore(
            condition=condition,
            level=level,
            tasks=len(counted),
            control=_usual(groups.get((CONTROL, level), ()), {score.kind for score in counted}),
            count=sum(score.allowed.count for score in counted),
            errors=sum(score.allowed.errors for score in group),
            allowed=mean_of([score.allowed for score in counted]),
            flawless=mean_of([score.flawless for score in counted]),
            chance=sum(score.chance or 0.0 for score in counted) / len(counted),
        )
        for (condition, level), group in groups.items()
        if (counted := [score for score in group if score.allowed.count])
    )


def _usual(unchanged: Sequence[TaskScore], kinds: Set[str]) -> float | None:
    """The score of some tasks with nothing changed; None where one of them is missing."""
    rates = [
        score.allowed.rate for score in unchanged if score.kind in kinds and score.allowed.rate is not None
    ]
    return sum(rates) / len(rates) if len(rates) == len(kinds) else None


def compare_with_controls(rows: pl.DataFrame, ignoring: Sequence[str]) -> tuple[Against, ...]:
    """What each condition costs, at each level and altogether; empty where nothing was changed.

    ``ignoring`` columns that go with a start.
    """
    contrasts: list[Against] = []
    for by in (("condition", "level"), ("condition",)):
        allowed, strict = (
            attempt(drops, scored_rows.drop(*ignoring, strict=False), by, resampling=False)
            for scored_rows in (rows, flawless(rows))
        )
        if isinstance(allowed, Missing) or isinstance(strict, Missing):
            return ()
        for one, other in zip(allowed, strict, strict=True):
            level = str(one.group["level"]) if "level" in by else None
            contrasts.append(Against(str(one.group["condition"]), level, one, other))
    return tuple(contrasts)
