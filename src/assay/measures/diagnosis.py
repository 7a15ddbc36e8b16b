"""Diagnosis: what is wrong with a policy, as claims with numbers; ``assay.report.sentences`` puts them into words.

    for finding in diagnose(profile(libero), profile(para), profile(pro)):
        print(finding.verdict, finding.flaw, finding.degree, finding.p)

Each flaw is a hypothesis that a measure has tested against chance, on one side: only what is worse is a flaw.
What several runs have measured is taken together, and what is tested in all of them is one family (Holm). How
much of it there is, is said from the interval: *mostly* is more than half beyond doubt. A flaw that another
one brings about is *explained*, if that one is large enough to do so: a policy that replays a trajectory
fails where objects were moved, too. Where no run has an episode that could tell, or too few starts, the
finding says what is lacking.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from assay.measures.attribution import ATTRIBUTION
from assay.measures.drops import AXES, CHANGES, DROPS, Drop
from assay.measures.evidence import Evidence, FlawTest, Untested, drop_evidence
from assay.measures.flaws import CONSEQUENCES, Degree, Flaw
from assay.measures.hypotheses import shown_by
from assay.measures.measure import MEASURES, load
from assay.measures.profile import Profile
from assay.measures.result import Result
from assay.stats.significance import SURE, holm


class Verdict(StrEnum):
    """What the runs say about a flaw."""

    FOUND = "found"
    EXPLAINED = "explained"
    """It is there, as a flaw that was found would have it."""
    NOT_FOUND = "not found"
    CANNOT_TELL = "cannot tell"


class Claim(StrEnum):
    """What is said about a flaw."""

    PRESENT = "present"
    ABSENT = "absent"
    """The runs show that it is not there."""
    NO_SIGN = "no sign"
    """Neither is sure."""
    TOO_FEW = "too few starts"
    UNTESTED = "untested"
    """The runs have nothing that could tell."""


@dataclass(frozen=True, slots=True)
class Unnoticed(Result):
    """The largest loss that may have gone unnoticed where no flaw was found."""

    looked_for: int
    """Flaws that were tested."""
    flaw: str | None
    loss: float | None
    too_few: int = 0
    """Flaws that there were too few starts to tell."""


@dataclass(frozen=True, slots=True)
class Finding(Result):
    """What the runs say about one flaw."""

    flaw: str
    verdict: Verdict
    claim: Claim
    degree: Degree | None
    """How much of what the policy does the flaw spoils; None where nothing was tested."""
    evidence: tuple[Evidence, ...]
    """What was tested and is surest comes first."""
    p: float | None
    """One-sided, adjusted (Holm): for everything that was tested; where that finds nothing, for a certain loss
    among the changes of its kind, as in its table of drops. None where nothing was tested."""
    cause: str | None = None
    """The flaw that explains it, if one does."""
    untested: Untested | None = None
    """What is lacking, where nothing could tell."""
    detail: Result | None = None
    """What else the runs tell about it."""


_COSTS = (CHANGES.name, ATTRIBUTION.name)
"""Measures of what a change costs, from which its flaw is told."""


class _Loss(NamedTuple):
    """What a change costs for certain."""

    run: int
    measure: str
    what: str
    """The change, the condition or the axis."""
    drop: Drop


def diagnose(*profiles: Profile) -> tuple[Finding, ...]:
    """What is wrong with one policy, from the profiles of its runs: one finding for each flaw.

    What is found comes first, the surest at the head; that nothing is found is a finding too.
    """
    tested, untested = _tests(profiles)
    adjusted = dict(zip(map(id, tested), holm([test.p for test in tested]), strict=True))
    best: dict[str, FlawTest] = {}
    findings: list[Finding] = []
    for flaw in dict.fromkeys((*Flaw, *(test.flaw for test in tested), *untested)):
        mine = sorted(
            (test for test in tested if test.flaw == flaw), key=lambda test: (test.least_p >= SURE, test.p)
        )
        if mine:
            findings.append(_finding(mine, adjusted[id(mine[0])]))
            best[flaw] = mine[0]
        elif flaw in untested:
            findings.append(
                Finding(flaw, Verdict.CANNOT_TELL, Claim.UNTESTED, None, (), None, untested=untested[flaw])
            )
    here = {each.flaw: best[each.flaw] for each in findings if each.verdict is Verdict.FOUND}
    findings = [_explained(each, here) for each in findings]
    losses = _losses(profiles, here, {each.flaw for each in findings if each.evidence})
    if not here:
        findings = [_certain(each, losses) for each in findings]
        here = {each.flaw: best[each.flaw] for each in findings if each.verdict is Verdict.FOUND}
        losses = [] if here else losses
    if losses or not here:
        findings.append(_lost(losses) if losses else _nothing(findings))
    order = list(Verdict)
    return tuple(sorted(findings, key=lambda each: (order.index(each.verdict), each.p or 0.0)))


def _tests(profiles: Sequence[Profile]) -> tuple[list[FlawTest], dict[str, Untested]]:
    """Everything that the runs can test, and why they cannot test the rest."""
    tested: list[FlawTest] = []
    untested: dict[str, Untested] = {}
    for measure in (MEASURES[name] for name in MEASURES):
        among = [(run, each) for run, each in enumerate(profiles) if measure.name in each]
        for test in load(measure.tests)(among) if measure.tests and among else ():
            if isinstance(test, Untested):
                untested.setdefault(test.flaw, test)
            else:
                tested.append(test)
    return tested, untested


def _finding(tests: Sequence[FlawTest], p: float) -> Finding:
    best = tests[0]
    verdict, claim = Verdict.FOUND, Claim.PRESENT
    if best.least_p >= SURE:
        verdict, claim = Verdict.CANNOT_TELL, Claim.TOO_FEW
    elif p >= SURE or best.size.low <= 0 or abs(best.evidence[0].value) < best.min_effect:
        verdict, claim = Verdict.NOT_FOUND, Claim.ABSENT if best.refuted else Claim.NO_SIGN
    evidence = tuple(each for test in tests for each in test.evidence)
    return Finding(best.flaw, verdict, claim, best.degree, evidence, p, detail=best.detail)


def _explained(finding: Finding, here: Mapping[str, FlawTest]) -> Finding:
    causes = [
        flaw
        for flaw, cause in here.items()
        if finding.flaw in CONSEQUENCES.get(flaw, ()) and finding.flaw in here
        if cause.covers(here[finding.flaw])
    ]
    return replace(finding, verdict=Verdict.EXPLAINED, cause=causes[0]) if causes else finding


def _losses(profiles: Sequence[Profile], here: Collection[str], tested: Collection[str]) -> list[_Loss]:
    """Certain losses that no flaw explains, the surest first.

    Where flaws are found, those are under changes that were made together, if one of them was never made
    alone, and no flaw that is ``here`` has to do with them. Where none is found, they are all.
    """
    explained = {*here, *(flaw for cause in here for flaw in CONSEQUENCES.get(cause, ()))}
    found = [
        _Loss(run, measure.name, str(next(iter(drop.group.values()))), drop)
        for run, profile in enumerate(profiles)
        if CHANGES.name
        in profile  # what stands in for it tests each condition, and a trifle is no flaw there
        for measure in (CHANGES, DROPS, AXES)
        for drop in profile.get(measure) or ()
        if drop.plausible and drop.change < 0 and drop.p_holm < SURE
    ]
    apart = [
        each
        for each in found
        if not here or (each.measure == CHANGES.name and _apart(each.what, explained, tested))
    ]
    return sorted(apart, key=lambda each: each.drop.p_holm)


def _lost(losses: Sequence[_Loss]) -> Finding:
    """That success is lost, though no flaw was found."""
    evidence = tuple(drop_evidence((each.run,), each.measure, each.what, each.drop) for each in losses)
    return Finding(Flaw.LOSS, Verdict.FOUND, Claim.PRESENT, None, evidence, losses[0].drop.p_holm)


def _certain(finding: Finding, losses: Sequence[_Loss]) -> Finding:
    """A finding that is there because the loss is certain among the changes of its kind, if not among all tests."""
    for loss in losses:
        same = loss.measure == CHANGES.name and finding.evidence and finding.evidence[0].measure in _COSTS
        if same and shown_by(loss.what) == (finding.flaw,):
            return replace(finding, verdict=Verdict.FOUND, claim=Claim.PRESENT, p=loss.drop.p_holm)
    return finding


def _apart(change: str, explained: Collection[str], tested: Collection[str]) -> bool:
    """Whether changes that were made together say something that no flaw does that was found or looked for."""
    flaws = set(shown_by(change))
    return len(flaws) > 1 and not flaws & set(explained) and not flaws <= set(tested)


def _nothing(findings: Sequence[Finding]) -> Finding:
    looked = [each for each in findings if each.verdict is Verdict.NOT_FOUND]
    if not looked:
        return Finding(Flaw.NOTHING, Verdict.CANNOT_TELL, Claim.UNTESTED, None, (), None)
    unseen = {
        finding.flaw: min(-each.interval.low for each in losses if each.interval is not None)
        for finding in looked
        if (losses := [each for each in finding.evidence if each.cost])
    }
    where = max(unseen, key=lambda flaw: unseen[flaw]) if unseen else None
    too_few = sum(each.claim is Claim.TOO_FEW for each in findings)
    detail = Unnoticed(len(looked), where, None if where is None else unseen[where], too_few)
    firsts = tuple(each.evidence[0] for each in looked)
    return Finding(Flaw.NOTHING, Verdict.FOUND, Claim.PRESENT, None, firsts, None, detail=detail)
