"""Diagnosis: what is wrong with a policy, in plain sentences made from the numbers.

    for finding in diagnose(profile(libero), profile(para), profile(pro)):
        print(finding.verdict, finding.sentence)

Each flaw is a hypothesis that a measure has tested against chance, on one side: only what is worse is a flaw.
What several runs have measured is taken together, and what is tested in all of them is one family (Holm). How
much of it there is, is said from the interval: *mostly* is more than half beyond doubt. A flaw that another
one brings about is *explained*, if that one is large enough to do so: whoever plays back what he has learnt
fails where things were moved, too. Where no run has an episode that could tell, or too few starts, the
sentence says what is lacking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from assay.measures.drops import Drop
from assay.measures.evidence import Evidence, Test, taken
from assay.measures.flaws import CONSEQUENCES, Flaw
from assay.measures.hypotheses import lacking, tests
from assay.measures.profile import Profile
from assay.measures.result import Missing, Result
from assay.measures.tabletop.reading import table_lacking, table_tests
from assay.stats.significance import SURE, holm

_LOSSES = ("changes.", "names.overall", "tabletop.against.", "tabletop.novelty.")
"""Measures that tell a loss against something."""


class Verdict(StrEnum):
    """What the runs say about a flaw."""

    FOUND = "found"
    EXPLAINED = "explained"
    """It is there, as a flaw that was found would have it."""
    NOT_FOUND = "not found"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class Finding(Result):
    """What the runs say about one flaw."""

    flaw: Flaw
    verdict: Verdict
    sentence: str
    evidence: tuple[Evidence, ...]
    """What was tested and is surest comes first."""
    p: float | None
    """One-sided, adjusted for everything that was tested (Holm); None where nothing was."""


def diagnose(*profiles: Profile) -> tuple[Finding, ...]:
    """What is wrong with one policy, from the profiles of its runs: one finding for each flaw.

    What is found comes first, the surest at the head; that nothing is found is a finding too.
    """
    tested = tests(profiles) + table_tests(profiles)
    adjusted = dict(zip(map(id, tested), holm([test.p for test in tested]), strict=True))
    best: dict[Flaw, Test] = {}
    found: list[Finding] = []
    for flaw in Flaw:
        about = [test for test in tested if test.flaw is flaw]
        mine = sorted(about, key=lambda test: (test.least_p >= SURE, test.p))
        if mine:
            found.append(_finding(mine, adjusted[id(mine[0])]))
            best[flaw] = mine[0]
        elif reason := lacking(flaw, profiles) or table_lacking(flaw, profiles):
            sentence = f"Cannot tell whether it {flaw.claim}, because {reason}."
            found.append(Finding(flaw, Verdict.CANNOT_TELL, sentence, (), None))
    here = {each.flaw: best[each.flaw] for each in found if each.verdict is Verdict.FOUND}
    found = [_explained(each, here) for each in found]
    if not here:
        found.append(_lost(profiles) or _nothing(found))
    order = list(Verdict)
    return tuple(sorted(found, key=lambda each: (order.index(each.verdict), each.p or 0.0)))


def _finding(tests: Sequence[Test], p: float) -> Finding:
    best = tests[0]
    claim, says = best.claim, best.evidence[0].says
    sentence = f"{claim[0].upper()}{claim[1:]}: {says}{best.more}."
    verdict = Verdict.FOUND
    if best.least_p >= SURE:
        sentence = f"Too few starts to tell whether it {best.flaw.claim}: {says}."
        verdict = Verdict.CANNOT_TELL
    elif p >= SURE or best.size.low <= 0 or abs(best.evidence[0].value) < best.least:
        shown = best.otherwise or f"No sure sign that it {best.flaw.claim}"
        verdict, sentence = Verdict.NOT_FOUND, f"{shown}: {says}."
    return Finding(best.flaw, verdict, sentence, tuple(each for test in tests for each in test.evidence), p)


def _explained(finding: Finding, here: Mapping[Flaw, Test]) -> Finding:
    causes = [
        cause
        for flaw, cause in here.items()
        if finding.flaw in CONSEQUENCES.get(flaw, ()) and finding.flaw in here
        if cause.covers(here[finding.flaw])
    ]
    if not causes:
        return finding
    sentence = f"{finding.sentence[:-1]}; that follows if it {causes[0].claim}."
    return replace(finding, verdict=Verdict.EXPLAINED, sentence=sentence)


def _lost(profiles: Sequence[Profile]) -> Finding | None:
    """A certain loss that no flaw explains: where several things are changed at once, for example."""
    certain: list[tuple[int, str, Drop]] = []
    for run, profile in enumerate(profiles):
        if not isinstance(profile.tabletop, Missing):
            continue  # each condition of tables is a flaw of its own, and a trifle is none
        for name in ("drops", "changes", "axes"):
            found = getattr(profile, name)
            certain += [
                (run, name, each)
                for each in (() if isinstance(found, Missing) else found)
                if each.plausible and each.change < 0 and each.p_holm < SURE
            ]
    if not certain:
        return None
    evidence = []
    for run, name, each in sorted(certain, key=lambda one: one[2].p_holm):
        (what,) = each.group.values()
        says = f"{each.both + each.only_perturbed:,} of {each.pairs:,} under {what}, "
        says += f"{100 * each.control:.0f} % of the same starts unchanged"
        evidence.append(taken((run,), f"{name}.{what}", says, each.change, each.interval, each.p / 2))
    claim = f"{Flaw.LOSS.claim[0].upper()}{Flaw.LOSS.claim[1:]}"
    sentence = f"{claim}: {evidence[0].says}; which flaw that is no test tells."
    p = min(each.p_holm for _, _, each in certain)
    return Finding(Flaw.LOSS, Verdict.FOUND, sentence, tuple(evidence), p)


def _nothing(findings: Sequence[Finding]) -> Finding:
    looked = [each for each in findings if each.verdict is Verdict.NOT_FOUND]
    if not looked:
        return Finding(Flaw.NOTHING, Verdict.CANNOT_TELL, "The runs have nothing that could tell.", (), None)
    unseen = {
        finding.flaw: min(-each.interval.low for each in drops if each.interval is not None)
        for finding in looked
        if (drops := [each for each in finding.evidence if each.measure.startswith(_LOSSES)])
    }
    many = f"{len(looked)} that were" if len(looked) > 1 else "one that was"
    sentence = f"No flaw was found, of the {many} looked for"
    if unseen:
        where, most = max(unseen.items(), key=lambda each: each[1])
        sentence += f"; a loss of up to {100 * most:.0f} points ({where}) could have gone unnoticed"
    firsts = tuple(each.evidence[0] for each in looked)
    return Finding(Flaw.NOTHING, Verdict.FOUND, f"{sentence}.", firsts, None)
