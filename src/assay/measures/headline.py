"""Headline of a diagnosis: the fall over all changes, or that nothing was found and how sensitive the tests were."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from assay.measures.findings import HARMLESS, Claim, Fall, Finding, FlawTest, Unnoticed, Verdict
from assay.measures.flaws import BY_PATH, Flaw
from assay.measures.profile import Profile
from assay.measures.sample_size import detectable, more_seeds, telling
from assay.measures.search import PatternKind
from assay.measures.success.rates import CONTROLS, SUCCESS_RATE
from assay.measures.success.task_changes import TaskChanges
from assay.support.stats.significance import SURE

ABILITY = (Flaw.UNABLE, Flaw.MISSES, Flaw.KIND)
"""Flaws that show in unperturbed episodes and do not concern robustness."""
FIRST = (Flaw.NOTHING, Flaw.LOSS)
"""Findings that precede all others."""
_SUSPICIOUS_P = 0.2
"""One-sided p (of the fall over all changes; adjusted, of one change) below which a loss is not dismissed as chance."""
_MIN_CHANGES = 3
"""Changes needed for the statement that all of them cost the same."""


def with_headline(
    findings: Sequence[Finding],
    tests: Mapping[str, FlawTest],
    times: Mapping[str, float],
    together: TaskChanges | None,
    profiles: Sequence[Profile],
) -> list[Finding]:
    """Add the headline: the fall over all changes if no flaw or all flaws explain it, or that nothing was found."""
    named = {finding.flaw for finding in findings if finding.verdict is Verdict.FOUND}
    robust = named - {*ABILITY, Flaw.LOSS}
    likely = _likeliest_loss(findings)
    fall = _fall(tests.get(Flaw.LOSS), times, together, profiles, likely)
    rest = [finding for finding in findings if finding.flaw != Flaw.LOSS]
    lost = next((finding for finding in findings if finding.flaw == Flaw.LOSS), None)
    if fall is not None and lost is not None and Flaw.LOSS in named:
        alike = fall.alike_p is not None and fall.alike_p >= SURE
        if alike and not robust & set(BY_PATH):  # losses of single conditions are part of it
            rest = [finding for finding in rest if not _are_condition_cases(finding)]
            return [*rest, replace(lost, detail=fall)]
        return rest if robust else [*rest, replace(lost, detail=fall)]
    if robust:
        return rest
    costs = rest  # if changes are only made together, the fall over all of them is known
    if lost is not None and not any(finding.evidence and finding.evidence[0].cost for finding in rest):
        costs = [*rest, lost]
    looked = [cost for cost in costs if cost.verdict is Verdict.NOT_FOUND]
    seen, least_known = _sensitivity(costs, tests, times)
    few = sum(finding.claim is Claim.TOO_FEW for finding in rest)
    if fall is not None and _too_few(fall, lost, seen, likely):
        return [*rest, Finding(Flaw.NOTHING, Verdict.CANNOT_TELL, Claim.TOO_FEW, None, (), None, detail=fall)]
    if named:
        return rest
    if not looked:
        return [*rest, Finding(Flaw.NOTHING, Verdict.CANNOT_TELL, Claim.UNTESTED, None, (), None)]
    detail = Unnoticed(len(looked), *least_known, seen, few)
    firsts = tuple(finding.evidence[0] for finding in looked)
    return [*rest, Finding(Flaw.NOTHING, Verdict.FOUND, Claim.PRESENT, None, firsts, None, detail=detail)]


def _are_condition_cases(finding: Finding) -> bool:
    """Whether a finding is about particular cases that are conditions and joint changes, in all tasks."""
    kinds = {PatternKind.CONDITION.name.lower(), PatternKind.TOGETHER.name.lower()}
    return finding.flaw == Flaw.PARTICULAR and {evidence.measure for evidence in finding.evidence} <= kinds


def _likeliest_loss(findings: Sequence[Finding]) -> Finding | None:
    """The loss under one of several changes with the smallest p that is suspicious but not significant."""
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
        and cost.p < _SUSPICIOUS_P
    ]
    return min(unsure, key=lambda cost: cost.p or 0.0) if unsure and len(costs) > 1 else None


def _too_few(fall: Fall, lost: Finding | None, seen: float | None, likely: Finding | None) -> bool:
    """Whether the starts are too few to conclude that there is no flaw.

    Either a total loss would not have been detected, or success fell in a suspicious way that is not significant.
    """
    observed = fall.control_hits / fall.control_count - fall.hits / fall.count
    p = None if lost is None else lost.evidence[0].p
    return seen is None or likely is not None or (observed > HARMLESS and p is not None and p < _SUSPICIOUS_P)


def _sensitivity(
    findings: Sequence[Finding], tests: Mapping[str, FlawTest], times: Mapping[str, float]
) -> tuple[float | None, tuple[str | None, float | None]]:
    """Loss that every tested change would have revealed; the flaw with the widest interval, and its largest loss."""
    sizes: list[float | None] = []
    unknown: dict[str, float] = {}
    for finding in findings:
        test = tests.get(finding.flaw)
        if finding.verdict is not Verdict.NOT_FOUND or test is None or not finding.evidence[0].cost:
            continue
        first = finding.evidence[0]
        assert first.interval is not None
        unknown[finding.flaw] = min(
            -evidence.interval.low
            for evidence in finding.evidence
            if evidence.cost and evidence.interval is not None
        )
        usual = first.reference
        if usual is None and first.reference_count:
            usual = (first.reference_hits or 0) / first.reference_count
        if test.least_p and usual is not None:
            starts = round(-math.log2(test.least_p))
            pairs = max((first.count or 1) / max(starts, 1), 1.0)
            sizes.append(detectable(usual, first.interval, starts, times[finding.flaw], pairs))
    widest = max(unknown, key=lambda flaw: unknown[flaw]) if unknown else None
    finite = [size for size in sizes if size is not None]
    seen = max(finite) if finite and len(finite) == len(sizes) else None
    return seen, (widest, None if widest is None else unknown[widest])


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
    if len(profiles) == 1:  # the numbers shown beside it
        usual, now = profiles[0].get(CONTROLS), profiles[0].get(SUCCESS_RATE)
        if usual is not None and now is not None:
            before, after = (usual.successes, usual.count), (now.successes, now.count)
    alike: float | None = None
    costly: tuple[str, ...] = ()
    if together is not None and len(together.costs) >= _MIN_CHANGES:
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
