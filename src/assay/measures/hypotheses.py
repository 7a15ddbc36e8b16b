"""What a diagnosis tests: each flaw as a hypothesis about a run, with the numbers that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import polars as pl

from assay.measures import actions, drops, names
from assay.measures.actions import ActionGaps
from assay.measures.changes import Change
from assay.measures.curves import Curve
from assay.measures.drops import Drop
from assay.measures.evidence import HARMLESS, Evidence, Test, fallen, loss, often, taken
from assay.measures.flaws import Degree, Flaw
from assay.measures.kinds import kinds
from assay.measures.memorisation import Index, Memorisation, along
from assay.measures.names import NameGap, NameGaps
from assay.measures.nearness import Failures
from assay.measures.profile import Profile
from assay.measures.result import Missing
from assay.measures.table import START
from assay.stats.intervals import wilson_interval
from assay.stats.significance import SURE, holm, least

_DROPS = {
    Change.WORDING: (Flaw.WORDING, "when the words are others"),
    Change.NAMES: (Flaw.UNKNOWN_NAMES, "when things are called by other names"),
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
    Flaw.MISSES: "no run has controls whose failures can be compared with paths of success",
    Flaw.UNABLE: "no run has a control",
} | {
    flaw: f"no run shows, against controls that succeed, what happens {where}"
    for flaw, where in _DROPS.values()
}


Among = Sequence[tuple[int, Profile]]
"""Runs and which they are, from 0."""
T = TypeVar("T")


def tests(profiles: Sequence[Profile]) -> list[Test]:
    """Everything that the runs can test; what several runs have is taken together."""
    among = [(run, each) for run, each in enumerate(profiles) if isinstance(each.tabletop, Missing)]
    parts = (_memory, _nonsense, _names, _changes, _actions, _unchanged)
    return [test for part in parts for test in part(among)] + [
        test for run, profile in among for test in kinds(run, profile)
    ]


def lacking(flaw: Flaw, profiles: Sequence[Profile]) -> str:
    """Why the runs cannot tell whether there is a flaw; empty if nobody asked."""
    profiles = [each for each in profiles if isinstance(each.tabletop, Missing)]
    if not profiles:
        return ""
    reason = _LACKING.get(flaw, "")
    if flaw in (Flaw.MEMORISES, Flaw.IGNORES_WORDS):
        reasons = [each.memorisation.missing for each in profiles if isinstance(each.memorisation, Missing)]
        told = [each.removeprefix("memorisation: ") for each in dict.fromkeys(reasons)]
        return f"{reason} ({'; '.join(told)})" if told else reason
    return reason


def _given(among: Among, name: str, kind: type[T]) -> tuple[tuple[int, ...], list[T]]:
    """A measure of the runs that have it, and which they are."""
    found = [(run, value) for run, each in among if isinstance(value := getattr(each, name), kind)]
    return tuple(run for run, _ in found), [value for _, value in found]


def _memory(among: Among) -> Iterator[Test]:
    runs, found = _given(among, "memorisation", Memorisation)
    axes = {each.group: each for each in along(pl.concat(each.episodes for each in found))} if found else {}
    words, world = axes.get("words"), axes.get("world")
    said = "the words ask for nothing or for something else"
    if world is not None:
        evidence = [_alike(runs, world, "the thing was moved")]
        if words is not None:
            evidence.append(_alike(runs, words, said))
        also = f", and {words.alike:,} of {words.count:,} although {said}" if words is not None else ""
        yield Test(Flaw.MEMORISES, tuple(evidence), world.p, world.interval, also)
    if words is not None:
        sees = "; whether it sees the world cannot be told"
        if world is not None:
            other = (
                f"{world.count - world.alike:,} of {world.count:,} paths are others when a thing was moved"
            )
            sees = f"; it does look: {other}" if Degree.of(world.interval) is Degree.RARELY else ""
        yield Test(Flaw.IGNORES_WORDS, (_alike(runs, words, said),), words.p, words.interval, sees)


def _alike(runs: tuple[int, ...], index: Index, although: str) -> Evidence:
    says = f"{index.alike:,} of {index.count:,} paths are the control's although {although}"
    return taken(runs, f"memorisation.{index.group}", says, index.index, index.interval, index.p)


def _nonsense(among: Among) -> Iterator[Test]:
    """Where there are no paths: success although words do not ask for it, in the condition with least."""
    for run, profile in among:
        if isinstance(profile.memorisation, Memorisation) or isinstance(profile.drops, Missing):
            continue
        mute = [each for each in profile.drops if not each.plausible and each.family.startswith("words")]
        if all(each.control == 0 for each in mute):
            continue
        drop = min(mute, key=lambda each: each.perturbed)
        hits = drop.both + drop.only_perturbed
        independent = int(drop.perturbed * drop.starts + 1e-9)  # what shares a start may be all alike
        p = often(independent, drop.starts)
        says = f"{hits:,} of {drop.pairs:,} reach the task's goal although the words do not ask for it"
        interval = wilson_interval(drop.perturbed, drop.starts)
        yield Test(
            Flaw.IGNORES_WORDS, (Evidence(run, "drops", says, drop.perturbed, interval, p),), p, interval
        )


def _names(among: Among) -> Iterator[Test]:
    runs, found = _given(among, "names", NameGaps)
    if not found:
        return
    overall = names.pooled([each.overall for each in found])
    by_noun: dict[str, list[NameGap]] = {}
    for gap in (gap for each in found for gap in each.nouns):
        by_noun.setdefault(gap.noun, []).append(gap)
    nouns = sorted((names.pooled(each) for each in by_noun.values()), key=lambda each: each.change)
    evidence = [_gap(runs, overall), *(_gap(runs, each) for each in nouns)]
    adjusted = holm([fallen(each.change, each.p) for each in nouns])
    unknown = [
        f"{Degree.of(loss(each.interval))} not the {each.noun} ({each.changed:,} of {each.changed_count:,}, "
        f"{each.kept:,} of {each.kept_count:,} with its name kept)"
        for each, p in zip(nouns, adjusted, strict=True)
        if p < SURE and each.interval.high < 0
    ]
    known = [
        f"the {each.noun}" for each in nouns if each.interval.high >= 0 and each.interval.low > -HARMLESS
    ]
    one, several = (
        names.pooled(gaps) if (gaps := [gap for each in found if (gap := getattr(each, name))]) else None
        for name in ("one", "several")
    )
    more = ""
    if one and several:
        more = f" ({one.changed:,} of {one.changed_count:,} with one, {several.changed} of "
        more += f"{several.changed_count} with several)"
    more += f"; {_listed(unknown)}" if unknown else ""
    more += f"; other names for {_listed(known)} do no harm" if known else ""
    p, few = fallen(overall.change, overall.p), least(overall.strata)
    yield Test(Flaw.UNKNOWN_NAMES, tuple(evidence), p, loss(overall.interval), more, least_p=few)


def _gap(runs: tuple[int, ...], gap: NameGap) -> Evidence:
    what = f"name of the {gap.noun}" if gap.noun else "names"
    says = (
        f"{gap.kept:,} of {gap.kept_count:,} with the {what} kept word for word, "
        f"{gap.changed:,} of {gap.changed_count:,} with {'it' if gap.noun else 'them'} changed"
    )
    p = fallen(gap.change, gap.p)
    return taken(runs, f"names.{gap.noun or 'overall'}", says, gap.change, gap.interval, p)


def _actions(among: Among) -> Iterator[Test]:
    """The way to say what to do that costs most, against all others; names are kept."""
    runs, found = _given(among, "actions", ActionGaps)
    if not found:
        return
    gaps = actions.pooled([each.rows for each in found]).actions
    adjusted = holm([fallen(each.change, each.p) for each in gaps])
    order = sorted(range(len(gaps)), key=lambda place: (adjusted[place], gaps[place].change))
    worst, *rest = (gaps[place] for place in order)
    evidence = [
        taken(
            runs,
            f"actions.{each.action}",
            f"{each.successes:,} of {each.count:,} with the action said as {each.action}, {each.others} of "
            f"{each.others_count} said otherwise",
            each.change,
            each.interval,
            fallen(each.change, each.p),
        )
        for each in (worst, *rest)
    ]
    also = [
        f"{each.successes:,} of {each.count:,} as {each.action}"
        for each, place in zip(rest, order[1:], strict=True)
        if adjusted[place] < SURE and each.interval.high < 0
    ]
    more = f"; {_listed(also)}" if also else ""
    yield Test(Flaw.WORDING, tuple(evidence), adjusted[order[0]], loss(worst.interval), more)


def _changes(among: Among) -> Iterator[Test]:
    """What each change costs against the controls, in all runs that have it."""
    found: dict[Change, list[tuple[int, Drop]]] = {}
    for run, profile in among:
        for drop in () if isinstance(profile.changes, Missing) else profile.changes:
            found.setdefault(Change(str(drop.group["change"])), []).append((run, drop))
    if _given(among, "names", NameGaps)[0]:
        found.pop(Change.NAMES, None)  # wordings that keep them tell names and sentences apart
    for change, each in found.items():
        drop = drops.pooled([drop for _, drop in each])
        if change not in _DROPS or not drop.control:
            continue
        flaw, where = _DROPS[change]
        more = "; the names or the sentence, which cannot be told apart" if change is Change.NAMES else ""
        if change is Change.POSITION:
            more = next((told for _, one in among if (told := _distance(one.displacement))), "")
        evidence = _fall(tuple(run for run, _ in each), drop, where)
        p = fallen(drop.change, drop.p)
        yield Test(flaw, (evidence,), p, loss(drop.interval), more, least_p=drop.least_p)


def _fall(runs: tuple[int, ...], drop: Drop, where: str) -> Evidence:
    now, before = drop.both + drop.only_perturbed, drop.both + drop.only_control
    usual = f"{before:,} of {drop.pairs:,}" if drop.pairs == drop.starts else f"{100 * drop.control:.0f} %"
    says = f"{now:,} of {drop.pairs:,} {where}, {usual} when nothing is changed"
    p = fallen(drop.change, drop.p)
    return taken(runs, f"changes.{drop.group['change']}", says, drop.change, drop.interval, p)


def _unchanged(among: Among) -> Iterator[Test]:
    """Failures with nothing changed, of all runs; a start that several of them have counts once."""
    runs, found = _given(among, "starts", pl.DataFrame)
    rows = pl.concat(found).sort(pl.col("near").is_null(), maintain_order=True) if found else pl.DataFrame()
    if not len(rows):
        return
    lost = rows.unique(START, keep="first", maintain_order=True).select(~pl.col("success"), "near")
    count, failed, near = len(lost), int(lost["success"].sum()), int(lost["near"].fill_null(False).sum())
    fails = _share(runs, "control", f"{failed:,} of {count:,} fail", failed, count)
    yield _often(Flaw.UNABLE, fails)
    if _given(among, "failures", Failures)[0]:
        few = "at least " if lost.filter("success")["near"].null_count() else ""
        says = f"{few}{near:,} of {count:,} fail near the path of success with nothing changed"
        yield _often(Flaw.MISSES, _share(runs, "failures.near", says, near, count), fails)


def _share(runs: tuple[int, ...], measure: str, says: str, hits: int, count: int) -> Evidence:
    return taken(runs, measure, says, hits / count, wilson_interval(hits / count, count), often(hits, count))


def _often(flaw: Flaw, *evidence: Evidence) -> Test:
    first = evidence[0]
    assert first.p is not None and first.interval is not None
    return Test(flaw, evidence, first.p, first.interval)


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
    told = ", ".join(f"{each.rate.successes:,} of {each.rate.count:,}" for each in lost)
    before = kept and kept[-1].rate
    still = (
        f", still {before.successes:,} of {before.count:,} at {100 * kept[-1].at:.0f} cm" if before else ""
    )
    return f"; from {100 * lost[0].at:.0f} cm on ({told}{still})"


def _listed(parts: Sequence[str]) -> str:
    *rest, last = parts
    return f"{', '.join(rest)} and {last}" if rest else last
