"""What a diagnosis tests: each flaw as a hypothesis about a run, with the numbers that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scipy import stats

from assay.measures.changes import Change
from assay.measures.curves import Curve
from assay.measures.drops import Drop
from assay.measures.flaws import Flaw
from assay.measures.intervals import Interval, wilson_interval
from assay.measures.memorisation import Index, Memorisation
from assay.measures.names import NameGap
from assay.measures.nearness import Failures
from assay.measures.profile import Profile
from assay.measures.rates import Rate
from assay.measures.result import Missing, Result

SURE = 0.05
"""The p below which something is more than chance."""
MANY = 10
"""Tasks without which a kind of task cannot be told from a task."""
TOLERATED = 0.05
"""The share of unchanged episodes, or of nonsense obeyed, that is nobody's fault."""

_DROPS = {
    Change.WORDING: (Flaw.WORDING, "when the words are others"),
    Change.TASK: (Flaw.OTHER_TASKS, "when another task is asked for"),
    Change.POSITION: (Flaw.POSITION, "when things stand elsewhere"),
    Change.APPEARANCE: (Flaw.APPEARANCE, "when the thing looks different"),
    Change.OBJECT: (Flaw.OBJECT, "when the thing is of another size or kind"),
    Change.CLUTTER: (Flaw.CLUTTER, "with further things about"),
    Change.ROOM: (Flaw.ROOM, "in another room or light"),
    Change.CAMERA: (Flaw.CAMERA, "with the camera elsewhere"),
    Change.ROBOT: (Flaw.ROBOT, "with the robot elsewhere"),
    Change.SENSES: (Flaw.SENSES, "with disturbed senses"),
}
_LACKING = {
    Flaw.MEMORISES: "no run moves what the task is about by 10 cm or more",
    Flaw.IGNORES_WORDS: "no run has words that mean nothing or something else",
    Flaw.UNKNOWN_NAMES: "no run has wordings that keep the names and others that change them",
    Flaw.MISSES: "no run has a control, and failures beside successes in an unchanged world",
    Flaw.UNABLE: "no run has a control",
} | {
    flaw: f"no run shows, against controls that succeed, what happens {where}"
    for flaw, where in _DROPS.values()
}


@dataclass(frozen=True, slots=True)
class Evidence(Result):
    """A number that a finding rests on."""

    run: int
    """Which of the profiles, from 0."""
    measure: str
    """Where it is in the profile: ``changes.position``, ``memorisation.world``, ..."""
    says: str
    """In words, with counts."""
    value: float
    interval: Interval | None
    p: float | None
    """Before it was adjusted; None for what was not tested."""


@dataclass(frozen=True, slots=True)
class Test:
    """A flaw as a hypothesis about one run."""

    flaw: Flaw
    evidence: tuple[Evidence, ...]
    """What was tested first."""
    p: float
    claim: str = ""
    """What such a policy does, where the run tells more than the flaw's own claim."""
    more: str = ""
    """What else the run tells, if the flaw is found: a clause."""


def tests(profiles: Sequence[Profile]) -> list[Test]:
    """Everything that the runs can test."""
    found = [test for run, each in enumerate(profiles) for test in _of_run(run, each)]
    return found + list(_unchanged(profiles))


def lacking(flaw: Flaw, profiles: Sequence[Profile]) -> str:
    """Why the runs cannot tell whether there is a flaw; empty if nobody asked."""
    reason = _LACKING.get(flaw, "")
    if flaw in (Flaw.MEMORISES, Flaw.IGNORES_WORDS):
        reasons = [each.memorisation.missing for each in profiles if isinstance(each.memorisation, Missing)]
        told = [each.removeprefix("memorisation: ") for each in dict.fromkeys(reasons)]
        return f"{reason} ({'; '.join(told)})" if told else reason
    return reason


def _of_run(run: int, profile: Profile) -> Iterator[Test]:
    if isinstance(profile.memorisation, Memorisation):
        yield from _memory(run, profile.memorisation)
    elif heard := _obeyed_nonsense(run, profile):
        yield heard
    if not isinstance(profile.names, Missing):
        yield _names(run, profile.names.overall, profile.names.nouns)
    if not isinstance(profile.changes, Missing):
        for drop in profile.changes:
            change = Change(str(drop.group["change"]))
            if change in _DROPS and drop.control > 0:
                flaw, where = _DROPS[change]
                more = _distance(profile.displacement) if change is Change.POSITION else ""
                yield Test(flaw, (_fall(run, drop, where),), _one_sided(drop), more=more)
    yield from _kinds(run, profile)


def _memory(run: int, found: Memorisation) -> Iterator[Test]:
    axes = {each.group: each for each in found.axes}
    words, world = axes.get("words"), axes.get("world")
    said = "the words ask for nothing or for something else"
    if world is not None:
        evidence = [_alike(run, world, "the thing was moved")]
        if words is not None:
            evidence.append(_alike(run, words, said))
        also = f", and {words.alike} of {words.count} although {said}" if words is not None else ""
        yield Test(Flaw.MEMORISES, tuple(evidence), world.p, more=also)
    if words is not None:
        sees = "; whether it sees the world cannot be told"
        if world is not None:
            followed = f"{world.count - world.alike} of {world.count}"
            sees = (
                f"; it does look: {followed} paths follow a thing that was moved" if world.p >= SURE else ""
            )
        yield Test(Flaw.IGNORES_WORDS, (_alike(run, words, said),), words.p, more=sees)


def _alike(run: int, index: Index, although: str) -> Evidence:
    says = f"{index.alike} of {index.count} paths are the control's although {although}"
    return Evidence(run, f"memorisation.{index.group}", says, index.index, index.interval, index.p)


def _obeyed_nonsense(run: int, profile: Profile) -> Test | None:
    """Where there are no paths: success although words do not ask for it, in the condition with least."""
    if isinstance(profile.drops, Missing):
        return None
    mute = [each for each in profile.drops if not each.plausible and each.family.startswith("words")]
    if not mute or all(each.control == 0 for each in mute):
        return None
    drop = min(mute, key=lambda each: each.perturbed)
    hits = drop.both + drop.only_perturbed
    p = float(stats.binomtest(hits, drop.pairs, TOLERATED, alternative="greater").pvalue)
    says = f"{hits} of {drop.pairs} reach the task's goal although the words do not ask for it"
    interval = wilson_interval(drop.perturbed, drop.pairs)
    evidence = Evidence(run, "drops", says, drop.perturbed, interval, p)
    return Test(Flaw.IGNORES_WORDS, (evidence,), p)


def _names(run: int, overall: NameGap, nouns: Sequence[NameGap]) -> Test:
    evidence = [_gap(run, overall), *(_gap(run, each) for each in nouns)]
    unknown = [f"the {each.noun}" for each in nouns if each.interval.high < 0]
    known = [f"the {each.noun}" for each in nouns if each.interval.low > -0.5 and each.change > -0.25]
    claim = f"knows the task but not the word for {_listed(unknown)}" if unknown else ""
    more = f"; other names for {_listed(known)} do no harm" if unknown and known else ""
    return Test(Flaw.UNKNOWN_NAMES, tuple(evidence), _fallen(overall.change, overall.p), claim, more)


def _gap(run: int, gap: NameGap) -> Evidence:
    what = f"name of the {gap.noun}" if gap.noun else "names"
    says = (
        f"{gap.kept} of {gap.kept_count} with the {what} kept, "
        f"{gap.changed} of {gap.changed_count} with {'it' if gap.noun else 'them'} changed"
    )
    measure = f"names.{gap.noun or 'overall'}"
    return Evidence(run, measure, says, gap.change, gap.interval, _fallen(gap.change, gap.p))


def _fall(run: int, drop: Drop, where: str) -> Evidence:
    now, before = drop.both + drop.only_perturbed, drop.both + drop.only_control
    usual = f"{before} of {drop.pairs}" if drop.pairs == drop.starts else f"{100 * drop.control:.0f} %"
    says = f"{now} of {drop.pairs} {where}, {usual} when nothing is changed"
    return Evidence(
        run, f"changes.{drop.group['change']}", says, drop.change, drop.interval, _one_sided(drop)
    )


def _one_sided(drop: Drop) -> float:
    return _fallen(drop.change, drop.p)


def _fallen(change: float, p: float) -> float:
    """The p of a fall alone, from that of a change either way: a rise is no flaw."""
    return p / 2 if change < 0 else 1 - p / 2


def _distance(curve: Curve | Missing) -> str:
    """From which distance on success is below that of the control beyond doubt."""
    if isinstance(curve, Missing) or curve.steps[0].rate.interval is None:
        return ""
    usual = curve.steps[0].rate.interval.low
    before = ""
    for step in curve.steps[1:]:
        rate = step.rate
        counts = f"{rate.successes} of {rate.count}"
        if rate.interval is not None and rate.interval.high < usual:
            return f"; from {100 * step.at:.0f} cm on ({counts}{before})"
        before = f", still {counts} at {100 * step.at:.0f} cm"
    return ""


def _kinds(run: int, profile: Profile) -> Iterator[Test]:
    """The label whose tasks fall behind the others of its family most clearly; if there are many tasks."""
    if len({each.group["task"] for each in profile.tasks}) < MANY:
        return
    found: list[tuple[float, Evidence]] = []
    for family, values in profile.labels.items():
        for one in values:
            others = [each for each in values if each is not one and each.count]
            if one.count and others:
                found.append(_behind(run, family, one, others))
    if found:
        p, evidence = min(found, key=lambda each: each[0])
        yield Test(Flaw.KIND, (evidence,), min(1.0, p * len(found)))


def _behind(run: int, family: str, one: Rate, others: Sequence[Rate]) -> tuple[float, Evidence]:
    """One-sided score test of two shares, each with as many episodes as it is worth."""
    hits, count = sum(each.successes for each in others), sum(each.count for each in others)
    mine, theirs = one.effective or 0.0, sum(each.effective or 0.0 for each in others)
    rate, other = one.successes / one.count, hits / count
    pooled = (rate * mine + other * theirs) / (mine + theirs)
    spread = (pooled * (1 - pooled) * (1 / mine + 1 / theirs)) ** 0.5
    p = float(stats.norm.cdf((rate - other) / spread)) if spread > 0 else 1.0
    (name,) = one.group.values()
    says = f"{one.successes} of {one.count} where {family} is {name}, {hits} of {count} elsewhere"
    return p, Evidence(run, f"labels.{family}", says, rate - other, one.interval, p)


def _unchanged(profiles: Sequence[Profile]) -> Iterator[Test]:
    """Failures with nothing changed, of the run with most controls: they are the same in all runs."""
    usual = [(run, each.control) for run, each in enumerate(profiles) if isinstance(each.control, Rate)]
    if not usual:
        return
    run, rate = max(usual, key=lambda each: each[1].count)
    lost = rate.count - rate.successes
    p = float(stats.binomtest(lost, rate.count, TOLERATED, alternative="greater").pvalue)
    says = f"{lost} of {rate.count} fail with nothing changed"
    evidence = Evidence(run, "control", says, rate.successes / rate.count, rate.interval, p)
    yield Test(Flaw.UNABLE, (evidence,), p)
    judged = [
        (run, each.failures) for run, each in enumerate(profiles) if isinstance(each.failures, Failures)
    ]
    if not judged:
        return
    run, found = min(judged, key=lambda each: 2.0 if each[1].close_p is None else each[1].close_p)
    if found.close_p is None:
        yield Test(Flaw.MISSES, (evidence,), p)
        return
    stays = f"{found.close} of {found.failures} failures stay close to the path of success"
    share = found.close / found.failures
    interval = wilson_interval(share, found.failures)
    closeness = Evidence(run, "failures.close", stays, share, interval, found.close_p)
    # That it fails is the hypothesis; close or not is then what kind of failure that is.
    yield Test(Flaw.MISSES, (evidence, closeness), p if found.close_p < SURE else 1.0, more=f", and {stays}")


def _listed(parts: Sequence[str]) -> str:
    *rest, last = parts
    return f"{', '.join(rest)} and {last}" if rest else last
