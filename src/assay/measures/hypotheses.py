"""What a diagnosis tests: each flaw as a hypothesis about a run, with the numbers that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from scipy import stats

from assay.measures.changes import Change
from assay.measures.curves import Curve
from assay.measures.drops import Drop
from assay.measures.flaws import Degree, Flaw
from assay.measures.intervals import LEVEL, Interval, wilson_interval
from assay.measures.memorisation import Index, Memorisation
from assay.measures.names import NameGap
from assay.measures.nearness import Failures
from assay.measures.profile import Profile
from assay.measures.rates import Rate
from assay.measures.result import Missing, Result
from assay.measures.significance import holm

SURE = 0.05
"""The p below which something is more than chance."""
MANY = 10
"""Tasks without which a kind of task cannot be told from a task."""
TOLERATED = 0.05
"""The share of unchanged episodes lost, or of nonsense obeyed, that is nobody's fault."""
HARMLESS = 0.05
"""A loss that does no harm, if it is less than this beyond doubt."""

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
    Flaw.MISSES: "no run has controls whose failures can be compared with paths of success",
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
    size: Interval
    """The share of episodes that the flaw spoils."""
    more: str = ""
    """What else the run tells, if the flaw is found: a clause."""

    @property
    def claim(self) -> str:
        """What such a policy does, and how much of it."""
        return self.flaw.claim if self.flaw is Flaw.KIND else f"{Degree.of(self.size)} {self.flaw.claim}"

    def covers(self, other: Test) -> bool:
        """Whether all that is certain of another flaw is certain of this one: it may then be the cause."""
        return self.size.low >= other.size.low - 1e-9


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
                evidence = _fall(run, drop, where)
                yield Test(flaw, (evidence,), _fallen(drop.change, drop.p), _loss(drop.interval), more)
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
        yield Test(Flaw.MEMORISES, tuple(evidence), world.p, world.interval, also)
    if words is not None:
        sees = "; whether it sees the world cannot be told"
        if world is not None:
            other = f"{world.count - world.alike} of {world.count} paths are others when a thing was moved"
            sees = f"; it does look: {other}" if Degree.of(world.interval) is Degree.RARELY else ""
        yield Test(Flaw.IGNORES_WORDS, (_alike(run, words, said),), words.p, words.interval, sees)


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
    independent = int(drop.perturbed * drop.starts + 1e-9)  # what shares a start may be all alike
    p = _often(independent, drop.starts)
    says = f"{hits} of {drop.pairs} reach the task's goal although the words do not ask for it"
    interval = wilson_interval(drop.perturbed, drop.starts)
    evidence = Evidence(run, "drops", says, drop.perturbed, interval, p)
    return Test(Flaw.IGNORES_WORDS, (evidence,), p, interval)


def _names(run: int, overall: NameGap, nouns: Sequence[NameGap]) -> Test:
    evidence = [_gap(run, overall), *(_gap(run, each) for each in nouns)]
    adjusted = holm([_fallen(each.change, each.p) for each in nouns])
    unknown = [
        f"{Degree.of(_loss(each.interval))} not the {each.noun} ({each.changed} of {each.changed_count}, "
        f"{each.kept} of {each.kept_count} with its name kept)"
        for each, p in zip(nouns, adjusted, strict=True)
        if p < SURE and each.interval.high < 0
    ]
    known = [
        f"the {each.noun}" for each in nouns if each.interval.high >= 0 and each.interval.low > -HARMLESS
    ]
    more = f"; {_listed(unknown)}" if unknown else ""
    more += f"; other names for {_listed(known)} do no harm" if known else ""
    p = _fallen(overall.change, overall.p)
    return Test(Flaw.UNKNOWN_NAMES, tuple(evidence), p, _loss(overall.interval), more)


def _gap(run: int, gap: NameGap) -> Evidence:
    what = f"name of the {gap.noun}" if gap.noun else "names"
    says = (
        f"{gap.kept} of {gap.kept_count} with the {what} kept word for word, "
        f"{gap.changed} of {gap.changed_count} with {'it' if gap.noun else 'them'} changed"
    )
    measure = f"names.{gap.noun or 'overall'}"
    return Evidence(run, measure, says, gap.change, gap.interval, _fallen(gap.change, gap.p))


def _fall(run: int, drop: Drop, where: str) -> Evidence:
    now, before = drop.both + drop.only_perturbed, drop.both + drop.only_control
    usual = f"{before} of {drop.pairs}" if drop.pairs == drop.starts else f"{100 * drop.control:.0f} %"
    says = f"{now} of {drop.pairs} {where}, {usual} when nothing is changed"
    p = _fallen(drop.change, drop.p)
    return Evidence(run, f"changes.{drop.group['change']}", says, drop.change, drop.interval, p)


def _fallen(change: float, p: float) -> float:
    """The p of a fall alone, from that of a change either way (twice a tail): a rise is no flaw."""
    return p / 2 if change < 0 else 1.0


def _loss(change: Interval) -> Interval:
    """What is lost, from what is changed."""
    return Interval(-change.high, -change.low, change.method)


def _distance(curve: Curve | Missing) -> str:
    """The distance from which on success is below that of the control beyond doubt, here and farther away."""
    if isinstance(curve, Missing) or curve.steps[0].at or curve.steps[0].rate.interval is None:
        return ""
    usual = curve.steps[0].rate.interval.low
    steps = [each for each in curve.steps[1:] if each.rate.interval is not None]
    kept = [each for each in steps if each.rate.interval is not None and each.rate.interval.high >= usual]
    lost = [each for each in steps if not kept or each.at > kept[-1].at]
    if not lost:
        return ""
    told = ", ".join(f"{each.rate.successes} of {each.rate.count}" for each in lost)
    before = kept and kept[-1].rate
    still = f", still {before.successes} of {before.count} at {100 * kept[-1].at:.0f} cm" if before else ""
    return f"; from {100 * lost[0].at:.0f} cm on ({told}{still})"


def _kinds(run: int, profile: Profile) -> Iterator[Test]:
    """The label whose tasks fall behind the others of its family most clearly; if there are many tasks."""
    shares = np.array([each.rate for each in profile.tasks if each.group["perturbed"] and each.count])
    if len(shares) < MANY:
        return
    found: list[Evidence] = []
    for family, values in profile.labels.items():
        for one in values:
            others = [each for each in values if each is not one and each.count]
            if one.count and others:
                found.append(_behind(run, family, one, others, shares))
    if found:
        best = min(found, key=lambda each: each.p or 0.0)
        assert best.interval is not None and best.p is not None
        yield Test(Flaw.KIND, (best,), min(1.0, best.p * len(found)), _loss(best.interval))


def _behind(run: int, family: str, one: Rate, others: Sequence[Rate], shares: np.ndarray) -> Evidence:
    """Whether a label goes with failure more than if labels had been dealt to the tasks by chance.

    Labels belong to tasks, and tasks differ: tasks are what is compared, not episodes. Student's test, which
    comes close to dealing anew; ``shares`` (tasks,) are the success rates of all of them.
    """
    hits, count = sum(each.successes for each in others), sum(each.count for each in others)
    behind = one.successes / one.count - hits / count
    tasks, free = len(shares), len(shares) - 2
    mine = min(max(round(tasks * one.count / (one.count + count)), 1), tasks - 1)
    sizes = 1 / mine + 1 / (tasks - mine)
    within = max(float(np.square(shares - shares.mean()).sum()) - behind**2 / sizes, 0.0)
    spread = (within / free * sizes) ** 0.5
    p = float(stats.t.cdf(behind / spread, free)) if spread > 0 else float(behind >= 0)
    p = max(p, 1 / comb(tasks, mine))
    half = float(stats.t.ppf((1 + LEVEL) / 2, free)) * spread
    interval = Interval(max(behind - half, -1.0), min(behind + half, 1.0), "student, over tasks")
    (name,) = one.group.values()
    says = f"{one.successes} of {one.count} where {family} is {name}, {hits} of {count} elsewhere"
    return Evidence(run, f"labels.{family}", says, behind, interval, p)


def _unchanged(profiles: Sequence[Profile]) -> Iterator[Test]:
    """Failures with nothing changed, of the run with most controls: they are the same in all runs."""
    usual = [(run, each.control) for run, each in enumerate(profiles) if isinstance(each.control, Rate)]
    if not usual:
        return
    run, rate = max(usual, key=lambda each: each[1].count)
    lost = _lost(run, rate)
    assert lost.p is not None and lost.interval is not None
    yield Test(Flaw.UNABLE, (lost,), lost.p, lost.interval)
    judged = [
        (run, rate, each) for run, rate in usual if isinstance(each := profiles[run].failures, Failures)
    ]
    if judged:
        run, rate, failures = max(judged, key=lambda each: each[1].count)
        near = _missed(run, rate, failures)
        assert near.p is not None and near.interval is not None
        yield Test(Flaw.MISSES, (near, _lost(run, rate)), near.p, near.interval)


def _lost(run: int, rate: Rate) -> Evidence:
    """How often nothing is changed and it fails all the same."""
    assert rate.interval is not None
    lost, share = rate.count - rate.successes, 1 - rate.successes / rate.count
    interval = Interval(1 - rate.interval.high, 1 - rate.interval.low, rate.interval.method)
    return Evidence(run, "control", f"{lost} of {rate.count} fail", share, interval, _often(lost, rate.count))


def _missed(run: int, rate: Rate, found: Failures) -> Evidence:
    """How many controls at least fail near the path of success.

    Failures are judged in all episodes of an unchanged world, whatever the words: those that are far, or
    were not judged, may all be controls.
    """
    lost = rate.count - rate.successes
    near = max(lost - found.far["max"] - found.unjudged, 0)
    least = "" if near == lost else "at least "
    says = f"{least}{near} of {rate.count} fail near the path of success with nothing changed"
    interval = wilson_interval(near / rate.count, rate.count)
    return Evidence(run, "failures.near", says, near / rate.count, interval, _often(near, rate.count))


def _often(hits: int, count: int) -> float:
    """One-sided exact p of a share that is tolerated."""
    return float(stats.binomtest(hits, count, TOLERATED, alternative="greater").pvalue)


def _listed(parts: Sequence[str]) -> str:
    *rest, last = parts
    return f"{', '.join(rest)} and {last}" if rest else last
