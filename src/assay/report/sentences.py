"""Findings in words: claim, evidence, caveat. The only place where a diagnosis becomes English.

sentence(finding).text      # "Ignores the instruction: in 10 of 10 episodes with nonsense or ..."
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from assay.episodes.perturbation import TOGETHER
from assay.measures.diagnosis import Claim, Finding, Unnoticed, Verdict
from assay.measures.evidence import Evidence, Shows, Untested
from assay.measures.flaws import Degree, Flaw, OwnFlaw
from assay.measures.hypotheses import Onset
from assay.measures.measure import MEASURES, load
from assay.measures.tabletop.flaw_tests import ENOUGH, NothingMore
from assay.measures.tabletop.instruction_use import FIRST, TOLERATED
from assay.report.wording import between, listed, percent, points
from assay.stats.intervals import Interval

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
        Flaw.LOSS: "Loses success under changes that should not matter",
        Flaw.NOTHING: "No flaw found",
    }
)
"""What is said of a policy that has the flaw."""
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
CHANGED: Mapping[str, str] = MappingProxyType(
    {
        "wording": "with other wordings",
        "names": "with other names",
        "surface": "with the same words written differently",
        "task": "when another task is asked for",
        "position": "with objects elsewhere",
        "appearance": "with objects that look different",
        "object": "with objects of another size or category",
        "appearance+object": "with objects of another look, size or category",
        "clutter": "with further objects",
        "room": "with another background or lighting",
        "camera": "with the camera elsewhere",
        "robot": "with the robot elsewhere",
        "senses": "with disturbed observations or actions",
        "mask=instruction": "with the whole prompt masked",
        "instruction=other": "with the prompt of another task",
        "mask=language": "with the words masked",
        "gobbledygook=words": "with nonsense words",
        "gobbledygook=tokens": "with nonsense tokens",
        "mask=visual": "with the images masked",
        "paraphrase": "with paraphrased prompts",
        "referents=text": "with words for the images",
        "order=permuted": "with the order permuted",
        "difficulty=distracting": "with more distractors",
        "difficulty=extreme": "at extreme difficulty",
        "difficulty=extremely-distracting": "with more distractors at extreme difficulty",
    }
)
FORMS: Mapping[str, str] = MappingProxyType(
    {
        "full_stop": "a final full stop",
        "capital": "a capital first letter",
        "capitals": "capitals throughout",
        "task": 'a leading "Task:"',
        "quotes": "quotation marks",
        "blanks": "doubled blanks",
        "please": 'a leading "please"',
    }
)
"""What is changed of how a sentence is written."""
NEW = MappingProxyType({"L2": "new combinations", "L3": "new objects", "L4": "new tasks"})
LACKING: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("memorisation", Flaw.MEMORISES): "no run moves the object of the task by 10 cm or more",
        ("memorisation", Flaw.IGNORES_WORDS): "no run has instructions that do not ask for the task",
        ("nonsense", Flaw.IGNORES_WORDS): "no run has instructions that do not ask for the task",
        (
            "failures",
            Flaw.MISSES,
        ): "no run has controls whose failures can be compared with successful trajectories",
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
    if finding.flaw is Flaw.NOTHING:
        return _nothing(finding)
    words = _words(finding.flaw)
    claim = words.claim
    if finding.claim is Claim.UNTESTED:
        return Sentence(f"{claim}? Not tested", _lacking(finding.untested))
    evidence, caveat = _worded(finding)
    if finding.claim is Claim.TOO_FEW:
        return Sentence(f"{claim}? Too few starts to tell", evidence)
    if finding.claim is Claim.NO_SIGN:
        return Sentence(f"{claim}? No significant evidence", evidence)
    if finding.claim is Claim.ABSENT:
        return Sentence(words.absent, evidence)
    if finding.cause is not None:
        caveat = f"explained by: {_words(finding.cause).claim.lower()}"
    return Sentence(claim + (DEGREES[finding.degree] if finding.degree else ""), evidence, caveat)


def _lacking(untested: Untested | None) -> str:
    if untested is None:
        return "the runs have nothing that could tell"
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


def _nothing(finding: Finding) -> Sentence:
    found = finding.detail
    if not isinstance(found, Unnoticed):
        return Sentence("The runs have nothing that could tell", "")
    claim = f"No flaw found, of {found.looked_for} tested"
    if found.too_few:
        claim += f"; {found.too_few} more cannot be told from so few starts"
    if found.flaw is None or found.loss is None:
        return Sentence(claim, "")
    unseen = f"a loss of up to {100 * found.loss:.0f} points ({found.flaw}) could have gone unnoticed"
    return Sentence(claim, "", unseen)


def _worded(finding: Finding) -> tuple[str, str]:
    """The evidence in words, and a caveat."""
    first = finding.evidence[0]
    own = MEASURES[first.measure].wording if first.measure in MEASURES else None
    told: tuple[str, str] = (load(own) if own else _BY_MEASURE.get(first.measure, _plain))(finding)
    return told


def _counts(hits: int | None, count: int | None) -> str:
    return f"{hits:,} of {count:,}"


def _interval(share: float, interval: Interval | None) -> str:
    return f"{percent(share)}, 95 % interval {between(interval, 100)}"


def _difference(each: Evidence) -> str:
    assert each.interval is not None
    low, high = (points(end) for end in (each.interval.low, each.interval.high))
    return f"{points(each.value)} points, 95 % interval {low} to {high}"


def _unperturbed(each: Evidence) -> str:
    if each.reference_count is not None:
        return _counts(each.reference_hits, each.reference_count)
    return percent(each.reference, 0)


def _where(part: str) -> str:
    if part not in CHANGED and TOGETHER in part:
        return f"with {listed(part.split(TOGETHER))} changed together"
    return CHANGED.get(part, f"under {part}")


def _plain(finding: Finding) -> tuple[str, str]:
    """What is said of a measure that nobody here knows."""
    first = finding.evidence[0]
    counts = f"{_counts(first.hits, first.count)} " if first.count is not None else ""
    part = f" ({first.part})" if first.part else ""
    return f"{counts}by {first.measure}{part}: {_interval(first.value, first.interval)}", ""


def _repeated(finding: Finding) -> tuple[str, str]:
    parts = {each.part: each for each in finding.evidence if each.measure == "memorisation"}
    moved, told = parts.get("world"), parts.get("words")
    if finding.flaw is Flaw.MEMORISES and moved is not None:
        said = (
            f"in {_counts(moved.hits, moved.count)} episodes with the object moved it repeated the control's "
            "trajectory"
        )
        also = (
            f", and in {_counts(told.hits, told.count)} whose instruction does not ask for the task"
            if told
            else ""
        )
        return said + also, ""
    assert told is not None
    said = (
        f"in {_counts(told.hits, told.count)} episodes whose instruction does not ask for the task it repeated "
        "the control's trajectory"
    )
    if moved is None or moved.interval is None:
        return said, "whether it uses vision cannot be told"
    if Degree.of(moved.interval) is not Degree.RARELY or finding.verdict not in (
        Verdict.FOUND,
        Verdict.EXPLAINED,
    ):
        return said, ""
    changed = (moved.count or 0) - (moved.hits or 0)
    return (
        said,
        f"it does use vision: {_counts(changed, moved.count)} trajectories changed when the object moved",
    )


def _nonsense(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    return (
        f"{_counts(first.hits, first.count)} episodes reach the task's goal although the instruction does not ask "
        "for it",
        "",
    )


def _names(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    parts = {each.part: each for each in rest if each.measure == "names"}
    said = (
        f"{_counts(first.hits, first.count)} succeed with other names, "
        f"{_counts(first.reference_hits, first.reference_count)} with every name kept"
    )
    one, several = parts.pop("one", None), parts.pop("several", None)
    if finding.claim is not Claim.PRESENT:
        return said, ""
    if one and several:
        said += f" ({_counts(one.hits, one.count)} with one changed, "
        said += f"{_counts(several.hits, several.count)} with several)"
    unknown = [
        f"the {each.part} ({_counts(each.hits, each.count)}, "
        f"{_counts(each.reference_hits, each.reference_count)} with its name kept)"
        for each in parts.values()
        if each.shows is Shows.LOSS
    ]
    known = [f"the {each.part}" for each in parts.values() if each.shows is Shows.NO_HARM]
    caveats = [f"unknown: {listed(unknown)}"] if unknown else []
    caveats += [f"other names for {listed(known)} do no harm"] if known else []
    return said, "; ".join(caveats)


def _actions(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    said = (
        f"{_counts(first.hits, first.count)} succeed with the action said as {first.part}, "
        f"{_counts(first.reference_hits, first.reference_count)} said otherwise, all names kept"
    )
    also = [
        f"{_counts(each.hits, each.count)} as {each.part}"
        for each in rest
        if each.measure == "actions" and each.shows is Shows.LOSS
    ]
    return said, listed(also) if also and finding.claim is Claim.PRESENT else ""


def _surface(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    counts = f"{_counts(first.hits, first.count)} succeed, {_unperturbed(first)} unperturbed"
    form = FORMS.get(first.part, first.part)
    if finding.claim is not Claim.PRESENT:
        return f"of all forms {form} comes off worst: {counts}", ""
    also = [
        f"{FORMS.get(each.part, each.part)} ({points(each.value)})"
        for each in rest
        if each.shows is Shows.LOSS
    ]
    others = f"; further losses, in points: {listed(also)}" if also else ""
    costs = f"{form} alone costs {100 * -first.value:.0f} points"
    return f"{costs}: {counts} ({_difference(first)}){others}", ""


def _cost(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    said = (
        f"{_counts(first.hits, first.count)} succeed {_where(first.part)}, {_unperturbed(first)} unperturbed"
    )
    if finding.claim is not Claim.PRESENT:
        return said, ""
    if finding.flaw is Flaw.UNKNOWN_NAMES:
        return said, "names and wording change together and cannot be told apart"
    if finding.flaw is Flaw.LOSS:
        return said, "no test tells which flaw that is"
    if isinstance(found := finding.detail, Onset):
        lost = ", ".join(_counts(point.successes, point.count) for point in found.lost)
        kept = found.kept
        still = (
            f", still {_counts(kept.successes, kept.count)} at {100 * kept.distance:.0f} cm" if kept else ""
        )
        return said, f"from {100 * found.lost[0].distance:.0f} cm on ({lost}{still})"
    return said, ""


def _factor(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    return (
        f"{_counts(first.hits, first.count)} succeed {_where(first.part)}, "
        f"{_counts(first.reference_hits, first.reference_count)} without, all else alike",
        "",
    )


def _near(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    least = "at least " if first.at_least else ""
    counts = _counts(first.hits, first.count)
    return f"{least}{counts} unperturbed episodes fail close to the successful trajectory", ""


def _fails(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    said = f"{_counts(first.hits, first.count)} unperturbed episodes fail ({_interval(first.value, first.interval)})"
    if isinstance(finding.detail, NothingMore):
        why = "it does not do the tasks" if finding.detail.unable else "too few episodes succeed"
        return said, f"{why}, so nothing more can be told"
    return said, ""


def _kind(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    return (
        f"{_counts(first.hits, first.count)} succeed where {first.part.replace('=', ' is ')}, "
        f"{_counts(first.reference_hits, first.reference_count)} elsewhere",
        "",
    )


def _others(rest: Iterable[Evidence]) -> str:
    """Other conditions of the same flaw, in brief."""
    return "".join(f"; {_counts(each.hits, each.count)} {_where(each.part)}" for each in rest)


def _kept(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    said = (
        f"{_where(first.part)} it keeps {_counts(first.hits, first.count)} successes "
        f"({_interval(first.value, first.interval)}){_others(rest)}"
    )
    return said, f"{100 * TOLERATED:.0f} % may be chance" if finding.claim is Claim.PRESENT else ""


def _paired(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    return (
        f"{_counts(first.hits, first.count)} succeed {_where(first.part)}, {_unperturbed(first)} unperturbed "
        f"({_difference(first)}){_others(rest)}",
        "",
    )


def _again(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    straight = (first.count or 0) - (first.hits or 0)
    return (
        f"{_counts(first.hits, first.count)} successes took more than the fewest actions "
        f"({_interval(first.value, first.interval)}; sweeps left out): "
        f"{_counts(first.reference_hits, first.reference_count)} succeed with mistakes allowed, {straight:,} without",
        "",
    )


def _novel(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    others = "" if first.same_tasks else ", with other tasks, which may be easier"
    return (
        f"{_level(first)}, {percent(first.reference)} at {FIRST}{others} ({_difference(first)})"
        + "".join(f"; {_level(each)}" for each in rest),
        "",
    )


def _level(each: Evidence) -> str:
    return f"{percent(each.share)} at {each.part} ({NEW.get(each.part, 'new')})"


_Words = Callable[[Finding], tuple[str, str]]
_BY_MEASURE: Mapping[str, _Words] = MappingProxyType(
    {
        "memorisation": _repeated,
        "nonsense": _nonsense,
        "names": _names,
        "actions": _actions,
        "surface": _surface,
        "changes": _cost,
        "drops": _cost,
        "axes": _cost,
        "attribution": _factor,
        "failures": _near,
        "starts": _fails,
        "control": _fails,
        "labels": _kind,
    }
)
_ON_TABLES: Mapping[str, _Words] = MappingProxyType(
    {
        Flaw.UNTOLD: _kept,
        Flaw.WORDLESS: _kept,
        Flaw.PICTURELESS: _kept,
        Flaw.WORDING: _paired,
        Flaw.DESCRIBED: _paired,
        Flaw.ORDER: _paired,
        Flaw.DIFFICULTY: _paired,
        Flaw.RETRIES: _again,
        Flaw.NOVELTY: _novel,
    }
)
"""How the evidence of runs on tables is told."""


def table_wording(finding: Finding) -> tuple[str, str]:
    """The evidence of a run on tables, and a caveat."""
    return _ON_TABLES[finding.flaw](finding)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is wrong, in sentences; as they are shown."""

    found: tuple[str, ...]
    explained: tuple[str, ...]
    """Flaws that another one brings about."""
    others: tuple[str, ...]
    """What was tested and is not there, or cannot be told."""
    in_brief: str
    """What was found, without the numbers."""

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> Diagnosis:
        """Findings in the order in which they are told."""
        said: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
        untested: dict[str, list[str]] = {}
        for finding in findings:
            if finding.untested is not None:
                untested.setdefault(_lacking(finding.untested), []).append(_words(finding.flaw).claim)
            else:
                said[finding.verdict].append(sentence(finding).text)
        left = [f"Not tested: {'? '.join(claims)}? Reason: {why}." for why, claims in untested.items()]
        rest = (*said[Verdict.NOT_FOUND], *said[Verdict.CANNOT_TELL], *left)
        brief = " ".join(f"{sentence(each).claim}." for each in findings if each.verdict is Verdict.FOUND)
        return cls(tuple(said[Verdict.FOUND]), tuple(said[Verdict.EXPLAINED]), rest, brief)
