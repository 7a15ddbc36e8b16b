"""What a change costs: success against the control of the same task and seed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL, Label
from assay.measures.clustering import shares, variances
from assay.measures.frames import START, judged, pairs, perturbed_rows, plausible
from assay.measures.measure import Measure, Panel
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.measures.run_data import RunData
from assay.measures.success.rates import CONTROLS, SUCCESS
from assay.measures.views.wording import (
    between,
    group_name,
    listed,
    number,
    percent,
    plural,
    points,
)
from assay.runs.schedulers.until import anytime_p, start_order
from assay.support.stats.intervals import (
    Interval,
    difference_of,
    effective_count,
    kish,
    mean_over_tasks,
    share_interval,
    tested,
)
from assay.support.stats.regression import LogOdds, conditional_log_odds
from assay.support.stats.resampling import bootstrap
from assay.support.stats.significance import SURE, holm, least_p, normal_below, paired, telling

if TYPE_CHECKING:
    from assay.measures.profile import Profile

_AXES = "axes"
"""The family of the axes themselves."""
_GIVEN = ("task", "condition")
"""Within what wordings are drawn."""
_OUTCOMES = {"both": (1, 1), "only_control": (1, 0), "only_perturbed": (0, 1), "neither": (0, 0)}
"""Name -> success of the control, and of the perturbed episode."""

_KEPT = ("key", "task", "seed", "start", "condition", "instruction", "control_success", "success")
"""Columns that a drop keeps of its pairs."""
_READ = (*_KEPT, "axis", "experiment", "plausible")


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
    """Newcombe's, over starts, and over wordings where a condition has several of a task; for this drop by itself, and
    about these tasks. Reaches to 0 where the test cannot exclude that; does not allow for stopping otherwise."""
    bootstrap: Interval | None
    """The same from resampled starts, if asked for; too narrow where fewer than about ten pairs differ."""
    p: float
    """Exact, over starts and within them (``significance.paired``); McNemar's, where each has one pair. Where a
    condition has several wordings of a task, Student's over starts and wordings, if that is larger; where one was
    stopped as soon as it was decided, one that holds whenever one stops, if that is larger."""
    p_holm: float
    """Adjusted for the family."""
    least_p: float
    """The least p that the telling starts can come to: above 5 % they are too few to tell anything."""
    telling: int
    """Starts with a success, perturbed or not: the others cannot show a difference."""
    kept: float | None
    """Success of the perturbed episodes whose control succeeds; None where none does."""
    kept_interval: Interval | None
    """Wilson's, over starts."""
    tasks: int
    over_tasks: Interval | None
    """About tasks in general, if these are a sample of them: Student's; None for fewer than three."""
    p_over_tasks: float | None
    """Exact, over tasks; not adjusted."""
    log_odds: LogOdds | None
    """The same by conditional logistic regression, for who expects that; None where no start can tell."""
    agrees: bool
    """Whether it and the test above say the same about a difference, at 5 % each."""
    stopped: bool
    """Whether one of its conditions, or the control, was stopped as soon as it was decided: the change is biased."""
    rows: pl.DataFrame = field(repr=False, compare=False, metadata=FOR_DRAWING)
    """Pair by pair: task, start, condition, instruction, control_success, success."""
    table: pl.DataFrame = field(repr=False, compare=False, metadata=FOR_DRAWING)
    """Start by start: task, start, control, perturbed (successes of either), count."""

    @property
    def certain(self) -> bool:
        """Whether the test and the interval agree that there is a difference."""
        return self.p_holm < SURE and not self.interval.low <= 0 <= self.interval.high


def drops(
    frame: pl.DataFrame,
    by: Sequence[str] = ("condition",),
    *,
    resampling: bool = True,
    stopped: Collection[str] = (),
) -> tuple[Drop, ...]:
    """The drop of every group of perturbed episodes that share the columns ``by``, in the order they are met.

    A family is an axis (words, world, senses), or the experiment for what has none; the axes themselves are one.
    Changes after which success is not expected are apart. Without ``resampling`` there is no bootstrap, which takes
    most of the time. ``stopped`` are conditions that were stopped as soon as they were decided.
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
    matched = matched.select(name for name in matched.columns if name in (*_READ, *by))
    if not len(matched):
        raise MeasureError(f"none of the {len(changed)} perturbed episodes has a control")
    alone = {key: len(group) for key, group in changed.group_by(by)}
    found = [
        _drop(dict(zip(by, key, strict=True)), group, alone[key] - len(group), resampling, stopped)
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
    rows = pl.concat([each.rows for each in found], how="diagonal_relaxed")
    counts = {name: sum(getattr(each, name) for each in found) for name in (*_OUTCOMES, "pairs", "unpaired")}
    early = any(each.stopped for each in found)
    measured = _measured(rows, resampling=False, early=early)
    return replace(first, **counts, **measured, p_holm=1.0, stopped=early)


def _drop(
    group: dict[str, Label],
    rows: pl.DataFrame,
    unpaired: int,
    resampling: bool,
    stopped: Collection[str],
) -> Drop:
    usual, now = rows["control_success"].to_numpy(), rows["success"].to_numpy()
    outcomes: dict[str, Any] = {
        name: int(((usual == before) & (now == after)).sum()) for name, (before, after) in _OUTCOMES.items()
    }
    family = (rows["axis"][0] if "axis" in rows.columns else None) or rows["experiment"][0]
    if "axis" in group:
        family = _AXES
    sensible = len(plausible(rows)) > 0
    early = bool(stopped) and bool({CONTROL, *rows["condition"].unique()} & set(stopped))
    return Drop(
        group=group,
        family=family if sensible else f"{family}, success not expected",
        plausible=sensible,
        pairs=len(rows),
        unpaired=unpaired,
        **outcomes,
        **_measured(
            rows.select(name for name in _KEPT if name in rows.columns),
            resampling=resampling,
            early=early,
        ),
        p_holm=1.0,
        stopped=early,
    )


def _measured(rows: pl.DataFrame, *, resampling: bool, early: bool) -> dict[str, Any]:
    """What pairs come to; ``early``: one of their conditions, or the control, was stopped as soon as it was decided."""
    table = rows.group_by(START, maintain_order=True).agg(
        control=pl.col("control_success").sum(),
        perturbed=pl.col("success").sum(),
        count=pl.len(),
        kept=(pl.col("success") * pl.col("control_success")).sum(),
    )
    kept = table["kept"].to_numpy().astype(float)
    table = table.drop("kept")
    outcomes = table.select("control", "perturbed", "count").to_numpy().astype(float)
    control, changed, count = outcomes.T
    known = effective_count(control, count, kish(count)), effective_count(changed, count, count.sum())
    usual, ones = np.rint(control / count), np.ones(len(count))  # of a start in several runs what is usual
    p = paired(usual, ones, changed, count)
    if _worded(rows):  # the control has no wordings
        known = known[0], min(known[1], shares(rows, "success", given=_GIVEN)[()][0])
        apart = pl.col("success") - pl.col("control_success")
        (variance,) = variances(rows, (apart - apart.mean()) / len(rows), given=_GIVEN)
        change = float((changed - control).sum() / count.sum())
        p = max(p, float(2 * normal_below(-abs(change) / variance**0.5)) if variance > 0 else 0.0)
    found = difference_of((control, changed), (count, count), known)
    if early:
        p = max(p, _whenever(rows))
    interval = tested(found.interval, p)
    _, tasks = np.unique(table["task"].to_list(), return_inverse=True)
    by_task, pairs_of = np.bincount(tasks, changed - control), np.bincount(tasks, count)
    over, p_over = mean_over_tasks(by_task, pairs_of, interval) or (None, None)
    odds = conditional_log_odds(usual, ones, changed, count)
    hits, tried = kept[control > 0], control[control > 0]
    return {
        "starts": len(table),
        "control": found.first,
        "perturbed": found.second,
        "change": found.difference,
        "interval": interval,
        "bootstrap": bootstrap(outcomes, _less) if resampling else None,
        "p": p,
        "least_p": least_p(telling(control, changed)),
        "telling": telling(control, changed),
        "kept": float(hits.sum() / tried.sum()) if len(hits) else None,
        "kept_interval": share_interval(hits, tried, tried.sum()) if len(hits) else None,
        "tasks": len(by_task),
        "over_tasks": over,
        "p_over_tasks": p_over,
        "log_odds": odds,
        "agrees": (p < SURE) == (odds is not None and odds.p < SURE),
        "rows": rows,
        "table": table,
    }


def _less(totals: np.ndarray) -> np.ndarray:
    """The change from totals (draws, 3) of the control, of what is changed, and of pairs."""
    return np.asarray((totals[:, 1] - totals[:, 0]) / totals[:, 2])


def _worded(rows: pl.DataFrame) -> bool:
    """Whether some condition has several wordings of a task, each with several starts."""
    if "instruction" not in rows.columns:
        return False
    names = ("task", "condition", "instruction")
    said = set(zip(*(rows[name].to_list() for name in names), strict=True))
    if len(said) == len({(task, condition) for task, condition, _ in said}):  # the usual, and quickly known
        return False
    variants = rows.group_by("task", "condition", "instruction").agg(
        pl.struct(START).n_unique().alias("_starts")
    )
    several = variants.filter(pl.col("_starts") > 1).group_by("task", "condition").len()
    return bool((several["len"] > 1).any())


def _whenever(rows: pl.DataFrame) -> float:
    """The p that holds whenever one stops, from starts in the order in which they were played.

    A start is one pair, that of its first episode by key, as where it is decided when to stop: several wordings beside
    one control would all fall if that happened to succeed.
    """
    apart = (pl.col("success") - pl.col("control_success")).sort_by("key").first()
    each = rows.group_by("task", "seed", maintain_order=True).agg(apart=apart)
    ordered = sorted(each.iter_rows(), key=lambda row: start_order(row[0], row[1]))
    return anytime_p(apart for *_, apart in ordered)


def change_drops(run: RunData) -> tuple[Drop, ...]:
    """What each change costs, alone or together with others, over all conditions that make it."""
    rows = run.changed.filter(pl.col("change").is_not_null() | (pl.col("condition") == CONTROL))
    return drops(rows, ("change",), stopped=run.stopped)


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
    lambda run: drops(run.plausible, ("axis",), stopped=run.stopped),
    needs=("axis",),
    panels=(Panel(SUCCESS, tables=("assay.report.tables:axes_table",)),),
    sentences="assay.measures.success.drops:axes_sentences",
)
DROPS = Measure(
    "drops",
    "The paired difference to the control, by condition.",
    lambda run: drops(run.frame, stopped=run.stopped),
    panels=(
        Panel(
            SUCCESS,
            tables=("assay.report.tables:drops_table",),
            figures=("assay.report.figures.success:drops_figure",),
        ),
    ),
    sentences="assay.measures.success.drops:drops_sentences",
)


def axes_sentences(axes: Sequence[Drop], profile: Profile) -> Iterator[str]:
    """What changes of words, world and senses cost."""
    for drop in sorted(axes, key=lambda drop: drop.change):
        name = group_name(drop.group).replace("+", " and ")
        if not drop.control:  # at the floor nothing shows, which is no robustness
            yield (
                f"What changes of the {name} cost cannot be measured: none of the controls succeeds "
                f"({plural(drop.starts, 'start')})."
            )
            continue
        numbers = (
            f"paired difference {points(drop.change)} points, 95 % interval {between(drop.interval, 100)}"
        )
        rates = (
            f"{percent(drop.control, 0)}{_of_pairs(drop, profile)} to {percent(drop.perturbed, 0)} of "
            f"{plural(drop.pairs, 'pair')}"
        )
        if drop.certain and drop.change < 0:
            yield f"Changes of the {name} cost it {number(100 * -drop.change)} points ({numbers})."
        else:
            yield f"Under changes of the {name} success goes from {rates} ({numbers})."


def _of_pairs(drop: Drop, profile: Profile) -> str:
    """Why it is another share of the controls than the one that is told first, where it is."""
    usual = profile.get(CONTROLS)
    same = usual is not None and percent(usual.rate, 0) == percent(drop.control, 0)
    return "" if same else " (controls, each once for every pair)"


def drops_sentences(drops: Sequence[Drop], profile: Profile) -> Iterator[str]:
    """The conditions that cost most."""
    worst = [
        drop
        for drop in sorted(drops, key=lambda drop: drop.change)
        if drop.plausible and drop.change < 0 and drop.certain
    ]
    if worst:
        losses = listed(
            f"{group_name(drop.group)} ({percent(drop.control, 0)} to {percent(drop.perturbed, 0)})"
            for drop in worst[:3]
        )
        yield f"Its largest significant losses: {losses}."
