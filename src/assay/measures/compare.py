"""Compare: several runs on the same episodes, pair by pair: who succeeds more, and who keeps more of it.

Success is compared episode by episode. Robustness is compared in two ways, on the perturbed episodes whose
control both runs did: by the *drop*, success perturbed less success of the control, and by what is *kept*, success
where the policy's own control succeeds. A policy that is better throughout may lose just as much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL
from assay.measures.clustering import UNIT, difference, variances
from assay.measures.contrasts import Aspect, Comparison, Contrast, Decision, Robustness
from assay.measures.frames import PAIR, START, judged, sums
from assay.measures.result import MeasureError
from assay.support.stats.intervals import Interval, Z, mean_over_tasks, tested
from assay.support.stats.power import POWER
from assay.support.stats.significance import SURE, holm, least_p, normal_below, normal_quantile, sign_flip

__all__ = ["COLUMNS", "MARGIN", "Aspect", "Comparison", "Contrast", "Decision", "Robustness", "compare"]

COLUMNS = ("key", "condition", "task", "seed", "start", "instruction", "outcome")
"""What a frame must have to be compared; ``plausible`` counts too, where there is such a label."""
MARGIN = 0.05
"""Differences smaller than this do not matter."""


C = TypeVar("C", Contrast, Robustness)


class _Made(NamedTuple, Generic[C]):
    """A contrast before it is adjusted."""

    contrast: C
    needed: float | None
    """Starts that are needed, over the squared sum of two quantiles: that of the level, and that of the power."""


def compare(frames: Mapping[str, pl.DataFrame], *, margin: float = MARGIN) -> Comparison:
    """Compare runs by name, on the episodes that all of them did without an error.

    Differences within ``margin`` (0 to 1) do not matter. Raises MeasureError where there are fewer than two runs,
    or no episode is shared.
    """
    if len(frames) < 2:
        raise MeasureError(f"compare: {len(frames)} run; needs two at least")
    if not 0 < margin < 1:
        raise MeasureError(f"compare: margin {margin:g}: valid: between 0 and 1")
    tables = {name: _judged(name, frame) for name, frame in frames.items()}
    first = next(iter(tables.values()))
    sensible = pl.col("plausible").fill_null(True) if "plausible" in first.columns else pl.lit(True)
    shared = first.select("key", "condition", *PAIR, "start", "instruction", plausible=sensible)
    for number, table in enumerate(tables.values()):
        shared = shared.join(
            table.select("key", pl.col("success").alias(f"_{number}")), on="key", maintain_order="left"
        )
    counts = {name: len(table) for name, table in tables.items()}
    if not len(shared):
        said = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise MeasureError(
            f"compare: the runs share no episode ({said}): other tasks, seeds, experiments, assets, "
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
        overall=_decided(overall),
        conditions=_decided(conditions),
        implausible=_decided(implausible),
        robustness=_decided([each for each in robust if each is not None]),
        robustness_by_condition=_decided([each for each in by_condition if each is not None]),
    )


def _judged(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    try:
        return judged(frame)
    except MeasureError as error:
        raise MeasureError(f"compare: {name}: {error}") from None


def _with_controls(rows: pl.DataFrame, runs: int) -> pl.DataFrame:
    """Perturbed rows with every run's success in the control as the columns ``_control_0``, ..."""
    controls = rows.filter(pl.col("condition") == CONTROL).unique(PAIR, keep="first", maintain_order=True)
    beside = controls.select(*PAIR, *(pl.col(f"_{run}").alias(f"_control_{run}") for run in range(runs)))
    return rows.filter(pl.col("condition") != CONTROL).join(beside, on=PAIR, maintain_order="left")


def _contrast(
    rows: pl.DataFrame, first: tuple[int, str], second: tuple[int, str], condition: str | None, margin: float
) -> _Made[Contrast]:
    one, other = f"_{first[0]}", f"_{second[0]}"
    found, error = difference(rows, one, other)
    mine, theirs = (rows[name].to_numpy().astype(bool) for name in (one, other))
    both, only_first, only_second = (
        int(each.sum()) for each in (mine & theirs, mine & ~theirs, theirs & ~mine)
    )
    apart, won = sums(rows, START, apart=pl.col(other) - pl.col(one), won=pl.max_horizontal(one, other)).T
    exact = sign_flip(apart)
    approximate = float(2 * normal_below(-abs(found.difference) / error)) if error > 0 else 0.0
    p = max(exact, approximate)
    made = Contrast(
        first=first[1],
        second=second[1],
        condition=condition,
        count=len(rows),
        both=both,
        only_first=only_first,
        only_second=only_second,
        neither=len(rows) - both - only_first - only_second,
        first_rate=found.first,
        second_rate=found.second,
        change=found.difference,
        interval=tested(found.interval, p),
        p=p,
        p_holm=1.0,
        starts=len(apart),
        telling=int((won > 0).sum()),
        least_p=1.0,
        **_by_task(rows, pl.col(other) - pl.col(one), found.interval),
        decision=Decision.UNDECIDED,
        margin=margin,
        starts_needed=None,
    )
    return _Made(made, _needed(rows, pl.col(other) - pl.col(one), found.difference))


def _robustness(
    rows: pl.DataFrame,
    first: tuple[int, str],
    second: tuple[int, str],
    condition: str | None,
    aspect: Aspect,
    margin: float,
) -> _Made[Robustness] | None:
    """None for what is kept, where one of the runs has no control that succeeds."""
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
        found, error = difference(rows, one, other, weights=(before, before_other))
        values, interval = [found.first, found.second], found.interval
        kept, among = (
            rows.select(each).item()
            for each in (
                (pl.col(one) * pl.col(before) + pl.col(other) * pl.col(before_other)).sum(),
                (pl.col(before) + pl.col(before_other)).sum(),
            )
        )
        usual = kept / among  # the same, whichever run is which
        apart = (pl.col(other) - usual) * pl.col(before_other) - (pl.col(one) - usual) * pl.col(before)
        weight = (pl.col(before) + pl.col(before_other)) / 2
    change = values[1] - values[0]
    exact = sign_flip(sums(rows, START, apart=apart)[:, 0])
    approximate = float(2 * normal_below(-abs(change) / error)) if error > 0 else float(change == 0)
    p = max(exact, approximate)
    success = sums(rows, START, won=pl.max_horizontal(one, other, before, before_other))[:, 0]
    made = Robustness(
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
        interval=tested(interval, p),
        p=p,
        p_holm=1.0,
        least_p=1.0,
        **_by_task(rows, apart, interval, weight),
        decision=Decision.UNDECIDED,
        margin=margin,
        starts_needed=None,
    )
    return _Made(made, _needed(rows, apart, change))


def _student(rows: pl.DataFrame, apart: pl.Expr) -> tuple[Interval, float]:
    """The interval of a mean over starts and wordings, -1 to 1, and its error.

    With one start added that speaks for either run, for where all are alike.
    """
    middle, starts = float(rows.select(apart.mean()).item()), rows.select(START).n_unique()
    (spread,) = variances(rows, (apart - middle) / len(rows), given=("task", "condition"))
    variance = spread + 2 / (starts + 2) ** 2
    half = Z * variance**0.5
    return Interval(max(-1.0, middle - half), min(1.0, middle + half), "student"), variance**0.5


def _by_task(rows: pl.DataFrame, apart: pl.Expr, given: Interval, weight: pl.Expr = UNIT) -> dict[str, Any]:
    """The same difference, if the tasks are a sample."""
    totals, counts = sums(rows, ("task",), apart=apart, count=weight).T
    found = mean_over_tasks(totals, counts, given)
    over, p = (None, None) if found is None else found
    return {"tasks": len(totals), "over_tasks": over, "p_over_tasks": p}


def _needed(rows: pl.DataFrame, apart: pl.Expr, change: float) -> float | None:
    """As in `_Made`, from how much starts differ; None where there is no difference.

    One start that speaks for either run is added, for where all are alike.
    """
    totals, counts = sums(rows, START, apart=apart, count=UNIT).T
    means = np.append(totals / counts, (-1.0, 1.0))
    return None if change == 0 else float(means.var(ddof=1)) / change**2


def _decided(found: list[_Made[C]]) -> tuple[C, ...]:
    """Contrasts of one family, adjusted, and what is decided."""
    family = len(found)
    level = normal_quantile(1 - SURE / 2 / max(family, 1)) + normal_quantile(POWER)
    decided = []
    for (each, needed), adjusted in zip(found, holm([made.contrast.p for made in found]), strict=True):
        decision = Decision.UNDECIDED
        if adjusted < SURE and not each.interval.low <= 0 <= each.interval.high:
            decision = Decision.BETTER if each.change > 0 else Decision.WORSE
        elif -each.margin <= each.interval.low and each.interval.high <= each.margin:
            decision = Decision.EQUIVALENT
        decided.append(
            replace(
                each,
                p_holm=adjusted,
                decision=decision,
                least_p=least_p(each.telling, family),
                starts_needed=None if needed is None else math.ceil(needed * level**2),
            )
        )
    return tuple(decided)
