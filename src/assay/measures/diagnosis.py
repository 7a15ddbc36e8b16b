"""Diagnosis: what is wrong with a policy, in plain sentences made from the numbers.

    for finding in diagnose(profile(libero), profile(para), profile(pro)):
        print(finding.verdict, finding.sentence)

Each flaw is a hypothesis that a measure has tested against chance. What is tested in all runs together is one
family (Holm). How much of it there is, is said from the interval: *mostly* is more than half beyond doubt. A
flaw that another one brings about is *explained*, if that one is large enough to do so: whoever plays back
what he has learnt fails where things were moved, too. Where no run has an episode that could tell, the
sentence says what is lacking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from assay.measures.flaws import CONSEQUENCES, Flaw
from assay.measures.hypotheses import SURE, Evidence, Test, lacking, tests
from assay.measures.profile import Profile
from assay.measures.result import Result
from assay.measures.significance import holm

_LOSSES = ("changes.", "names.overall")
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
    """Adjusted for everything that was tested (Holm); None where nothing was."""


def diagnose(*profiles: Profile) -> tuple[Finding, ...]:
    """What is wrong with one policy, from the profiles of its runs: one finding for each flaw.

    What is found comes first, the surest at the head; that nothing is found is a finding too.
    """
    tested = tests(profiles)
    adjusted = dict(zip(map(id, tested), holm([test.p for test in tested]), strict=True))
    best: dict[Flaw, Test] = {}
    found: list[Finding] = []
    for flaw in Flaw:
        mine = sorted((test for test in tested if test.flaw is flaw), key=lambda test: test.p)
        if mine:
            found.append(_finding(mine, adjusted[id(mine[0])]))
            best[flaw] = mine[0]
        elif reason := lacking(flaw, profiles):
            sentence = f"Cannot tell whether it {flaw.claim}, because {reason}."
            found.append(Finding(flaw, Verdict.CANNOT_TELL, sentence, (), None))
    here = {each.flaw: best[each.flaw] for each in found if each.verdict is Verdict.FOUND}
    found = [_explained(each, here) for each in found]
    if not here:
        found.append(_nothing(found))
    order = list(Verdict)
    return tuple(sorted(found, key=lambda each: (order.index(each.verdict), each.p or 0.0)))


def _finding(tests: Sequence[Test], p: float) -> Finding:
    best = tests[0]
    claim, says = best.claim, best.evidence[0].says
    sentence = f"{claim[0].upper()}{claim[1:]}: {says}{best.more}."
    verdict = Verdict.FOUND
    if p >= SURE or best.size.low <= 0:
        verdict, sentence = Verdict.NOT_FOUND, f"No sure sign that it {best.flaw.claim}: {says}."
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
