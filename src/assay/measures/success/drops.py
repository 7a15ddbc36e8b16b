"""Cost of changes: success compared with the control of the same task and seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import polars as pl

from assay.episodes.perturbation import Change
from assay.episodes.spec import CONTROL, Label
from assay.measures import frames
from assay.measures.clustering import ratio, shares, variances
from assay.measures.findings import Evidence, FlawTest, Profiles, Untested, evidence_from, one_sided_p
from assay.measures.flaws import BY_CHANGE, Flaw, shown_by
from assay.measures.measure import Measure, Panel, Profile, ReportedRun
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.measures.sample_size import least_one_sided, telling
from assay.measures.success.rates import CONTROLS, SUCCESS
from assay.measures.views import wording
from assay.measures.views.forest import MOST, Mark, forest_drawing
from assay.measures.views.style import BLUE, FAINT, Drawing
from assay.measures.views.table import Column, Table
from assay.runs.schedulers.until import Pairs, start_order
from assay.support.stats.horizon import HorizonTest
from assay.support.stats.intervals import (
    Interval,
    difference_of,
    effective_count,
    kish,
    mean_over_tasks,
    widen_to_p,
)
from assay.support.stats.regression import LogOdds, conditional_log_odds
from assay.support.stats.resampling import bootstrap
from assay.support.stats.significance import SURE, holm, least_p, normal_below, paired_p
from assay.support.stats.significance import telling as count_telling

_FIXED = ("task", "condition")
"""Columns whose values are fixed: wordings are sampled for each task and condition."""
_OUTCOMES = {"both": (1, 1), "only_control": (1, 0), "only_perturbed": (0, 1), "neither": (0, 0)}
"""Outcome of a pair -> successes (0 or 1) of the control and of the perturbed episode."""

_PAIR_COLUMNS = (
    *("key", "task", "seed", "start", "condition", "instruction"),
    *("control_success", "control_rate", "success"),
)
"""Columns of `Drop.rows`, the table of pairs."""


@dataclass(frozen=True, slots=True)
class Drop(Result):
    """Difference in success between perturbed episodes and their controls, negative for a loss."""

    group: Annotated[dict[str, Label], Column("change")]
    """Columns that define the group of perturbed episodes, and their values."""
    family: Annotated[str, Column("family")]
    """Name of the family of drops over which p values are adjusted."""
    plausible: Annotated[bool, Column("success expected")]
    """Whether success is expected; otherwise a loss is not a flaw."""
    pairs: Annotated[int, Column("pairs", "count")]
    starts: int
    """Number of starts (task and initial state); pairs with the same start and seed share a control."""
    unpaired: Annotated[int, Column("unpaired", "count")]
    """Number of perturbed episodes whose control is missing or ended in an error."""
    both: int
    only_control: int
    only_perturbed: int
    neither: int
    control: Annotated[float, Column("control", "share")]
    perturbed: Annotated[float, Column("perturbed", "share")]
    change: Annotated[float, Column("difference", "change")]
    """Perturbed success minus control success."""
    interval: Annotated[Interval, Column("95 % interval", "change")]
    """Newcombe interval over starts, and over wordings if a condition has several per task. Holds for this drop alone
    and for these tasks. Includes 0 if the test is not significant, but does not otherwise allow for early stopping.
    """
    bootstrap: Interval | None
    """Bootstrap interval over starts, if requested; too narrow if fewer than about ten pairs differ."""
    p: Annotated[float | None, Column("p", "p")]
    """p value of the test: one-sided for a loss if ``plausible``, otherwise two-sided; None if not tested."""
    p_two_sided: float
    """Exact two-sided p value over and within starts (``significance.paired_p``); McNemar's for one pair per start.

    If a condition has several wordings of a task, it is at least the p value of Student's test over starts and
    wordings; if a condition was stopped early, it is at least an anytime-valid p value.
    """
    p_holm: Annotated[float | None, Column("Holm p", "p")]
    """``p`` adjusted for the family (Holm), never below ``p``; None if not tested."""
    least_p: float
    """Smallest two-sided p value attainable with the informative starts; if it exceeds 5 %, there are too few."""
    telling: int
    """Number of informative starts: those with at least one success, perturbed or not."""
    retention: float | None
    """Perturbed success divided by control success, over all starts; None if no control succeeds."""
    retention_interval: Interval | None
    """Interval of ``retention`` over starts and wordings (Fieller's, with Wilson's limits)."""
    tasks: int
    over_tasks: Interval | None
    """Student interval for tasks in general, treating these tasks as a sample; None for fewer than three tasks."""
    p_over_tasks: float | None
    """Exact p value over tasks, not adjusted."""
    log_odds: LogOdds | None
    """Result of a conditional logistic regression for comparison; None without an informative start."""
    agrees: bool
    """Whether the logistic regression and the exact test agree at 5 %."""
    stopped: bool
    """Whether one of the conditions, or the control, was stopped early, which biases the change."""
    rows: pl.DataFrame = field(repr=False, compare=False, metadata=FOR_DRAWING)
    """Table of pairs, one row each: task, start, condition, instruction, control_success, success."""
    table: pl.DataFrame = field(repr=False, compare=False, metadata=FOR_DRAWING)
    """Starts, one row each: task, start, control, perturbed (numbers of successes), count (of pairs)."""

    @property
    def p_loss(self) -> float:
        """Exact one-sided p value of a loss."""
        return one_sided_p(self.change, self.p_two_sided)

    @property
    def certain(self) -> bool:
        """Whether both the test and the interval show a difference."""
        return (
            self.p_holm is not None
            and self.p_holm < SURE
            and not self.interval.low <= 0 <= self.interval.high
        )


def drops(
    frame: pl.DataFrame,
    by: Sequence[str] = ("condition",),
    *,
    resampling: bool = True,
    stopped: Mapping[str, Mapping[str, Any]] | None = None,
) -> tuple[Drop, ...]:
    """Return the drop of every group of perturbed episodes that share the columns ``by``, in order of appearance.

    A family holds the drops of an axis (words, world, senses) or, without axes, of the experiment; the drops by
    axis are one family. Changes after which success is not expected form separate families. Without
    ``resampling``, the bootstrap, which takes most of the time, is skipped. ``stopped``: the rules that stopped
    conditions early, by condition. Groups without a control are left out. Raises MeasureError if no group is left.
    """
    read = ("outcome", "axis", "experiment", "plausible", *by)
    rows = frames.valid_rows(frames.narrow(frame, *_PAIR_COLUMNS, *read))
    if absent := set(by) - set(frame.columns):
        raise MeasureError(f"the run has no column {min(absent)}")
    changed = rows.filter(pl.col("condition") != CONTROL).drop_nulls(by)
    if not len(changed):
        raise MeasureError("the run has no perturbed episode")
    matched = frames.pairs(rows).drop_nulls(by)
    if not len(matched):
        raise MeasureError(f"none of the {len(changed)} perturbed episodes has a control")
    totals = {key: len(group) for key, group in changed.group_by(by)}
    stopped = stopped or {}
    rounds = frames.allocated_rounds(stopped)
    result = []
    for key, group in matched.group_by(by, maintain_order=True):
        family = (group["axis"][0] if "axis" in group.columns else None) or group["experiment"][0]
        family = "axes" if "axis" in by else family
        sensible = len(frames.plausible(group)) > 0
        conditions = [*group["condition"].unique()]
        early = rounds > 0 or bool({CONTROL, *conditions} & stopped.keys())
        # A condition that differs from its control was stopped by a test with a p value of its own.
        rule = stopped.get(conditions[0], {}) if len(conditions) == 1 else {}
        used = group.select(name for name in _PAIR_COLUMNS if name in group.columns)
        result.append(
            Drop(
                group=dict(zip(by, key, strict=True)),
                family=family if sensible else f"{family}, success not expected",
                plausible=sensible,
                unpaired=totals[key] - len(group),
                **_estimate(
                    used,
                    resampling=resampling,
                    early=early,
                    is_one_sided=sensible,
                    stopping_p=rule.get("p"),
                    rounds=rounds,
                ),
                p_holm=None,
                stopped=early,
            )
        )
    adjusted = {
        family: iter(holm([drop.p or 0.0 for drop in result if drop.family == family]))
        for family in {drop.family for drop in result}
    }
    return tuple(replace(drop, p_holm=next(adjusted[drop.family])) for drop in result)


def pool_drops(drops: Sequence[Drop]) -> Drop:
    """Pool the drops of one change over several runs of a policy, without adjustment; starts remain clusters."""
    first, *rest = drops
    if not rest:
        return first
    rows = pl.concat([drop.rows for drop in drops], how="diagonal_relaxed")
    early, unpaired = any(drop.stopped for drop in drops), sum(drop.unpaired for drop in drops)
    estimate = _estimate(rows, resampling=False, early=early, is_one_sided=first.plausible)
    return replace(first, **estimate, unpaired=unpaired, p_holm=None, stopped=early)


def _estimate(
    rows: pl.DataFrame,
    *,
    resampling: bool,
    early: bool,
    is_one_sided: bool,
    stopping_p: float | None = None,
    rounds: int = 0,
) -> dict[str, Any]:
    """Compute the statistics of pairs.

    ``early``: whether a condition or the control was stopped early; ``stopping_p``: the p value that stopped it.
    ``rounds``: planned number of rounds if starts were allocated; tasks then count equally, regardless of their number
    of starts.
    """
    table = frames.start_table(rows)
    outcomes = frames.outcome_counts(table)
    control, changed, count = outcomes.T
    effective = (
        effective_count(control, count, kish(count)),
        effective_count(changed, count, count.sum()),
    )
    usual, ones = np.rint(control / count), np.ones(len(count))  # the majority, for a start in several runs
    p = paired_p(usual, ones, changed, count)
    several_wordings = False  # of a task in one condition, each with several starts
    if "instruction" in rows.columns:
        starts = rows.group_by("task", "condition", "instruction").agg(
            _starts=pl.struct(frames.START).n_unique()
        )
        wordings = starts.filter(pl.col("_starts") > 1).group_by("task", "condition").len()
        several_wordings = bool((wordings["len"] > 1).any())
    if several_wordings:  # the control has no wordings
        effective = effective[0], min(effective[1], shares(rows, "success", given=_FIXED)[()][0])
        apart = pl.col("success") - pl.col("control_success")
        (variance,) = variances(rows, (apart - apart.mean()) / len(rows), given=_FIXED)
        change = float((changed - control).sum() / count.sum())
        p = max(p, float(2 * normal_below(-abs(change) / variance**0.5)) if variance > 0 else 0.0)
    _, tasks = np.unique(table["task"].to_list(), return_inverse=True)
    weight = 1 / np.bincount(tasks)[tasks] if rounds else ones
    estimate = difference_of((weight * control, weight * changed), (weight * count,) * 2, effective)
    if stopping_p is not None:
        p = max(p, stopping_p)
    elif early:  # anytime-valid, from starts in the order in which they were run
        # A start is one pair, that of its first episode by key, as in the stopping rule: several wordings beside one
        # control would all fall if that happened to succeed.
        apart = (pl.col("success") - pl.col("control_success")).sort_by("key").first()
        starts = rows.group_by("task", "seed", maintain_order=True).agg(apart=apart)
        ordered = sorted(starts.iter_rows(), key=lambda row: start_order(row[0], row[1]))
        if rounds:
            order = {seed: number for number, seed in enumerate(sorted(starts["seed"].unique()))}
            played = sorted((order[seed], place) for place, (_, seed, _) in enumerate(ordered))
            differences = ((number, ordered[place][2]) for number, place in played)
            p = max(p, min(1.0, 2 * HorizonTest.of(differences, rounds).p))
        else:
            p = max(p, Pairs.of(apart for *_, apart in ordered).p)
    interval = widen_to_p(estimate.interval, p)
    by_task, pairs_of = np.bincount(tasks, changed - control), np.bincount(tasks, count)
    over, p_over = mean_over_tasks(by_task, pairs_of, interval) or (None, None)
    odds = conditional_log_odds(usual, ones, changed, count)
    retained = ratio(rows, "control_rate", "success")
    before, after = rows["control_success"], rows["success"]
    return {
        **{name: int(((before == was) & (after == now)).sum()) for name, (was, now) in _OUTCOMES.items()},
        "pairs": len(rows),
        "starts": len(table),
        "control": estimate.first,
        "perturbed": estimate.second,
        "change": estimate.difference,
        "interval": interval,
        "bootstrap": bootstrap(outcomes, lambda totals: (totals[:, 1] - totals[:, 0]) / totals[:, 2])
        if resampling
        else None,
        "p": one_sided_p(estimate.difference, p) if is_one_sided else p,
        "p_two_sided": p,
        "least_p": least_p(count_telling(control, changed)),
        "telling": count_telling(control, changed),
        "retention": retained and retained.value,
        "retention_interval": retained and retained.interval,
        "tasks": len(by_task),
        "over_tasks": over,
        "p_over_tasks": p_over,
        "log_odds": odds,
        "agrees": (p < SURE) == (odds is not None and odds.p < SURE),
        "rows": rows,
        "table": table,
    }


def drop_evidence(runs: tuple[int, ...], measure: str, part: str, drop: Drop) -> Evidence:
    """Return the cost of a change as evidence."""
    hits = drop.both + drop.only_perturbed
    reference: tuple[int, ...] = ()
    if drop.pairs == drop.starts:  # otherwise controls are counted several times
        reference = drop.both + drop.only_control, drop.pairs
    counts, more = (
        (hits, drop.pairs, *reference),
        {"reference": drop.control, "cost": True, "over_tasks": drop.over_tasks},
    )
    return evidence_from(runs, measure, part, drop.change, drop.interval, drop.p_loss, *counts, **more)


def loss_test(
    flaw: str, runs: tuple[int, ...], measure: str, part: str, drop: Drop, detail: Result | None = None
) -> FlawTest:
    """Return the test of a loss under a change."""
    evidence = drop_evidence(runs, measure, part, drop)
    least, size = least_one_sided(telling(drop.table)), wording.negate(drop.interval)
    return FlawTest(flaw, (evidence,), drop.p_loss, size, least_p=least, detail=detail, table=drop.table)


def _test_changes(profiles: Profiles) -> Iterator[FlawTest | Untested]:
    """Test the cost of each change against the controls, pooled over runs, and of all changes together."""
    by_change: dict[str, list[tuple[int, Drop]]] = {}
    for run, profile in profiles:
        for drop in profile.get(CHANGES) or ():
            by_change.setdefault(str(drop.group["change"]), []).append((run, drop))
    by_change.pop(Change.TASK, None)  # another task has controls of its own
    parts = [(run, drop) for entries in by_change.values() for run, drop in entries if drop.plausible]
    if any(drop.control for _, drop in parts):
        name = next(iter(by_change)) if len(by_change) == 1 else ""
        runs = tuple(dict.fromkeys(run for run, _ in parts))
        yield loss_test(Flaw.LOSS, runs, CHANGES.name, name, pool_drops([drop for _, drop in parts]))
    if any(profile.get("names") is not None for _, profile in profiles):
        by_change.pop(Change.NAMES, None)  # wordings that keep names separate names from sentences
    if any(profile.get("surface") is not None for _, profile in profiles):
        by_change.pop(Change.SURFACE, None)  # tested form by form
    factors = {
        contrast.change: (run, contrast)
        for run, profile in profiles
        if (attribution := profile.get("attribution")) is not None
        for contrast in attribution.contrasts
        if contrast.change in by_change and len(by_change[contrast.change]) == 1
    }
    for change, runs_and_drops in by_change.items():
        drop = pool_drops([drop for _, drop in runs_and_drops])
        flaw, *others = shown_by(change)
        if others:  # a joint change reveals no single flaw
            continue
        if change in factors and factors[change][1].count > drop.pairs:
            run, contrast = factors[change]  # includes its cost beside other changes
            yield contrast.flaw_test(flaw, run, telling(drop.table))
        elif drop.control:
            curves = (profile.get("displacement") for _, profile in profiles)
            onsets = (curve.onset() for curve in curves if curve is not None)
            detail = next(filter(None, onsets), None) if flaw is Flaw.POSITION else None
            yield loss_test(flaw, tuple(run for run, _ in runs_and_drops), CHANGES.name, change, drop, detail)
    for flaw in BY_CHANGE.values():
        yield Untested(flaw, CHANGES.name)


def _panel(name: str, title: str, drawn: bool = True) -> Panel:
    """Return a table of drops with a name and a title and, if ``drawn``, their forest plot."""

    family = "all tests of named flaws" if name == "changes" else "all conditions, axes and joint changes"

    def table(drops: Sequence[Drop], report: ReportedRun) -> Table:
        return Table.of(
            name,
            title,
            drops,
            note="Paired differences from the control with the same task and seed, or from the control of the "
            "requested task; 95 % Newcombe intervals over starts. p: exact test of the row's own pairs. Where success "
            f"is expected, it is one-sided, for a loss, and Holm p is this p adjusted for {family}; a "
            "row whose change is also tested on other episodes is at most as significant as that test. Where success "
            "is not expected, a loss is not a flaw: p is two-sided, and Holm p is adjusted within the family. "
            "Not tested: goals without a control of their own.",
        )

    def draw(drops: Sequence[Drop], report: ReportedRun) -> Drawing:
        largest = sorted(drops, key=lambda drop: drop.change)[:MOST]
        groups: dict[str, list[Mark]] = {}
        for drop in (drop for drop in drops if drop in largest):
            look = {"color": BLUE, "marker": "o"} if drop.plausible else {"color": FAINT, "marker": "D"}
            notes = f"{drop.pairs:,}", "not tested" if drop.p_holm is None else wording.p_value(drop.p_holm)
            filled = drop.p_holm is not None and drop.p_holm < SURE
            mark = Mark.of_change(wording.group_name(drop.group), drop, *notes, filled=filled, **look)
            groups.setdefault(drop.family, []).append(mark)
        remarks = ""
        if not all(drop.plausible for drop in largest):
            remarks += " Grey diamonds: changes after which success is not expected."
        if len(drops) > MOST:
            remarks += f" Of {len(drops)} conditions, only the {MOST} with the largest losses are shown."
        caption = (
            f"{wording.plural(sum(drop.pairs for drop in drops), 'pair')} of a perturbed episode and the control with "
            "the same task and seed. Lines: 95 % Newcombe intervals over starts. p: exact test for a loss, by sign "
            "flips over starts and permutation within them (McNemar's test if each start has one pair), "
            f"adjusted for {family}; filled marks: p < {SURE:g}.{remarks}"
        )
        along, heads = "paired difference from the control, points", ("pairs", "Holm p")
        return forest_drawing(name, title, caption, groups, along=along, heads=heads, unit="points")

    return Panel(SUCCESS, (table,), (draw,) if drawn else ())


def axes_sentences(axes: Sequence[Drop], profile: Profile) -> Iterator[str]:
    """Yield sentences about the cost of changes to instruction, world and observations."""
    usual = profile.get(CONTROLS)
    for drop in sorted(axes, key=lambda drop: drop.change):
        name = wording.group_name(drop.group).replace("+", " and ")
        if not drop.control:  # a policy that always fails is not robust
            starts = wording.plural(drop.starts, "start")
            yield f"The cost of {name} changes cannot be measured: none of the controls succeeds ({starts})."
            continue
        interval = f"95 % interval {wording.between(drop.interval, 100)}"
        numbers = f"paired difference {wording.points(drop.change)} points, {interval}"
        if drop.certain and drop.change < 0:
            yield f"Changes to the {name} cost {wording.number(100 * -drop.change)} points ({numbers})."
            continue
        same = usual is not None and wording.percent(usual.rate, 0) == wording.percent(drop.control, 0)
        control_note = "" if same else " (each control counted once per pair)"
        yield (
            f"Under changes to the {name}, success changes from {wording.percent(drop.control, 0)}{control_note} to "
            f"{wording.percent(drop.perturbed, 0)} over {wording.plural(drop.pairs, 'pair')} ({numbers})."
        )


def drops_sentences(drops: Sequence[Drop], profile: Profile) -> Iterator[str]:
    """Yield a sentence about the conditions with the largest losses."""
    losses = [drop for drop in drops if drop.plausible and drop.change < 0 and drop.certain]
    if losses:
        percent = wording.percent
        worst = wording.listed(
            f"{wording.group_name(drop.group)} ({percent(drop.control, 0)} to {percent(drop.perturbed, 0)})"
            for drop in sorted(losses, key=lambda drop: drop.change)[:3]
        )
        yield f"Largest significant losses: {worst}."


CHANGES = Measure(
    "changes",
    "Paired difference from the control by change: names, position, appearance+object, ...",
    lambda run: drops(
        run.changed.filter(pl.col("change").is_not_null() | (pl.col("condition") == CONTROL)),
        ("change",),
        stopped=run.stopped,
    ),
    panels=(_panel("changes", "Cost by kind of change"),),
    tests=_test_changes,
)
AXES = Measure(
    "axes",
    "Paired difference from the control by axis; only changes after which success is expected.",
    lambda run: drops(run.plausible, ("axis",), stopped=run.stopped),
    needs=("axis",),
    panels=(_panel("axes", "Cost by axis", drawn=False),),
    sentences=axes_sentences,
)
DROPS = Measure(
    "drops",
    "Paired difference from the control by condition.",
    lambda run: drops(run.frame, stopped=run.stopped),
    panels=(_panel("drops", "Cost of each condition"),),
    sentences=drops_sentences,
)
