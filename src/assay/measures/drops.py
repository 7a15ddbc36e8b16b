"""What a change costs: success against the control of the same task and seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from assay.measures.bootstrap import bootstrap
from assay.measures.intervals import Interval, kish, paired_difference
from assay.measures.result import MeasureError, Result
from assay.measures.significance import holm, paired
from assay.measures.table import START, judged, pairs, perturbed, plausible, sums
from assay.suites.spec import Label

AXES = "axes"
"""The family of the axes themselves."""


@dataclass(frozen=True, slots=True)
class Drop(Result):
    """Perturbed episodes against their controls. Negative where success fell."""

    group: dict[str, Label]
    """What the perturbed episodes have in common: column -> value."""
    family: str
    """The drops that are tested together."""
    plausible: bool
    """Whether a good policy should have succeeded; where it should not, a fall is no fault."""
    pairs: int
    starts: int
    """Tasks and seeds; pairs of one start share a control."""
    unpaired: int
    """Perturbed episodes whose control is missing or broke."""
    both: int
    only_control: int
    only_perturbed: int
    neither: int
    control: float
    perturbed: float
    change: float
    """perturbed - control"""
    interval: Interval
    """Newcombe's, over starts."""
    bootstrap: Interval | None
    """The same from resampled starts; too narrow where fewer than about ten controls fail or pairs differ."""
    p: float
    """Exact, over starts and within them (``significance.paired``); McNemar's, where each has one pair."""
    p_holm: float
    """Adjusted for the family."""


def drops(frame: pl.DataFrame, by: Sequence[str] = ("condition",)) -> tuple[Drop, ...]:
    """The drop of every group of perturbed episodes that share the columns ``by``, in the order they are met.

    A family is an axis (words, world, senses), or the suite for what has none; the axes themselves are one.
    Implausible changes are apart.
    Groups none of whose episodes has a control are left out; raises MeasureError where that leaves nothing.
    """
    rows = judged(frame, "drops")
    for name in by:
        if name not in frame.columns:
            raise MeasureError(f"drops: the run has no column {name}")
    changed = perturbed(rows).drop_nulls(by)
    if not len(changed):
        raise MeasureError("drops: the run has no perturbed episode")
    matched = pairs(rows).drop_nulls(by)
    if not len(matched):
        raise MeasureError(f"drops: none of the {len(changed)} perturbed episodes has a control")
    alone = {key: len(group) for key, group in changed.group_by(by)}
    found = [
        _drop(dict(zip(by, key, strict=True)), group, alone[key] - len(group))
        for key, group in matched.group_by(by, maintain_order=True)
    ]
    adjusted: dict[str, list[float]] = {}
    for family in {each.family for each in found}:
        adjusted[family] = holm([each.p for each in found if each.family == family])[::-1]
    return tuple(replace(each, p_holm=adjusted[each.family].pop()) for each in found)


def _drop(group: dict[str, Label], rows: pl.DataFrame, unpaired: int) -> Drop:
    table = sums(
        rows,
        START,
        control=pl.col("control_success"),
        perturbed=pl.col("success"),
        count=pl.col("success").is_not_null(),
    )
    control, changed, count = table.T
    found = paired_difference((control, changed), (count, count), (kish(count), len(rows)))
    resampled = bootstrap(table, lambda totals: (totals[:, 1] - totals[:, 0]) / totals[:, 2])
    both, only_control, only_perturbed, neither = (
        rows.select(((pl.col("control_success") == before) & (pl.col("success") == after)).sum()).item()
        for before, after in ((1, 1), (1, 0), (0, 1), (0, 0))
    )
    family = (rows["axis"][0] if "axis" in rows.columns else None) or rows["suite"][0]
    if "axis" in group:
        family = AXES
    sensible = len(plausible(rows)) > 0
    return Drop(
        group=group,
        family=family if sensible else f"{family}, implausible",
        plausible=sensible,
        pairs=len(rows),
        starts=len(table),
        unpaired=unpaired,
        both=both,
        only_control=only_control,
        only_perturbed=only_perturbed,
        neither=neither,
        control=found.first,
        perturbed=found.second,
        change=found.difference,
        interval=found.interval,
        bootstrap=resampled,
        p=paired(control / count, np.ones(len(count)), changed, count),
        p_holm=1.0,
    )
