"""What a change costs: success against the control of the same task and seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL, Label
from assay.measures.measure import Measure, Panel
from assay.measures.rates import SUCCESS
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.measures.run_data import RunData
from assay.measures.table import START, judged, pairs, perturbed_rows, plausible
from assay.stats.bootstrap import bootstrap
from assay.stats.intervals import Interval, kish, paired_difference, tested
from assay.stats.significance import SURE, holm, least, paired

_AXES = "axes"
"""The family of the axes themselves."""
_OUTCOMES = {"both": (1, 1), "only_control": (1, 0), "only_perturbed": (0, 1), "neither": (0, 0)}
"""Name -> success of the control, and of the perturbed episode."""


@dataclass(frozen=True, slots=True)
class Drop(Result):
    """Perturbed episodes against their controls. Negative where success fell."""

    group: dict[str, Label]
    """What the perturbed episodes have in common: column -> value."""
    family: str
    """The drops that are tested together."""
    plausible: bool
    """Whether success is expected; where it is not, a fall is no fault."""
    pairs: int
    starts: int
    """Tasks and initial states; pairs of one start and seed share a control."""
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
    """Newcombe's, over starts; for this drop by itself. Reaches to 0 where the test cannot exclude that."""
    bootstrap: Interval | None
    """The same from resampled starts, if asked for; too narrow where fewer than about ten pairs differ."""
    p: float
    """Exact, over starts and within them (``significance.paired``); McNemar's, where each has one pair."""
    p_holm: float
    """Adjusted for the family."""
    least_p: float
    """The least p that so many starts can come to: above 5 % they are too few to tell anything."""
    table: pl.DataFrame = field(repr=False, compare=False, metadata=FOR_DRAWING)
    """Start by start: task, start, control, perturbed (successes of either), count."""

    @property
    def certain(self) -> bool:
        """Whether the test and the interval agree that there is a difference."""
        return self.p_holm < SURE and not self.interval.low <= 0 <= self.interval.high


def drops(
    frame: pl.DataFrame, by: Sequence[str] = ("condition",), *, resampling: bool = True
) -> tuple[Drop, ...]:
    """The drop of every group of perturbed episodes that share the columns ``by``, in the order they are met.

    A family is an axis (words, world, senses), or the experiment for what has none; the axes themselves are one.
    Changes after which success is not expected are apart. Without ``resampling`` there is no bootstrap, which takes
    most of the time.
    Groups none of whose episodes has a control are left out; raises MeasureError where that leaves nothing.
    """
    rows = judged(frame)
    for name in by:
        if name not in frame.columns:
            raise MeasureError(f"the run has no column {name}")
    changed = perturbed_rows(rows).drop_nulls(by)
    if not len(changed):
        raise MeasureError("the run has no perturbed episode")
    matched = pairs(rows).drop_nulls(by)
    if not len(matched):
        raise MeasureError(f"none of the {len(changed)} perturbed episodes has a control")
    alone = {key: len(group) for key, group in changed.group_by(by)}
    found = [
        _drop(dict(zip(by, key, strict=True)), group, alone[key] - len(group), resampling)
        for key, group in matched.group_by(by, maintain_order=True)
    ]
    adjusted: dict[str, list[float]] = {}
    for family in {each.family for each in found}:
        adjusted[family] = holm([each.p for each in found if each.family == family])[::-1]
    return tuple(replace(each, p_holm=adjusted[each.family].pop()) for each in found)


def pooled(found: Sequence[Drop]) -> Drop:
    """The same change in several runs of a policy as one drop, not adjusted; what shares a start stays so."""
    first, *rest = found
    if not rest:
        return first
    table = pl.concat([each.table for each in found]).group_by(START, maintain_order=True).sum()
    counts = {name: sum(getattr(each, name) for each in found) for name in (*_OUTCOMES, "pairs", "unpaired")}
    return replace(first, **counts, **_measured(table, resampling=False), p_holm=1.0)


def _drop(group: dict[str, Label], rows: pl.DataFrame, unpaired: int, resampling: bool) -> Drop:
    table = rows.group_by(START, maintain_order=True).agg(
        control=pl.col("control_success").sum(), perturbed=pl.col("success").sum(), count=pl.len()
    )
    outcomes = {
        name: rows.select(((pl.col("control_success") == before) & (pl.col("success") == after)).sum()).item()
        for name, (before, after) in _OUTCOMES.items()
    }
    family = (rows["axis"][0] if "axis" in rows.columns else None) or rows["experiment"][0]
    if "axis" in group:
        family = _AXES
    sensible = len(plausible(rows)) > 0
    return Drop(
        group=group,
        family=family if sensible else f"{family}, success not expected",
        plausible=sensible,
        pairs=len(rows),
        unpaired=unpaired,
        **outcomes,
        **_measured(table, resampling=resampling),
        p_holm=1.0,
    )


def _measured(table: pl.DataFrame, *, resampling: bool) -> dict[str, Any]:
    """What the outcomes of the starts come to."""
    outcomes = table.select("control", "perturbed", "count").to_numpy().astype(float)
    control, changed, count = outcomes.T
    found = paired_difference((control, changed), (count, count), (kish(count), count.sum()))
    usual = np.rint(control / count)  # of a start in several runs what is usual
    p = paired(usual, np.ones(len(count)), changed, count)
    resampled = (
        bootstrap(outcomes, lambda totals: (totals[:, 1] - totals[:, 0]) / totals[:, 2])
        if resampling
        else None
    )
    return {
        "starts": len(table),
        "control": found.first,
        "perturbed": found.second,
        "change": found.difference,
        "interval": tested(found.interval, p),
        "bootstrap": resampled,
        "p": p,
        "least_p": least(len(table)),
        "table": table,
    }


def change_drops(run: RunData) -> tuple[Drop, ...]:
    """What each change costs, alone or together with others, over all conditions that make it."""
    rows = run.changed.filter(pl.col("change").is_not_null() | (pl.col("condition") == CONTROL))
    return drops(rows, ("change",))


CHANGES = Measure(
    "changes",
    "The paired difference to the control, by what is changed: names, position, appearance+object, ...",
    change_drops,
    panels=(
        Panel(
            SUCCESS,
            tables=("assay.report.tables:changes_table",),
            figures=("assay.report.figures.success:changes_figure",),
        ),
    ),
    tests="assay.measures.hypotheses:changes",
)
AXES = Measure(
    "axes",
    "The paired difference to the control by axis; only changes after which success is expected.",
    lambda run: drops(run.plausible, ("axis",)),
    needs=("axis",),
    panels=(Panel(SUCCESS, tables=("assay.report.tables:axes_table",)),),
    sentences="assay.report.summary:axes_sentences",
)
DROPS = Measure(
    "drops",
    "The paired difference to the control, by condition.",
    lambda run: drops(run.frame),
    panels=(
        Panel(
            SUCCESS,
            tables=("assay.report.tables:drops_table",),
            figures=("assay.report.figures.success:drops_figure",),
        ),
    ),
    sentences="assay.report.summary:drops_sentences",
)
