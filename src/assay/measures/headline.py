"""What a diagnosis says first: the fall over all changes, or that nothing was found and what could have been."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.measures.causes import BY_PATH
from assay.measures.enough import detectable, more_seeds, telling
from assay.measures.evidence import HARMLESS, FlawTest
from assay.measures.findings import Claim, Fall, Finding, Unnoticed, Verdict
from assay.measures.flaws import Flaw
from assay.measures.profile import Profile
from assay.measures.search import Kind
from assay.measures.success.rates import CONTROLS, SUCCESS_RATE
from assay.measures.success.task_changes import TaskChanges
from assay.support.stats.significance import SURE

ABILITY = (Flaw.UNABLE, Flaw.MISSES, Flaw.KIND)
"""Flaws that show with nothing changed: they say nothing about robustness."""
FIRST = (Flaw.NOTHING, Flaw.LOSS)
"""What is said before anything else, where it is said at all."""
_SUSPECT = 0.2
"""The p (one-sided; of the fall over all changes by itself, of one change adjusted) below which a loss is not passed
over as chance."""
_MANY = 3
"""Changes without which it is not said that all of them cost alike."""


def headline(
    findings: Sequence[Finding],
    tests: Mapping[str, FlawTest],
    times: Mapping[str, float],
    together: TaskChanges | None,
    profiles: Sequence[Profile],
) -> list[Finding]:
    """What is said first: the fall over all changes, where no flaw explains it or all do; or that nothing was found."""
    named = {finding.flaw for finding in findings if finding.verdict is Verdict.FOUND}
    robust = named - {*ABILITY, Flaw.LOSS}
    likely = _likely(findings)
    fall = _fall(tests.get(Flaw.LOSS), times, together, profiles, likely)
    rest = [finding for finding in findings if finding.flaw != Flaw.LOSS]
    lost = next((finding for finding in findings if finding.flaw == Flaw.LOSS), None)
    if fall is not None and lost is not None and Flaw.LOSS in named:
        alike = fall.alike_p is not None and fall.alike_p >= SURE
        if alike and not robust & set(BY_PATH):  # what single conditions lose is part of it
            rest = [each for each in rest if each.flaw != Flaw.PARTICULAR or not _is_condition(each)]
            return [*rest, replace(lost, detail=fall)]
        return rest if robust else [*rest, replace(lost, detail=fall)]
    if robust:
        return rest
    costs = rest  # where changes are only made together, what is known is the fall over all of them
    if lost is not None and not any(each.evidence and each.evidence[0].cost for each in rest):
        costs = [*rest, lost]
    looked = [cost for cost in costs if cost.verdict is Verdict.NOT_FOUND]
    seen, least_known = _seen(costs, tests, times)
    few = sum(each.claim is Claim.TOO_FEW for each in rest)
    if fall is not None and _too_few(fall, lost, seen, likely):
        return [*rest, Finding(Flaw.NOTHING, Verdict.CANNOT_TELL, Claim.TOO_FEW, None, (), None, detail=fall)]
    if named:
        return rest
    if not looked:
        return [*rest, Finding(Flaw.NOTHING, Verdict.CANNOT_TELL, Claim.UNTESTED, None, (), None)]
    detail = Unnoticed(len(looked), *least_known, seen, few)
    firsts = tuple(each.evidence[0] for each in looked)
    return [*rest, Finding(Flaw.NOTHING, Verdict.FOUND, Claim.PRESENT, None, firsts, None, detail=detail)]


def _is_condition(finding: Finding) -> bool:
    """Whether particular cases are conditions and changes made together, in all tasks."""
    kinds = {Kind.CONDITION.name.lower(), Kind.TOGETHER.name.lower()}
    return {each.measure for each in finding.evidence} <= kinds


def _likely(findings: Sequence[Finding]) -> Finding | None:
    """The likeliest of the losses under one of several changes that are neither certain nor easily chance."""
    costs = [
        finding
        for finding in findings
        if finding.evidence and finding.evidence[0].cost and finding.flaw != Flaw.LOSS
    ]
    unsure = [
        cost
        for cost in costs
        if cost.claim in (Claim.NO_SIGN, Claim.TOO_FEW)
        and cost.evidence[0].value < -HARMLESS
        and cost.p is not None
        and cost.p < _SUSPECT
    ]
    return min(unsure, key=lambda each: each.p or 0.0) if unsure and len(costs) > 1 else None


def _too_few(fall: Fall, lost: Finding | None, seen: float | None, likely: Finding | None) -> bool:
    """Whether so few starts cannot say that there is no flaw.

    A total loss would not have been seen; or success fell, over all changes or under one of them, and that is
    neither certain nor easily chance.
    """
    observed = fall.control_hits / fall.control_count - fall.hits / fall.count
    p = None if lost is None else lost.evidence[0].p
    return seen is None or likely is not None or (observed > HARMLESS and p is not None and p < _SUSPECT)


def _seen(
    findings: Sequence[Finding], tests: Mapping[str, FlawTest], times: Mapping[str, float]
) -> tuple[float | None, tuple[str | None, float | None]]:
    """The loss that every tested change would have shown; the flaw of which least is known, and what it may cost."""
    sizes: list[float | None] = []
    unknown: dict[str, float] = {}
    for finding in findings:
        test = tests.get(finding.flaw)
        if finding.verdict is not Verdict.NOT_FOUND or test is None or not finding.evidence[0].cost:
            continue
        first = finding.evidence[0]
        assert first.interval is not None
        unknown[finding.flaw] = min(
            -each.interval.low for each in finding.evidence if each.cost and each.interval is not None
        )
        usual = first.reference
        if usual is None and first.reference_count:
            usual = (first.reference_hits or 0) / first.reference_count
        if test.least_p and usual is not None:
            starts = round(-math.log2(test.least_p))
            each = max((first.count or 1) / max(starts, 1), 1.0)
            sizes.append(detectable(usual, first.interval, starts, times[finding.flaw], each))
    where = max(unknown, key=lambda flaw: unknown[flaw]) if unknown else None
    known = [size for size in sizes if size is not None]
    seen = max(known) if known and len(known) == len(sizes) else None
    return seen, (where, None if where is None else unknown[where])


def _fall(
    test: FlawTest | None,
    times: Mapping[str, float],
    together: TaskChanges | None,
    profiles: Sequence[Profile],
    likely: Finding | None,
) -> Fall | None:
    if test is None or test.table is None:
        return None
    control, count = (test.table[name].to_numpy().astype(float) for name in ("control", "count"))
    before = int(np.rint(control / count).sum()), len(count)
    after = int(test.table["perturbed"].sum()), int(count.sum())
    if len(profiles) == 1:  # the numbers that stand beside it
        usual, now = profiles[0].get(CONTROLS), profiles[0].get(SUCCESS_RATE)
        if usual is not None and now is not None:
            before, after = (usual.successes, usual.count), (now.successes, now.count)
    alike: float | None = None
    costly: tuple[str, ...] = ()
    if together is not None and len(together.costs) >= _MANY:
        alike = together.alike_p
        costly = tuple(
            cost.change
            for cost in together.costs
            if cost.more is not None and cost.more < 0 and (cost.more_p or 0.0) < SURE
        )
    return Fall(
        control_hits=before[0],
        control_count=before[1],
        hits=after[0],
        count=after[1],
        telling=telling(test.table),
        more=more_seeds(test.table, times[Flaw.LOSS]),
        alike_p=alike,
        costly=costly,
        likely=None if likely is None else likely.flaw,
        likely_p=None if likely is None else likely.p,
    )
