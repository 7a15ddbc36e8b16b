"""Findings in words: claim, evidence, caveat. The only place where a diagnosis becomes English.

sentence(finding).text      # "Ignores the instruction: in 10 of 10 episodes with nonsense or ..."
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from assay.extensions.tabletop.measures.flaw_tests import ENOUGH
from assay.measures.enough import MoreSeeds
from assay.measures.evidence import Untested
from assay.measures.findings import Claim, Fall, Finding, Unnoticed, Verdict
from assay.measures.flaws import Degree, Flaw, OwnFlaw
from assay.measures.measure import MEASURES
from assay.measures.views.wording import describe_change, listed, p_phrase, plural
from assay.report.evidence_words import in_which_tasks, rests_on_nonsense, worded

CLAIMS: Mapping[str, str] = MappingProxyType(
    {
        Flaw.MEMORISES: "Memorised trajectories",
        Flaw.IGNORES_WORDS: "Ignores the instruction",
        Flaw.UNKNOWN_NAMES: "Fails when objects are called by other names",
        Flaw.WORDING: "Fails when the instruction is phrased differently",
        Flaw.SURFACE: "Fails when the same words are written differently",
        Flaw.OTHER_TASKS: "Does not do another task of the same scene when asked",
        Flaw.MISSES: "Execution errors",
        Flaw.UNABLE: "Fails unperturbed tasks",
        Flaw.POSITION: "Depends on where objects stand",
        Flaw.APPEARANCE: "Depends on how objects look",
        Flaw.OBJECT: "Depends on the look, size or category of the object",
        Flaw.CLUTTER: "Distracted by further objects",
        Flaw.ROOM: "Depends on background and lighting",
        Flaw.CAMERA: "Depends on the camera pose",
        Flaw.ROBOT: "Depends on the pose of the robot",
        Flaw.SENSES: "Not robust to disturbed observations or actions",
        Flaw.LATENCY: "Fails when its decisions come late",
        Flaw.NO_SECOND_LOOK: "Does not look again when things move during the episode",
        Flaw.NOT_LISTENING: "Does not follow a request that changes during the episode",
        Flaw.CANNOT_STOP: "Does not stop when the request is taken back",
        Flaw.INTERRUPTED: "Thrown off by changes during the episode that call for nothing",
        Flaw.KIND: "Worse at one kind of task",
        Flaw.UNTOLD: "Does the tasks without the prompt",
        Flaw.WORDLESS: "Does the tasks without the words of the prompt",
        Flaw.PICTURELESS: "Does the tasks without the images of the prompt",
        Flaw.DESCRIBED: "Does not find objects that are described instead of shown",
        Flaw.ORDER: "Depends on the order of the objects",
        Flaw.RETRIES: "Succeeds only by trying again",
        Flaw.DIFFICULTY: "Fails harder versions of the tasks",
        Flaw.NOVELTY: "Does not generalise to what is new",
        Flaw.CHANGE: "Depends on something else that was changed",
        Flaw.PARTICULAR: "Fails in particular cases",
        Flaw.LOSS: "Loses success under changes that should not matter",
        Flaw.NOTHING: "No flaw found",
    }
)
"""What is said of a policy that has the flaw."""
USUAL = "Told nothing, does the usual task"
"""What is said instead of *ignores the instruction* where nothing else was asked for."""
ABSENT: Mapping[str, str] = MappingProxyType(
    {
        Flaw.UNABLE: "Does the tasks",
        Flaw.UNTOLD: "Needs the prompt",
        Flaw.WORDLESS: "Needs the words of the prompt",
        Flaw.PICTURELESS: "Needs the images of the prompt",
        Flaw.WORDING: "Robust to paraphrases",
        Flaw.DESCRIBED: "Finds objects that are described instead of shown",
        Flaw.ORDER: "Does not depend on the order of the objects",
        Flaw.RETRIES: "Does not need to try again",
        Flaw.DIFFICULTY: "Robust to harder versions of the tasks",
        Flaw.NOVELTY: "Generalises to what is new",
    }
)
"""What is said where runs show that a flaw is not there."""
DEGREES = MappingProxyType(
    {Degree.MOSTLY: "", Degree.PARTLY: " (at least in part)", Degree.RARELY: " (in a minority of episodes)"}
)
LACKING: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("memorisation", Flaw.MEMORISES): "no run moves the object of the task by 10 cm or more",
        ("memorisation", Flaw.IGNORES_WORDS): "no run has instructions that do not ask for the task",
        ("nonsense", Flaw.IGNORES_WORDS): "no run has instructions that do not ask for the task",
        (
            "failures",
            Flaw.MISSES,
        ): "no run has controls whose failures can be compared with successful trajectories",
        (
            "other_tasks",
            Flaw.OTHER_TASKS,
        ): "no run asks for another task and has the control of that task too",
        ("starts", Flaw.UNABLE): "no run has a control that ended without an error",
        ("tabletop", Flaw.UNTOLD): "no run masks the prompt",
        ("tabletop", Flaw.WORDLESS): "no run masks the words of prompts",
        ("tabletop", Flaw.PICTURELESS): "no run masks the images of prompts",
        ("tabletop", Flaw.WORDING): "no run has paraphrased prompts",
        ("tabletop", Flaw.DESCRIBED): "no run describes what prompts show",
        ("tabletop", Flaw.ORDER): "no run permutes the order of objects",
        ("tabletop", Flaw.RETRIES): "no run has controls",
        ("tabletop", Flaw.DIFFICULTY): "no run has harder versions of the tasks",
        ("tabletop", Flaw.NOVELTY): "no run has the first level and another",
    }
)


_UNSURE = 3
"""Losses that are not certain and are shown at once."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A finding in words."""

    claim: str
    evidence: str
    caveat: str = ""

    @property
    def text(self) -> str:
        """All of it, as one sentence."""
        said = f"{self.claim}: {self.evidence}" if self.evidence else self.claim
        return f"{said}{f'; {self.caveat}' if self.caveat else ''}."


def sentence(finding: Finding) -> Sentence:
    """A finding in words."""
    if finding.flaw == Flaw.NOTHING:
        return nothing(finding)
    words = _words(finding.flaw)
    claim = USUAL if rests_on_nonsense(finding) else words.claim
    if finding.claim is Claim.UNTESTED:
        return Sentence(f"{claim}? Not tested", _lacking(finding.untested))
    evidence, caveat = worded(finding)
    if finding.claim is Claim.TOO_FEW:
        first = finding.evidence[0]
        floor = first.cost and not (first.reference or first.reference_hits)
        why = "Nothing succeeds that could be lost" if floor else "Too few starts to tell"
        return Sentence(f"{claim}? {why}", evidence)
    if finding.claim is Claim.NO_SIGN:
        return Sentence(f"{claim}? No significant evidence", evidence, caveat)
    if finding.claim is Claim.ABSENT:
        return Sentence(words.absent, evidence)
    if finding.flaw == Flaw.LOSS:
        return fallen(finding, claim, evidence)
    if finding.cause is not None:
        caveat = f"explained by: {_words(finding.cause).claim.lower()}"
    caveat = "; ".join(each for each in (caveat, in_which_tasks(finding.where)) if each)
    return Sentence(claim + _degree(finding), evidence, caveat)


def _degree(finding: Finding) -> str:
    """How much of it there is, where the numbers beside it do not say so: all is no part."""
    if finding.degree is None or abs(finding.evidence[0].value) >= 1 - 1e-9:
        return ""
    return DEGREES[finding.degree]


@dataclass(frozen=True, slots=True)
class SeedsWanted:
    """How many seeds would settle what is not certain: the one answer that a report gives."""

    more: MoreSeeds
    what: str
    """What they would settle."""
    several: bool = False
    """Whether that is several losses."""

    @property
    def text(self) -> str:
        """In words, without a stop at the end."""
        looks = "they are as large as they look" if self.several else "it is as large as it looks"
        return (
            f"With {plural(self.more.more, 'more seed')} {self.what} would be significant with a probability of 80 %, "
            f"if {looks}"
        )


def seeds_wanted(findings: Sequence[Finding]) -> SeedsWanted | None:
    """For the likeliest cause of a fall, else for the fall, else for all losses that were seen and are not certain.

    None where nothing is uncertain that a sensible number of seeds would settle.
    """
    lost = [each for each in findings if each.more is not None]
    for finding in findings:
        if finding.flaw == Flaw.NOTHING and isinstance(finding.detail, Fall):
            likely = [each for each in lost if each.flaw == finding.detail.likely]
            if not likely and finding.detail.more is not None:
                return SeedsWanted(finding.detail.more, "this fall")
            lost = likely or lost
    needs = [each.more for each in lost if each.more is not None]
    if not needs:
        return None
    most = max(needs, key=lambda each: each.needed)
    if len(needs) > 1:
        return SeedsWanted(most, "all losses that are not certain", several=True)
    return SeedsWanted(most, f"the loss {describe_change(lost[0].evidence[0].part)}")


def _lacking(untested: Untested | None) -> str:
    if untested is None:
        return "the runs have no episodes that would test it"
    if untested.too_few:
        return f"fewer than {ENOUGH} of the controls that could tell succeed"
    if untested.notes:  # the measure itself says why
        return "; ".join(untested.notes)
    return LACKING.get((untested.measure, untested.flaw)) or _words(untested.flaw).lacking


def _words(flaw: str) -> OwnFlaw:
    """What is said of a flaw: by Assay, or by the measure that brings it."""
    if flaw in CLAIMS:
        return OwnFlaw(flaw, CLAIMS[flaw], ABSENT.get(flaw, f"{CLAIMS[flaw]}? No"))
    own = (each for name in MEASURES for each in MEASURES[name].flaws if each.name == flaw)
    return next(own, OwnFlaw(flaw, flaw.capitalize(), f"{flaw.capitalize()}? No"))


def nothing(finding: Finding) -> Sentence:
    """That no flaw was found, and how large a one may be there still; or that so few starts cannot tell."""
    found = finding.detail
    if isinstance(found, Fall):
        return _too_few(found)
    if not isinstance(found, Unnoticed):
        return Sentence(
            "No flaw could be tested",
            "a test compares changed episodes with their controls, some of which must succeed",
        )
    claim = f"No flaw found, of {found.looked_for} tested"
    if found.too_few:
        claim += f"; {found.too_few} more cannot be told from so few starts"
    if found.flaw is None or found.loss is None:
        return Sentence(claim, "")
    about = _words(found.flaw).claim
    left = (
        f"a loss of up to {100 * found.loss:.0f} points is not excluded "
        f"(95 % intervals; the widest: {about[0].lower()}{about[1:]})"
    )
    return Sentence(claim, "", left)


def _too_few(found: Fall) -> Sentence:
    counts = f"{found.control_hits:,} of {found.control_count:,}", f"{found.hits:,} of {found.count:,}"
    fell = found.hits * found.control_count < found.control_hits * found.count
    starts = f"{plural(found.control_count, 'start')} {'is' if found.control_count == 1 else 'are'}"
    if found.telling < found.control_count:
        starts = f"{found.telling:,} of {plural(found.control_count, 'start')} can show a loss (the control succeeds),"
    said = f"Success fell from {counts[0]} to {counts[1]}"
    if not fell:
        said = f"No fall was seen ({counts[0]} unperturbed, {counts[1]} perturbed)"
    if found.likely is not None and found.likely_p is not None:
        about = _words(found.likely).claim
        likely = f"the likeliest is: {about[0].lower()}{about[1:]} ({p_phrase(found.likely_p)})"
        return Sentence(said, "", f"{starts} too few to name a cause; {likely}")
    return Sentence(said, "", f"{starts} too few to {'name a cause' if fell else 'find even a large one'}")


def fallen(finding: Finding, claim: str, evidence: str) -> Sentence:
    """That success falls over all changes, and whether one of them is behind it."""
    found, first = finding.detail, finding.evidence[0]
    if not isinstance(found, Fall) or first.part:  # one change only, or several at once
        return Sentence(claim, evidence, "no test tells which flaw that is")
    said = (
        f"{found.hits:,} of {found.count:,} succeed when something is changed, {found.control_hits:,} of "
        f"{found.control_count:,} unperturbed"
    )
    if found.costly:
        return Sentence(claim, said, f"costs most: {listed(found.costly)}")
    if found.alike_p is None:
        return Sentence(claim, said, "which change is behind it cannot be told")
    alike = f"no change can be told to cost more than another ({p_phrase(found.alike_p)})"
    return Sentence("Declines under any change alike", said, alike)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is wrong, in sentences; as they are shown."""

    found: tuple[str, ...]
    """What is said first: what was found, or why nothing was."""
    explained: tuple[str, ...]
    """Flaws that another one brings about."""
    unsure: tuple[str, ...]
    """Losses that were seen and are not certain."""
    others: tuple[str, ...]
    """What was tested and is not there, or is not certain."""
    in_brief: str
    """What was found, without the numbers."""
    seeds: SeedsWanted | None = None
    """How many seeds would settle what is not certain."""
    untested: Mapping[str, str] = field(default_factory=dict)
    """Flaws, by name, that nothing could tell -> why."""

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> Diagnosis:
        """Findings in the order in which they are told."""
        said: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
        untested: dict[str, str] = {}
        first, unsure = [], []
        for finding in findings:
            if finding.flaw == Flaw.NOTHING:
                first.append(sentence(finding))
            elif finding.untested is not None:
                untested[str(finding.flaw)] = _lacking(finding.untested)
            elif finding.more is not None:
                unsure.append(sentence(finding).text)
            else:
                said[finding.verdict].append(sentence(finding).text)
        rest = (*said[Verdict.NOT_FOUND], *said[Verdict.CANNOT_TELL])
        here = [
            sentence(each) for each in findings if each.verdict is Verdict.FOUND and each.flaw != Flaw.NOTHING
        ]
        brief = " ".join(f"{each.claim}." for each in (*first, *here))
        found = (*(each.text for each in first), *said[Verdict.FOUND])
        shown = 0 if first else _UNSURE  # where little is certain the headline says it for all of them
        rest = (*unsure[shown:], *rest)
        return cls(
            found,
            tuple(said[Verdict.EXPLAINED]),
            tuple(unsure[:shown]),
            rest,
            brief,
            seeds_wanted(findings),
            untested,
        )

    @property
    def not_tested(self) -> list[str]:
        """What was not tested, a line for each reason."""
        return not_tested([self.untested])


def not_tested(untested: Sequence[Mapping[str, str]], where: str = "") -> list[str]:
    """What none of several runs tests (flaw -> why, of each), a line for each reason that all of them have."""
    flaws: dict[str, list[str]] = {}
    for flaw in untested[0] if untested else ():
        reasons = {each.get(flaw) for each in untested}
        if None not in reasons:
            flaws.setdefault(f" ({reasons.pop()})" if len(reasons) == 1 else "", []).append(flaw)
    return [f"Not tested{where}: {', '.join(names)}{why}." for why, names in flaws.items()]
