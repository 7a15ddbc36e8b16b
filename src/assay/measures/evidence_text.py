"""Descriptions of the evidence for findings, by the measure that provides it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from assay.measures.failure.starts import Ability
from assay.measures.findings import Claim, Evidence, Finding, Shows
from assay.measures.flaws import Degree, Flaw
from assay.measures.measure import MEASURES
from assay.measures.memory.memorisation import CalledBy, Calls
from assay.measures.result import attempt
from assay.measures.search import PatternKind
from assay.measures.views.wording import between, describe_change, listed, natural, percent, points
from assay.measures.world.curves import Onset
from assay.support.stats.intervals import Interval

MOST_TASKS = 4
"""Maximum number of tasks that are named individually."""
_MOST_CASES = 3
"""Maximum number of particular cases that are described individually."""
FORMS: Mapping[str, str] = MappingProxyType(
    {
        "full_stop": "a final full stop",
        "capital": "a capital first letter",
        "capitals": "all capitals",
        "task": 'a leading "Task:"',
        "quotes": "quotation marks",
        "blanks": "doubled blanks",
        "please": 'a leading "please"',
    }
)
"""Variant of spelling or punctuation of the same instruction -> its description."""
NOT_ASKED = "whether it follows a request for something else was not tested (condition counterfactual)"


def describe_evidence(finding: Finding) -> tuple[str, str]:
    """Describe the evidence for a finding, and return a caveat (may be empty)."""
    measure = finding.evidence[0].measure
    own = MEASURES[measure].wording if measure in MEASURES else None
    if own is not None:
        text = attempt(own, finding)
        if isinstance(text, tuple):
            return text
    return _BY_MEASURE.get(measure, _plain)(finding)


def format_counts(hits: int | None, count: int | None) -> str:
    """Format counts as ``k of n``."""
    return f"{hits:,} of {count:,}"


def _hits(evidence: Evidence) -> str:
    return format_counts(evidence.hits, evidence.count)


def _reference(evidence: Evidence) -> str:
    return format_counts(evidence.reference_hits, evidence.reference_count)


def format_share(share: float, interval: Interval | None) -> str:
    """Format a share with its interval."""
    return f"{percent(share)}, 95 % interval {between(interval, 100)}"


def format_difference(evidence: Evidence) -> str:
    """Format a difference in percentage points with its interval."""
    assert evidence.interval is not None
    low, high = points(evidence.interval.low), points(evidence.interval.high)
    return f"{points(evidence.value)} points, 95 % interval {low} to {high}"


def format_unperturbed(evidence: Evidence) -> str:
    """Format the unperturbed success: counts, or the share."""
    return percent(evidence.reference, 0) if evidence.reference_count is None else _reference(evidence)


def _plain(finding: Finding) -> tuple[str, str]:
    """Describe the evidence of measures without a description of their own."""
    first = finding.evidence[0]
    counts = f"{_hits(first)} " if first.count is not None else ""
    part = f" ({first.part})" if first.part else ""
    return f"{counts}by {first.measure}{part}: {format_share(first.value, first.interval)}", ""


def _memorisation(finding: Finding) -> tuple[str, str]:
    parts = {evidence.part: evidence for evidence in finding.evidence if evidence.measure == "memorisation"}
    moved, asked, nonsense = (parts.get(call) for call in (Calls.MOVED, Calls.ASKED, Calls.NONSENSE))
    instructed = asked or nonsense
    if finding.flaw == Flaw.MEMORISES and moved is not None:
        text = f"in {_hits(moved)} episodes with the object moved it repeated the control's trajectory"
        also = f", and in {_hits(instructed)} {_describe_request(finding, asked)}" if instructed else ""
        return text + also, _repeating_tasks(finding, Calls.MOVED)
    assert instructed is not None
    text = f"in {_hits(instructed)} episodes {_describe_request(finding, asked)} it repeated the control's trajectory"
    caveats = [_repeating_tasks(finding, Calls.ASKED if asked else Calls.NONSENSE)]
    if asked and nonsense:
        caveats.append(f"{_describe_request(finding, None)}, it did so in {_hits(nonsense)}")
    elif finding.claim is Claim.PRESENT:
        caveats.append(NOT_ASKED)
    if finding.claim is Claim.PRESENT:
        if moved is None or moved.interval is None:
            caveats.append("its use of vision was not tested")
        elif Degree.of(moved.interval) is Degree.RARELY:
            reacted = format_counts((moved.count or 0) - (moved.hits or 0), moved.count)
            caveats.append(f"it does use vision: {reacted} trajectories changed when the object moved")
    return text, "; ".join(filter(None, caveats))


def _repeating_tasks(finding: Finding, call: Calls) -> str:
    """Name the tasks in which trajectories are repeated; empty if these are many, or all tasks of the runs."""
    if finding.claim is not Claim.PRESENT or not isinstance(finding.detail, CalledBy):
        return ""
    judged, total = finding.detail.tasks.get(call, ()), finding.detail.of
    repeating = sorted((task for task in judged if task.alike), key=lambda task: -task.alike / task.count)
    if not repeating or len(repeating) >= total or len(repeating) > MOST_TASKS:
        return ""
    names = listed(f"{task.task} ({format_counts(task.alike, task.count)})" for task in repeating)
    if len(repeating) < len(judged):
        return f"all of them in {names}, of {len(judged)} judged tasks"
    return f"all of them in {names}, the only judged {'task' if len(repeating) == 1 else 'tasks'} of {total}"


def _describe_request(finding: Finding, asked: Evidence | None) -> str:
    """Describe the instruction that was given instead, with its conditions."""
    conditions = finding.detail.conditions if isinstance(finding.detail, CalledBy) else {}
    names = conditions.get(Calls.ASKED if asked else Calls.NONSENSE, ())
    text = "with a request for something else" if asked else "with a missing or nonsense instruction"
    return f"{text} ({listed(name.partition('/')[2] or name for name in names)})" if names else text


def _nonsense(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    name = first.part.partition("/")[2] or first.part
    text = f"{_hits(first)} episodes reach the task's goal with a missing or nonsense instruction ({name})"
    return text, NOT_ASKED if finding.claim is Claim.PRESENT else ""


def _names(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    parts = {evidence.part: evidence for evidence in rest if evidence.measure == "names"}
    text = f"{_hits(first)} succeed with other names, {_reference(first)} with all names kept"
    one, several = parts.pop("one", None), parts.pop("several", None)
    if finding.claim is not Claim.PRESENT:
        return text, ""
    if one and several:
        text += f" ({_hits(one)} with one changed, {_hits(several)} with several)"
    unknown = [
        f"the {part.part} ({_hits(part)}, {_reference(part)} with its name kept)"
        for part in parts.values()
        if part.shows is Shows.LOSS
    ]
    harmless = [f"the {part.part}" for part in parts.values() if part.shows is Shows.NO_HARM]
    caveats = [f"unknown: {listed(unknown)}"] if unknown else []
    caveats += [f"other names for {listed(harmless)} do no harm"] if harmless else []
    return text, "; ".join(caveats)


def _actions(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    text = f"{_hits(first)} succeed with the action phrased as {first.part}, {_reference(first)} otherwise"
    also = [
        f"{_hits(evidence)} as {evidence.part}"
        for evidence in rest
        if evidence.measure == "actions" and evidence.shows is Shows.LOSS
    ]
    return f"{text}, all names kept", listed(also) if also and finding.claim is Claim.PRESENT else ""


def _surface(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    counts = f"{_hits(first)} succeed, {format_unperturbed(first)} unperturbed"
    form = FORMS.get(first.part, first.part)
    if finding.claim is not Claim.PRESENT:
        return f"the worst of all forms is {form}: {counts}", ""
    also = [
        f"{FORMS.get(evidence.part, evidence.part)} ({points(evidence.value)})"
        for evidence in rest
        if evidence.shows is Shows.LOSS
    ]
    others = f"; further losses, in points: {listed(also)}" if also else ""
    cost = f"{form} alone costs {100 * -first.value:.0f} points"
    return f"{cost}: {counts} ({format_difference(first)}){others}", ""


def _cost(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    text = f"{_hits(first)} succeed {describe_change(first.part)}, {format_unperturbed(first)} unperturbed"
    if finding.claim is not Claim.PRESENT:
        return text, ""
    text += f" ({format_difference(first)})"
    if finding.flaw == Flaw.UNKNOWN_NAMES:
        return text, "names and wording change together and cannot be separated"
    if isinstance(onset := finding.detail, Onset):
        lost = ", ".join(format_counts(rate.successes, rate.count) for rate in onset.lost)
        kept = ""
        if onset.kept:
            counts = format_counts(onset.kept.successes, onset.kept.count)
            kept = f", still {counts} at {100 * onset.kept.distance:.0f} cm"
        return text, f"from {100 * onset.lost[0].distance:.0f} cm on ({lost}{kept})"
    return text, ""


def _other_tasks(finding: Finding) -> tuple[str, str]:
    texts = []
    for evidence in (evidence for evidence in finding.evidence if evidence.measure == "other_tasks"):
        usual = percent(evidence.reference, 0)
        if evidence.part == "new":
            texts.append(f"{_hits(evidence)} succeed with new goals, {usual} with the tasks' own")
        else:
            text = f"{_hits(evidence)} succeed when another task is requested"
            texts.append(f"{text}, {usual} in that task's own control")
    return texts[0], "; ".join(texts[1:])


def _cases(finding: Finding) -> tuple[str, str]:
    texts = []
    for evidence in finding.evidence[:_MOST_CASES]:
        task = f"{evidence.task} " if evidence.task else ""
        if evidence.measure == PatternKind.SAYING.name.lower():
            texts.append(
                f"{task}phrased as {evidence.part}: {_hits(evidence)} succeed, {_reference(evidence)} otherwise, all "
                "names kept"
            )
        else:
            usual = percent(evidence.reference, 0)
            texts.append(
                f"{task}{describe_change(evidence.part)}: {_hits(evidence)} succeed, {usual} unperturbed"
            )
    more = len(finding.evidence) - _MOST_CASES
    return "; ".join(texts), f"and {more} more" if more > 0 else ""


def _attribution(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    size = f" ({format_difference(first)})" if finding.claim is Claim.PRESENT else ""
    change = describe_change(first.part)
    return f"{_hits(first)} succeed {change}, {_reference(first)} without, all else equal{size}", ""


def _failures(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    least = "at least " if first.at_least and first.hits else ""
    return f"{least}{_hits(first)} unperturbed episodes fail close to the successful trajectory", ""


def _starts(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    text = f"{_hits(first)} unperturbed episodes fail ({format_share(first.value, first.interval)})"
    if isinstance(finding.detail, Ability):
        return text, describe_ability(finding.detail) if finding.claim is Claim.PRESENT else ""
    return text, getattr(finding.detail, "caveat", "")


def describe_ability(ability: Ability) -> str:
    """Describe the tasks that succeed unperturbed, and those that never do; empty for a single task."""
    if len(ability.tasks) < 2:
        return ""
    counts = {task.task: format_counts(task.successes, task.count) for task in ability.tasks}

    def name(tasks: Iterable[str]) -> str:
        ordered = sorted(tasks, key=natural)
        names = [f"{task} ({counts[task]})" for task in ordered[:MOST_TASKS]]
        more = [f"{len(ordered) - MOST_TASKS} others"] if len(ordered) > MOST_TASKS else []
        return listed([*names, *more])

    done = ability.done_tasks
    text = f"it performs {name(done)}" if done else "no task succeeds in half of its controls"
    never = [task for task in ability.never if task not in done]
    return f"{text}, never {name(never)}" if never else text


def _labels(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    label = first.part.replace("=", " is ")
    return f"{_hits(first)} succeed if {label}, {_reference(first)} otherwise", ""


_BY_MEASURE: Mapping[str, Callable[[Finding], tuple[str, str]]] = MappingProxyType(
    {
        "memorisation": _memorisation,
        "nonsense": _nonsense,
        "names": _names,
        "actions": _actions,
        "surface": _surface,
        "changes": _cost,
        "drops": _cost,
        "axes": _cost,
        "other_tasks": _other_tasks,
        "attribution": _attribution,
        "failures": _failures,
        "starts": _starts,
        "control": _starts,
        "labels": _labels,
        **{kind.name.lower(): _cases for kind in PatternKind},
    }
)
