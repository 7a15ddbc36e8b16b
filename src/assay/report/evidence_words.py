"""The evidence of findings in words: what each measure's numbers say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from assay.extensions.tabletop.measures.instruction_use import NothingMore
from assay.measures.ability import Ability
from assay.measures.evidence import Evidence, Shows
from assay.measures.findings import Claim, Finding, Where
from assay.measures.flaws import Degree, Flaw
from assay.measures.hypotheses import CalledBy, Onset
from assay.measures.measure import MEASURES, load
from assay.measures.memory.memorisation import Calls
from assay.measures.search import Kind
from assay.measures.views.wording import between, describe_change, listed, natural, p_phrase, percent, points
from assay.support.stats.intervals import Interval
from assay.support.stats.significance import SURE

_TASKS = 4
"""Tasks that are named one by one."""
_CASES = 3
"""Particular cases that are told one by one."""
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


NOT_ASKED = "whether it follows a request for something else was not tested (condition counterfactual)"


def worded(finding: Finding) -> tuple[str, str]:
    """The evidence in words, and a caveat."""
    first = finding.evidence[0]
    own = MEASURES[first.measure].wording if first.measure in MEASURES else None
    told: tuple[str, str] = (load(own) if own else _BY_MEASURE.get(first.measure, _plain))(finding)
    return told


def counted(hits: int | None, count: int | None) -> str:
    """So many of so many."""
    return f"{hits:,} of {count:,}"


def share_said(share: float, interval: Interval | None) -> str:
    """A share with its interval."""
    return f"{percent(share)}, 95 % interval {between(interval, 100)}"


def difference_said(each: Evidence) -> str:
    """A difference in points with its interval."""
    assert each.interval is not None
    low, high = (points(end) for end in (each.interval.low, each.interval.high))
    return f"{points(each.value)} points, 95 % interval {low} to {high}"


def unperturbed_said(each: Evidence) -> str:
    """What succeeds with nothing changed: counts, or the share."""
    if each.reference_count is not None:
        return counted(each.reference_hits, each.reference_count)
    return percent(each.reference, 0)


def _plain(finding: Finding) -> tuple[str, str]:
    """What is said of a measure that nobody here knows."""
    first = finding.evidence[0]
    counts = f"{counted(first.hits, first.count)} " if first.count is not None else ""
    part = f" ({first.part})" if first.part else ""
    return f"{counts}by {first.measure}{part}: {share_said(first.value, first.interval)}", ""


def _repeated(finding: Finding) -> tuple[str, str]:
    parts = {each.part: each for each in finding.evidence if each.measure == "memorisation"}
    moved, asked, mute = (parts.get(each) for each in (Calls.MOVED, Calls.ASKED, Calls.NONSENSE))
    told = asked or mute
    if finding.flaw is Flaw.MEMORISES and moved is not None:
        said = (
            f"in {counted(moved.hits, moved.count)} episodes with the object moved it repeated the control's "
            "trajectory"
        )
        also = f", and in {counted(told.hits, told.count)} {_told_as(finding, asked)}" if told else ""
        return said + also, _by_heart(finding, Calls.MOVED)
    assert told is not None
    said = (
        f"in {counted(told.hits, told.count)} episodes {_told_as(finding, asked)} it repeated the control's "
        "trajectory"
    )
    caveats = [where] if (where := _by_heart(finding, Calls.ASKED if asked else Calls.NONSENSE)) else []
    if asked and mute:
        caveats.append(f"{_told_as(finding, None)}, it did so in {counted(mute.hits, mute.count)}")
    elif finding.claim is Claim.PRESENT:
        caveats.append(NOT_ASKED)
    if finding.claim is not Claim.PRESENT:
        return said, "; ".join(caveats)
    if moved is None or moved.interval is None:
        caveats.append("whether it uses vision cannot be told")
    elif Degree.of(moved.interval) is Degree.RARELY:
        changed = (moved.count or 0) - (moved.hits or 0)
        caveats.append(
            f"it does use vision: {counted(changed, moved.count)} trajectories changed when the object moved"
        )
    return said, "; ".join(caveats)


def _by_heart(finding: Finding, call: Calls) -> str:
    """In which tasks trajectories are repeated, where that is not in every task of the runs."""
    if finding.claim is not Claim.PRESENT or not isinstance(finding.detail, CalledBy):
        return ""
    judged = finding.detail.tasks.get(call, ())
    here = sorted((each for each in judged if each.alike), key=lambda each: -each.alike / each.count)
    others = [each for each in judged if not each.alike]
    if not here or len(here) >= finding.detail.of or len(here) > _TASKS:
        return ""
    said = f"all of them in {listed(f'{each.task} ({counted(each.alike, each.count)})' for each in here)}"
    if others:
        return f"{said}, of {len(judged)} tasks that could be judged"
    return f"{said}, the only {'task' if len(here) == 1 else 'tasks'} of {finding.detail.of} that could be judged"


def _told_as(finding: Finding, asked: Evidence | None) -> str:
    """What was said instead of the instruction, with the conditions that say it."""
    found = finding.detail.conditions if isinstance(finding.detail, CalledBy) else {}
    names = found.get(Calls.ASKED if asked else Calls.NONSENSE, ())
    said = "asked for something else" if asked else "told nothing or nonsense"
    return f"{said} ({listed(name.partition('/')[2] or name for name in names)})" if names else said


def rests_on_nonsense(finding: Finding) -> bool:
    """Whether what is said of listening rests on nonsense alone: whoever hears nothing may well do the usual."""
    first = finding.evidence[0] if finding.evidence else None
    return (
        finding.flaw == Flaw.IGNORES_WORDS
        and first is not None
        and (first.measure == "nonsense" or first.part == Calls.NONSENSE)
    )


def _nonsense(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    name = first.part.partition("/")[2] or first.part
    said = (
        f"{counted(first.hits, first.count)} episodes reach the task's goal told nothing or nonsense ({name})"
    )
    return said, NOT_ASKED if finding.claim is Claim.PRESENT else ""


def _names(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    parts = {each.part: each for each in rest if each.measure == "names"}
    said = (
        f"{counted(first.hits, first.count)} succeed with other names, "
        f"{counted(first.reference_hits, first.reference_count)} with every name kept"
    )
    one, several = parts.pop("one", None), parts.pop("several", None)
    if finding.claim is not Claim.PRESENT:
        return said, ""
    if one and several:
        said += f" ({counted(one.hits, one.count)} with one changed, "
        said += f"{counted(several.hits, several.count)} with several)"
    unknown = [
        f"the {part.part} ({counted(part.hits, part.count)}, "
        f"{counted(part.reference_hits, part.reference_count)} with its name kept)"
        for part in parts.values()
        if part.shows is Shows.LOSS
    ]
    known = [f"the {part.part}" for part in parts.values() if part.shows is Shows.NO_HARM]
    caveats = [f"unknown: {listed(unknown)}"] if unknown else []
    caveats += [f"other names for {listed(known)} do no harm"] if known else []
    return said, "; ".join(caveats)


def _actions(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    said = (
        f"{counted(first.hits, first.count)} succeed with the action said as {first.part}, "
        f"{counted(first.reference_hits, first.reference_count)} said otherwise, all names kept"
    )
    also = [
        f"{counted(each.hits, each.count)} as {each.part}"
        for each in rest
        if each.measure == "actions" and each.shows is Shows.LOSS
    ]
    return said, listed(also) if also and finding.claim is Claim.PRESENT else ""


def _surface(finding: Finding) -> tuple[str, str]:
    first, *rest = finding.evidence
    counts = f"{counted(first.hits, first.count)} succeed, {unperturbed_said(first)} unperturbed"
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
    return f"{costs}: {counts} ({difference_said(first)}){others}", ""


def _cost(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    hits = counted(first.hits, first.count)
    said = f"{hits} succeed {describe_change(first.part)}, {unperturbed_said(first)} unperturbed"
    if finding.claim is not Claim.PRESENT:
        return said, ""
    said += f" ({difference_said(first)})"
    if finding.flaw is Flaw.UNKNOWN_NAMES:
        return said, "names and wording change together and cannot be told apart"
    if isinstance(found := finding.detail, Onset):
        lost = ", ".join(counted(point.successes, point.count) for point in found.lost)
        kept = found.kept
        still = (
            f", still {counted(kept.successes, kept.count)} at {100 * kept.distance:.0f} cm" if kept else ""
        )
        return said, f"from {100 * found.lost[0].distance:.0f} cm on ({lost}{still})"
    return said, ""


def in_which_tasks(where: Where | None) -> str:
    """In which tasks a change costs success; empty where that is all alike, or there is but one."""
    if where is None or where.uneven_p is None or where.uneven_p >= SURE:
        return ""
    if not where.tasks:
        return f"not in all of {where.of} tasks alike ({p_phrase(where.uneven_p)})"
    named = (
        f"{each.task} ({percent(each.control, 0)} to {percent(each.perturbed, 0)})"
        for each in sorted(where.tasks, key=lambda each: each.perturbed - each.control)[:_TASKS]
    )
    more = len(where.tasks) - _TASKS
    return f"above all in {listed([*named, *([f'{more} others'] if more > 0 else [])])}, of {where.of} tasks"


def _asked(finding: Finding) -> tuple[str, str]:
    said = []
    for each in finding.evidence:
        if each.measure == "other_tasks" and each.part == "new":
            said.append(
                f"{counted(each.hits, each.count)} succeed with goals that no task has, "
                f"{percent(each.reference, 0)} with the tasks' own"
            )
        elif each.measure == "other_tasks":
            said.append(
                f"{counted(each.hits, each.count)} succeed when another task is asked for, "
                f"{percent(each.reference, 0)} in that task's own control"
            )
    return said[0], "; ".join(said[1:])


def _cases(finding: Finding) -> tuple[str, str]:
    said = []
    for each in finding.evidence[:_CASES]:
        place = f"{each.task} " if each.task else ""
        if each.measure == Kind.SAYING.name.lower():
            said.append(
                f"{place}said as {each.part}: {counted(each.hits, each.count)} succeed, "
                f"{counted(each.reference_hits, each.reference_count)} said otherwise, all names kept"
            )
        else:
            said.append(
                f"{place}{describe_change(each.part)}: {counted(each.hits, each.count)} succeed, "
                f"{percent(each.reference, 0)} unperturbed"
            )
    more = len(finding.evidence) - _CASES
    also = f"and {more} more" if more > 0 else ""
    return "; ".join(said), also


def _factor(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    size = f" ({difference_said(first)})" if finding.claim is Claim.PRESENT else ""
    return (
        f"{counted(first.hits, first.count)} succeed {describe_change(first.part)}, "
        f"{counted(first.reference_hits, first.reference_count)} without, all else alike{size}",
        "",
    )


def _near(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    least = "at least " if first.at_least and first.hits else ""
    counts = counted(first.hits, first.count)
    return f"{least}{counts} unperturbed episodes fail close to the successful trajectory", ""


def _fails(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    said = f"{counted(first.hits, first.count)} unperturbed episodes fail ({share_said(first.value, first.interval)})"
    if isinstance(finding.detail, NothingMore):
        why = "it does not do the tasks" if finding.detail.unable else "too few episodes succeed"
        return said, f"{why}, so nothing more can be told"
    if isinstance(finding.detail, Ability) and finding.claim is Claim.PRESENT:
        return said, able_tasks(finding.detail)
    return said, ""


def able_tasks(found: Ability) -> str:
    """Which tasks are done with nothing changed, and which never; empty for a single task."""
    if len(found.tasks) < 2:
        return ""
    counts = {task.task: counted(task.successes, task.count) for task in found.tasks}

    def some(names: Iterable[str]) -> str:
        every = sorted(names, key=natural)
        shown = [f"{name} ({counts[name]})" for name in every[:_TASKS]]
        return listed([*shown, *([f"{len(every) - _TASKS} others"] if len(every) > _TASKS else [])])

    said = [f"it does {some(found.done)}"] if found.done else ["it does no task in half of its controls"]
    never = [name for name in found.never if name not in found.done]
    said += [f"never {some(never)}"] if never else []
    return ", ".join(said)


def _kind(finding: Finding) -> tuple[str, str]:
    first = finding.evidence[0]
    return (
        f"{counted(first.hits, first.count)} succeed where {first.part.replace('=', ' is ')}, "
        f"{counted(first.reference_hits, first.reference_count)} elsewhere",
        "",
    )


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
        "other_tasks": _asked,
        "attribution": _factor,
        "failures": _near,
        "starts": _fails,
        "control": _fails,
        "labels": _kind,
        **{kind.name.lower(): _cases for kind in Kind},
    }
)
