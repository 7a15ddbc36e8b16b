"""Paired comparison of runs on the same episodes: success and robustness, for each pair of runs.

Success is compared episode by episode. Robustness is compared in two ways, on the perturbed episodes whose control is
in both runs: by the *drop*, perturbed success minus the control's success, and by *kept* success, the success rate of
episodes whose own control succeeds. A policy with a higher success rate may lose just as much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.clustering import UNIT, difference, variances
from assay.measures.frames import PAIR, START, sums, valid_rows
from assay.measures.result import MeasureError, Result
from assay.measures.views.forest import MOST, Mark, forest_drawing
from assay.measures.views.style import BLUE, ORANGE, Drawing
from assay.measures.views.wording import between, p_value, plural, points
from assay.support.stats.intervals import Interval, Z, mean_over_tasks, widen_to_p
from assay.support.stats.power import POWER
from assay.support.stats.significance import SURE, holm, least_p, normal_below, normal_quantile, sign_flip

COLUMNS = ("key", "condition", "task", "seed", "start", "instruction", "outcome")
"""Columns required by a comparison, in addition to the label ``plausible``."""
MARGIN = 0.05
"""Largest difference in success, 0 to 1, that counts as irrelevant."""


class Decision(StrEnum):
    """Decision about the second run against the first."""

    BETTER = "better"
    """The difference is significant (Holm) and positive."""
    WORSE = "worse"
    """The difference is significant and negative."""
    EQUIVALENT = "equivalent"
    """The difference is not significant, and its interval is within the margin."""
    UNDECIDED = "undecided"


class Aspect(StrEnum):
    """Aspect of robustness."""

    DROP = "drop"
    """Perturbed success minus success of the control with the same task and seed."""
    KEPT = "kept"
    """Success of the perturbed episodes whose control succeeds with the same policy."""


@dataclass(frozen=True, slots=True)
class RunContrast(Result):
    """Success of two runs on the same episodes."""

    first: str
    second: str
    condition: str | None
    """Condition; None for all conditions in which success is expected.

    If it is expected in none, None stands for all conditions.
    """
    count: int
    """Number of shared specs."""
    both: int
    only_first: int
    only_second: int
    neither: int
    first_rate: float
    second_rate: float
    change: float
    """Success of the second run minus success of the first."""
    interval: Interval
    """Newcombe interval over starts and wordings; extended to include 0 if the test is not significant."""
    p: float
    """The larger p value of an exact test over starts and of Student's test over starts and wordings.

    The exact test is McNemar's if each start has one episode.
    """
    p_holm: float
    """p value adjusted for all pairs of runs and, for a single condition, for all conditions (Holm)."""
    starts: int
    """Number of shared starts (task and initial state)."""
    telling: int
    """Number of informative starts: those in which at least one run succeeded at least once."""
    least_p: float
    """Smallest adjusted p value that the informative starts can reach."""
    tasks: int
    over_tasks: Interval | None
    """Student interval for tasks in general, if these tasks are a sample; None for fewer than three tasks."""
    p_over_tasks: float | None
    """Exact p value over tasks, not adjusted."""
    decision: Decision
    margin: float
    """Margin of equivalence, 0 to 1."""
    starts_needed: int | None
    """Starts that would detect the observed difference with 80 % power after adjustment.

    None without a difference.
    """


@dataclass(frozen=True, slots=True)
class Robustness(Result):
    """Cost of a change for two runs, on the same episodes and controls."""

    first: str
    second: str
    aspect: Aspect
    condition: str | None
    """Condition; None for all perturbed episodes in which success is expected."""
    pairs: int
    """Number of shared perturbed specs with a control."""
    starts: int
    telling: int
    """Number of informative starts: those in which a run succeeded at least once, perturbed or not."""
    tasks: int
    first_control: float
    """Success rate of the first run's controls, one per pair."""
    second_control: float
    first_value: float
    """Drop of the first run (negative for a loss), or its share of kept successes."""
    second_value: float
    change: float
    """Value of the second run minus value of the first: positive if the second run is more robust."""
    interval: Interval
    """Interval over starts and wordings: Student for drops, Newcombe for kept success.

    It is extended to include 0 if the test is not significant.
    """
    p: float
    """The larger p value of an exact test over starts and Student's over starts and wordings."""
    p_holm: float
    """p value adjusted for all pairs of runs, both aspects and, for a single condition, for all conditions (Holm)."""
    least_p: float
    over_tasks: Interval | None
    p_over_tasks: float | None
    decision: Decision
    margin: float
    starts_needed: int | None


@dataclass(frozen=True, slots=True)
class Comparison(Result):
    """Comparison of two or more runs."""

    runs: dict[str, int]
    """Number of episodes of each run without an error."""
    shared: int
    """Number of specs that all runs share; other specs are left out."""
    overall: tuple[RunContrast, ...]
    conditions: tuple[RunContrast, ...]
    """Conditions in which success is expected."""
    implausible: tuple[RunContrast, ...]
    """Conditions in which success is not expected; they are excluded from all pooled results."""
    robustness: tuple[Robustness, ...]
    """Robustness over all changes after which success is expected; empty without a shared control."""
    robustness_by_condition: tuple[Robustness, ...]


C = TypeVar("C", RunContrast, Robustness)


class _Unadjusted(NamedTuple, Generic[C]):
    """A contrast before adjustment for multiple testing."""

    contrast: C
    needed: float | None
    """Number of starts needed, divided by the squared sum of the quantiles of level and power."""


def compare(frames: Mapping[str, pl.DataFrame], *, margin: float = MARGIN) -> Comparison:
    """Compare runs by name, on the episodes that all of them completed without an error.

    Differences within ``margin`` (0 to 1) are irrelevant. Raises MeasureError for fewer than two runs, or if they
    share no episode.
    """
    if len(frames) < 2:
        raise MeasureError(f"compare: {len(frames)} run; needs at least two")
    if not 0 < margin < 1:
        raise MeasureError(f"compare: margin {margin:g}: valid: between 0 and 1")
    tables = {}
    for name, frame in frames.items():
        try:
            tables[name] = valid_rows(frame)
        except MeasureError as error:
            raise MeasureError(f"compare: {name}: {error}") from None
    first = next(iter(tables.values()))
    sensible = pl.col("plausible").fill_null(True) if "plausible" in first.columns else pl.lit(True)
    shared = first.select("key", "condition", *PAIR, "start", "instruction", plausible=sensible)
    for number, table in enumerate(tables.values()):
        shared = shared.join(
            table.select("key", pl.col("success").alias(f"_{number}")), on="key", maintain_order="left"
        )
    counts = {name: len(table) for name, table in tables.items()}
    if not len(shared):
        sizes = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise MeasureError(
            f"compare: the runs share no episode ({sizes}): other tasks, seeds, experiments, assets, "
            "or settings such as --steps"
        )
    twos = list(combinations(enumerate(tables), 2))
    fair, nonsense = shared.filter("plausible"), shared.filter(~pl.col("plausible"))
    overall = [_contrast(fair if len(fair) else shared, one, other, None, margin) for one, other in twos]
    conditions, implausible = (
        [
            _contrast(group, one, other, str(condition), margin)
            for one, other in twos
            for (condition,), group in part.group_by("condition", maintain_order=True)
        ]
        for part in (fair, nonsense)
    )
    changed = _with_controls(fair, len(tables))
    robust = [
        _robustness(changed, one, other, None, aspect, margin)
        for one, other in twos
        for aspect in Aspect
        if len(changed)
    ]
    by_condition = [
        _robustness(group, one, other, str(condition), aspect, margin)
        for one, other in twos
        for aspect in Aspect
        for (condition,), group in changed.group_by("condition", maintain_order=True)
    ]
    return Comparison(
        runs=counts,
        shared=len(shared),
        overall=_decide(overall),
        conditions=_decide(conditions),
        implausible=_decide(implausible),
        robustness=_decide([result for result in robust if result is not None]),
        robustness_by_condition=_decide([result for result in by_condition if result is not None]),
    )


def _with_controls(rows: pl.DataFrame, runs: int) -> pl.DataFrame:
    """Return the perturbed rows with the success of each run's control as columns ``_control_0``, ..."""
    controls = rows.filter(pl.col("condition") == CONTROL).unique(PAIR, keep="first", maintain_order=True)
    beside = controls.select(*PAIR, *(pl.col(f"_{run}").alias(f"_control_{run}") for run in range(runs)))
    return rows.filter(pl.col("condition") != CONTROL).join(beside, on=PAIR, maintain_order="left")


def _contrast(
    rows: pl.DataFrame, first: tuple[int, str], second: tuple[int, str], condition: str | None, margin: float
) -> _Unadjusted[RunContrast]:
    one, other = f"_{first[0]}", f"_{second[0]}"
    estimate, error = difference(rows, one, other)
    mine, theirs = (rows[name].to_numpy().astype(bool) for name in (one, other))
    both, only_first, only_second = (
        int(which.sum()) for which in (mine & theirs, mine & ~theirs, theirs & ~mine)
    )
    apart, won = sums(rows, START, apart=pl.col(other) - pl.col(one), won=pl.max_horizontal(one, other)).T
    exact = sign_flip(apart)
    approximate = float(2 * normal_below(-abs(estimate.difference) / error)) if error > 0 else 0.0
    p = max(exact, approximate)
    contrast = RunContrast(
        first=first[1],
        second=second[1],
        condition=condition,
        count=len(rows),
        both=both,
        only_first=only_first,
        only_second=only_second,
        neither=len(rows) - both - only_first - only_second,
        first_rate=estimate.first,
        second_rate=estimate.second,
        change=estimate.difference,
        interval=widen_to_p(estimate.interval, p),
        p=p,
        p_holm=1.0,
        starts=len(apart),
        telling=int((won > 0).sum()),
        least_p=1.0,
        **_over_tasks(rows, pl.col(other) - pl.col(one), estimate.interval),
        decision=Decision.UNDECIDED,
        margin=margin,
        starts_needed=None,
    )
    return _Unadjusted(contrast, _starts_needed(rows, pl.col(other) - pl.col(one), estimate.difference))


def _robustness(
    rows: pl.DataFrame,
    first: tuple[int, str],
    second: tuple[int, str],
    condition: str | None,
    aspect: Aspect,
    margin: float,
) -> _Unadjusted[Robustness] | None:
    """Compare the robustness of two runs; None for kept success if a run has no successful control."""
    one, other = f"_{first[0]}", f"_{second[0]}"
    before, before_other = f"_control_{first[0]}", f"_control_{second[0]}"
    if aspect is Aspect.DROP:
        apart = pl.col(other) - pl.col(before_other) - (pl.col(one) - pl.col(before))
        values = [
            float(rows.select((pl.col(now) - pl.col(usual)).mean()).item())
            for now, usual in ((one, before), (other, before_other))
        ]
        weight = UNIT
        interval, error = _student(rows, apart)
    else:
        if not rows[before].sum() or not rows[before_other].sum():
            return None
        estimate, error = difference(rows, one, other, weights=(before, before_other))
        values, interval = [estimate.first, estimate.second], estimate.interval
        kept, among = (
            rows.select(total).item()
            for total in (
                (pl.col(one) * pl.col(before) + pl.col(other) * pl.col(before_other)).sum(),
                (pl.col(before) + pl.col(before_other)).sum(),
            )
        )
        usual = kept / among  # symmetric in the runs
        apart = (pl.col(other) - usual) * pl.col(before_other) - (pl.col(one) - usual) * pl.col(before)
        weight = (pl.col(before) + pl.col(before_other)) / 2
    change = values[1] - values[0]
    exact = sign_flip(sums(rows, START, apart=apart)[:, 0])
    approximate = float(2 * normal_below(-abs(change) / error)) if error > 0 else float(change == 0)
    p = max(exact, approximate)
    success = sums(rows, START, won=pl.max_horizontal(one, other, before, before_other))[:, 0]
    robustness = Robustness(
        first=first[1],
        second=second[1],
        aspect=aspect,
        condition=condition,
        pairs=len(rows),
        starts=len(success),
        telling=int((success > 0).sum()),
        first_control=float(rows[before].mean()),  # type: ignore[arg-type]
        second_control=float(rows[before_other].mean()),  # type: ignore[arg-type]
        first_value=values[0],
        second_value=values[1],
        change=change,
        interval=widen_to_p(interval, p),
        p=p,
        p_holm=1.0,
        least_p=1.0,
        **_over_tasks(rows, apart, interval, weight),
        decision=Decision.UNDECIDED,
        margin=margin,
        starts_needed=None,
    )
    return _Unadjusted(robustness, _starts_needed(rows, apart, change))


def _student(rows: pl.DataFrame, apart: pl.Expr) -> tuple[Interval, float]:
    """Return the interval of a mean over starts and wordings, -1 to 1, and its standard error.

    One start in favour of each run is added, so that the variance is positive.
    """
    middle, starts = float(rows.select(apart.mean()).item()), rows.select(START).n_unique()
    (spread,) = variances(rows, (apart - middle) / len(rows), given=("task", "condition"))
    variance = spread + 2 / (starts + 2) ** 2
    half = Z * variance**0.5
    return Interval(max(-1.0, middle - half), min(1.0, middle + half), "student"), variance**0.5


def _over_tasks(
    rows: pl.DataFrame, apart: pl.Expr, given: Interval, weight: pl.Expr = UNIT
) -> dict[str, Any]:
    """Return the statistics of the difference under the assumption that the tasks are a sample."""
    totals, counts = sums(rows, ("task",), apart=apart, count=weight).T
    over, p = mean_over_tasks(totals, counts, given) or (None, None)
    return {"tasks": len(totals), "over_tasks": over, "p_over_tasks": p}


def _starts_needed(rows: pl.DataFrame, apart: pl.Expr, change: float) -> float | None:
    """Return the number of starts needed, scaled as in `_Unadjusted`, from the variance between starts.

    One start in favour of each run is added, so that the variance is positive. None without a difference.
    """
    totals, counts = sums(rows, START, apart=apart, count=UNIT).T
    means = np.append(totals / counts, (-1.0, 1.0))
    return None if change == 0 else float(means.var(ddof=1)) / change**2


def _decide(unadjusted: list[_Unadjusted[C]]) -> tuple[C, ...]:
    """Adjust the p values of one family of contrasts (Holm), and decide each contrast."""
    family = len(unadjusted)
    level = normal_quantile(1 - SURE / 2 / max(family, 1)) + normal_quantile(POWER)
    decided = []
    raised = holm([entry.contrast.p for entry in unadjusted])
    for (contrast, needed), adjusted in zip(unadjusted, raised, strict=True):
        interval, decision = contrast.interval, Decision.UNDECIDED
        if adjusted < SURE and not interval.low <= 0 <= interval.high:
            decision = Decision.BETTER if contrast.change > 0 else Decision.WORSE
        elif -contrast.margin <= interval.low and interval.high <= contrast.margin:
            decision = Decision.EQUIVALENT
        decided.append(
            replace(
                contrast,
                p_holm=adjusted,
                decision=decision,
                least_p=least_p(contrast.telling, family),
                starts_needed=None if needed is None else math.ceil(needed * level**2),
            )
        )
    return tuple(decided)


def robustness_figure(comparison: Comparison, suffix: str = "") -> Drawing:
    """Figure of the difference between the runs' drops, over all changes and by condition; one group for each pair.

    Raises MeasureError without perturbed episodes, or without a shared control.
    """
    overall = [result for result in comparison.robustness if result.aspect is Aspect.DROP]
    parts = [result for result in comparison.robustness_by_condition if result.aspect is Aspect.DROP]
    if not overall:
        raise MeasureError("no perturbed episode has a control that all runs share")

    def mark(result: Robustness) -> Mark:
        colour, shape = (ORANGE, "s") if result.condition is None else (BLUE, "o")
        numbers = points(result.change), between(result.interval, 100), p_value(result.p_holm)
        label, sure = result.condition or "all changes", result.p_holm < SURE
        return Mark(label, result.change, result.interval, numbers, sure, colour, shape)

    groups = {
        f"{pair.second} less {pair.first}": [
            mark(pair),
            *(mark(part) for part in parts if (part.first, part.second) == (pair.first, pair.second)),
        ][:MOST]
        for pair in overall
    }
    caption = (
        "Cost of changes for one run minus their cost for the other, against each run's own controls; "
        f"{plural(max(result.pairs for result in overall), 'pair')}. Lines: 95 % intervals over starts and wordings. "
        f"p: exact, over starts, Holm-adjusted; filled marks: p < {SURE:g}."
    )
    return forest_drawing(
        f"robustness{suffix}",
        "Robustness compared",
        caption,
        groups,
        along="difference of the drops, points (right: the second is more robust)",
        heads=("points", "95 % interval", "Holm p"),
        unit="points",
        zero=0.0,
        least=0.1,
    )
