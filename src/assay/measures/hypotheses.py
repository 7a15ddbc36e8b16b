"""What a diagnosis tests: each flaw as a hypothesis about runs, with the numbers that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import polars as pl

from assay.episodes import Change
from assay.measures.ability import ability
from assay.measures.attribution import ATTRIBUTION, FactorContrast
from assay.measures.enough import least_one_sided, telling
from assay.measures.evidence import (
    HARMLESS,
    Among,
    Evidence,
    FlawTest,
    Shows,
    Untested,
    drop_evidence,
    evidence_from,
    loss,
    one_sided_p,
    p_above_tolerated,
)
from assay.measures.failure.nearness import FAILURES
from assay.measures.failure.starts import STARTS
from assay.measures.flaws import BY_CHANGE, Flaw, shown_by
from assay.measures.frames import START
from assay.measures.measure import Measure
from assay.measures.memory.memorisation import MEMORISATION, Calls, Index, by_calls
from assay.measures.profile import Profile
from assay.measures.result import Result
from assay.measures.success.drops import CHANGES, Drop
from assay.measures.success.drops import pooled as pooled_drop
from assay.measures.success.other_tasks import OTHER_TASKS
from assay.measures.success.rates import CONTROLS
from assay.measures.words import actions, names
from assay.measures.words.actions import ACTIONS, ActionGap
from assay.measures.words.names import NAMES, NameGap
from assay.measures.words.nonsense import NONSENSE
from assay.measures.words.surface import SURFACE
from assay.measures.world.curves import DISPLACEMENT, Curve, Step
from assay.support.stats.intervals import Interval, wilson_interval
from assay.support.stats.significance import SURE, holm

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Point(Result):
    """Success at one distance."""

    distance: float
    """Metres."""
    successes: int
    count: int


@dataclass(frozen=True, slots=True)
class Onset(Result):
    """From which distance on success is below that of the control beyond doubt, there and farther away."""

    lost: tuple[Point, ...]
    kept: Point | None
    """The farthest before that, if there is one."""


@dataclass(frozen=True, slots=True)
class Repeated(Result):
    """How often the path in one task is the control's own."""

    task: str
    alike: int
    count: int
    """Episodes that were judged."""


@dataclass(frozen=True, slots=True)
class CalledBy(Result):
    """Which conditions call for another path, and in which tasks, by what calls for it (`Calls`)."""

    conditions: dict[str, tuple[str, ...]]
    tasks: dict[str, tuple[Repeated, ...]]
    of: int
    """Tasks of the runs, those in which no episode could be judged among them."""


def memory(among: Among) -> Iterator[FlawTest | Untested]:
    """Whether trajectories are the control's although the object was moved, or something else was asked for."""
    runs, found = _given(among, MEMORISATION)
    calls: dict[str, Index] = {}
    detail = CalledBy({}, {}, 0)
    if found:
        episodes = pl.concat(each.episodes for each in found)
        calls = {by_call.group: by_call for by_call in by_calls(episodes)}
        detail = _called_by(episodes, max(_tasks(profile) for _, profile in among))
    told = {each: _repeated(runs, calls[each]) for each in (Calls.ASKED, Calls.NONSENSE) if each in calls}
    moved = calls.get(Calls.MOVED)
    world = () if moved is None else (_repeated(runs, moved),)
    notes = tuple(dict.fromkeys(why for _, each in among if (why := each.why(MEMORISATION.name))))
    if moved is not None:
        yield _own_paths(Flaw.MEMORISES, moved, (*world, *told.values()), detail)
    yield Untested(Flaw.MEMORISES, MEMORISATION.name, notes=notes)
    # Who falls back on the usual when told nonsense may still listen: requests for something else decide.
    tells = calls.get(Calls.ASKED) or calls.get(Calls.NONSENSE)
    if tells is not None:
        yield _own_paths(Flaw.IGNORES_WORDS, tells, (*told.values(), *world), detail)
    yield Untested(Flaw.IGNORES_WORDS, MEMORISATION.name, notes=notes)


def _called_by(episodes: pl.DataFrame, tasks: int) -> CalledBy:
    named = episodes.group_by("calls", maintain_order=True).agg(
        pl.col("condition").unique(maintain_order=True)
    )
    counts = episodes.group_by("calls", "task", maintain_order=True).agg(pl.col("alike").sum(), pl.len())
    by_task: dict[str, tuple[Repeated, ...]] = {}
    for call, *rest in counts.iter_rows():
        by_task[call] = (*by_task.get(call, ()), Repeated(*rest))
    return CalledBy({call: tuple(conditions) for call, conditions in named.iter_rows()}, by_task, tasks)


def _tasks(profile: Profile) -> int:
    """Tasks whose controls a run has."""
    usual = profile.get(CONTROLS)
    return 0 if usual is None else usual.tasks


def _own_paths(flaw: Flaw, index: Index, evidence: tuple[Evidence, ...], detail: CalledBy) -> FlawTest:
    least_p = index.chance**index.starts
    return FlawTest(flaw, evidence, index.p, index.interval, least_p=least_p, detail=detail)


def nonsense(among: Among) -> Iterator[FlawTest | Untested]:
    """Success although the instruction does not ask for it, where no trajectories tell."""
    for run, profile in among:
        drop = profile.get(NONSENSE)
        if drop is None or profile.get(MEMORISATION) is not None:
            continue
        independent = int(drop.perturbed * drop.starts + 1e-9)  # what shares a start may be all alike
        p, interval = (
            p_above_tolerated(independent, drop.starts),
            wilson_interval(drop.perturbed, drop.starts),
        )
        (condition,) = drop.group.values()
        hits = drop.both + drop.only_perturbed
        evidence = Evidence(
            run, NONSENSE.name, str(condition), drop.perturbed, interval, p, hits=hits, count=drop.pairs
        )
        least_p = p_above_tolerated(drop.starts, drop.starts)
        yield FlawTest(Flaw.IGNORES_WORDS, (evidence,), p, interval, least_p=least_p)
    yield Untested(Flaw.IGNORES_WORDS, NONSENSE.name)


def names_kept(among: Among) -> Iterator[FlawTest | Untested]:
    """What other names cost, in all and noun by noun."""
    runs, found = _given(among, NAMES)
    if not found:
        return
    overall = names.pooled([each.overall for each in found])
    by_noun: dict[str, list[NameGap]] = {}
    for gap in (gap for each in found for gap in each.nouns):
        by_noun.setdefault(gap.noun, []).append(gap)
    nouns = sorted((names.pooled(gaps) for gaps in by_noun.values()), key=lambda gap: gap.change)
    adjusted = holm([one_sided_p(gap.change, gap.p) for gap in nouns])
    evidence = [replace(_gap(runs, overall, "overall"), cost=True)]
    for part in ("one", "several"):
        if gaps := [gap for each in found if (gap := getattr(each, part))]:
            evidence.append(_gap(runs, names.pooled(gaps), part))
    for gap, p in zip(nouns, adjusted, strict=True):
        shows = Shows.NOTHING
        if p < SURE and gap.interval.high < 0:
            shows = Shows.LOSS
        elif gap.interval.high >= 0 and gap.interval.low > -HARMLESS:
            shows = Shows.NO_HARM
        evidence.append(replace(_gap(runs, gap, gap.noun), shows=shows))
    p = one_sided_p(overall.change, overall.p)
    least_p = least_one_sided(int((overall.table["hits"] > 0).sum()))
    yield FlawTest(Flaw.UNKNOWN_NAMES, tuple(evidence), p, loss(overall.interval), least_p=least_p)


def ways_to_say_it(among: Among) -> Iterator[FlawTest | Untested]:
    """The way to say what to do that costs most, against all others; names are kept."""
    runs, found = _given(among, ACTIONS)
    if not found:
        return
    gaps = actions.pooled([each.rows for each in found]).actions
    adjusted = holm([one_sided_p(gap.change, gap.p) for gap in gaps])
    ranked = sorted(zip(adjusted, gaps, strict=True), key=lambda each: (each[0], each[1].change))
    evidence = tuple(_action(runs, gap, p) for p, gap in ranked)
    p, worst = ranked[0]
    yield FlawTest(Flaw.WORDING, evidence, p, loss(worst.interval))


def changes(among: Among) -> Iterator[FlawTest | Untested]:
    """What each change costs against the controls, in all runs that have it; and all of them together."""
    found: dict[str, list[tuple[int, Drop]]] = {}
    for run, profile in among:
        for drop in profile.get(CHANGES) or ():
            found.setdefault(str(drop.group["change"]), []).append((run, drop))
    found.pop(Change.TASK, None)  # something else is asked for: that has controls of its own
    yield from _fall(found)
    if _given(among, NAMES)[0]:
        found.pop(Change.NAMES, None)  # wordings that keep them tell names and sentences apart
    if any(profile.get(SURFACE) is not None for _, profile in among):
        found.pop(Change.SURFACE, None)  # told form by form
    factors = {
        contrast.change: (run, contrast)
        for run, attribution in zip(*_given(among, ATTRIBUTION), strict=True)
        for contrast in attribution.contrasts
        if contrast.change in found and len(found[contrast.change]) == 1
    }
    for change, parts in found.items():
        drop = pooled_drop([drop for _, drop in parts])
        flaw, *others = shown_by(change)
        if not others and change in factors and factors[change][1].count > drop.pairs:
            yield _factor(flaw, *factors[change], drop)  # what it costs beside other changes, too
            continue
        if drop.control and not others:  # what is changed together shows no flaw of its own
            onsets = (_onset(profile.get(DISPLACEMENT)) for _, profile in among)
            detail = next(filter(None, onsets), None) if flaw is Flaw.POSITION else None
            yield _loss(flaw, tuple(run for run, _ in parts), CHANGES.name, change, drop, detail)
    for flaw in BY_CHANGE.values():
        yield Untested(flaw, CHANGES.name)


def _fall(found: Mapping[str, list[tuple[int, Drop]]]) -> Iterator[FlawTest]:
    """What all changes cost together, those that are made together among them."""
    parts = [(run, drop) for each in found.values() for run, drop in each if drop.plausible]
    if parts and any(drop.control for _, drop in parts):
        runs = tuple(dict.fromkeys(run for run, _ in parts))
        name = next(iter(found)) if len(found) == 1 else ""
        yield _loss(Flaw.LOSS, runs, CHANGES.name, name, pooled_drop([drop for _, drop in parts]))


def _loss(
    flaw: Flaw, runs: tuple[int, ...], measure: str, part: str, drop: Drop, detail: Result | None = None
) -> FlawTest:
    evidence = drop_evidence(runs, measure, part, drop)
    p, least_p = one_sided_p(drop.change, drop.p), least_one_sided(telling(drop.table))
    return FlawTest(
        flaw, (evidence,), p, loss(drop.interval), least_p=least_p, detail=detail, table=drop.table
    )


def asked_otherwise(among: Among) -> Iterator[FlawTest | Untested]:
    """Other tasks, each against the control of what was asked for; and goals that nobody was trained on."""
    runs, found = _given(among, OTHER_TASKS)
    drops = [each.asked[-1] for each in found if each.asked]
    tests = []
    if drops and (drop := pooled_drop(drops)).control:
        tests.append(_loss(Flaw.OTHER_TASKS, runs, OTHER_TASKS.name, "known", drop))
    for run, new in ((run, each.new) for run, each in zip(runs, found, strict=True) if each.new):
        if new.control and new.interval is not None:
            evidence = Evidence(
                run,
                OTHER_TASKS.name,
                "new",
                new.change,
                new.interval,
                new.p,
                hits=new.successes,
                count=new.count,
                share=new.rate,
                reference=new.control,
                same_tasks=False,
            )
            least_p = least_one_sided(new.tasks)
            tests.append(FlawTest(Flaw.OTHER_TASKS, (evidence,), new.p, loss(new.interval), least_p=least_p))
    if tests:  # the surest counts, for having looked at all of them
        best = min(tests, key=lambda test: test.p)
        rest = (each for test in tests if test is not best for each in test.evidence)
        p, least_p = (min(1.0, len(tests) * each) for each in (best.p, best.least_p))
        yield replace(best, evidence=(*best.evidence, *rest), p=p, least_p=least_p)
    yield Untested(Flaw.OTHER_TASKS, OTHER_TASKS.name)


def _factor(flaw: Flaw, run: int, contrast: FactorContrast, alone: Drop) -> FlawTest:
    """What a factor costs, against all combinations of the others without it."""
    p = one_sided_p(contrast.difference, contrast.p)
    evidence = Evidence(
        run,
        ATTRIBUTION.name,
        str(contrast.change),
        contrast.difference,
        contrast.interval,
        p,
        hits=contrast.successes,
        count=contrast.count,
        reference_hits=contrast.others,
        reference_count=contrast.others_count,
        reference=contrast.others / contrast.others_count,
        cost=True,
    )
    able = max(telling(alone.table), _able(contrast))
    return FlawTest(
        flaw,
        (evidence,),
        p,
        loss(contrast.interval),
        least_p=least_one_sided(able),
    )


def _able(contrast: FactorContrast) -> int:
    """Starts that can tell, where that is not known start by start: as many as succeed without the factor at most."""
    return min(contrast.starts, contrast.others)


def unchanged(among: Among) -> Iterator[FlawTest | Untested]:
    """Failures with nothing changed, of all runs; a start that several of them have counts once."""
    runs, found = _given(among, STARTS)
    if found:
        rows = pl.concat(each.rows for each in found).sort(pl.col("near").is_null(), maintain_order=True)
        starts = rows.unique(START, keep="first", maintain_order=True).select(~pl.col("success"), "near")
        count, failed = len(starts), int(starts["success"].sum())
        near = int(starts["near"].fill_null(False).sum())
        fails = _share(runs, STARTS.name, failed, count)
        usual = among[0][1].get(CONTROLS) if len(among) == 1 else None
        if usual is not None and usual.interval is not None and usual.count == count:  # as the page has it
            fails = replace(fails, interval=_complement(usual.interval))
        yield replace(_above_tolerated(Flaw.UNABLE, fails), detail=ability(found))
        if _given(among, FAILURES)[0]:
            unjudged = bool(starts.filter("success")["near"].null_count())
            evidence = replace(_share(runs, FAILURES.name, near, count), at_least=unjudged)
            yield _above_tolerated(Flaw.MISSES, evidence, fails)
    yield Untested(Flaw.UNABLE, STARTS.name)
    if any(FAILURES.name in profile for _, profile in among):
        yield Untested(Flaw.MISSES, FAILURES.name)


def _given(among: Among, measure: Measure[T]) -> tuple[tuple[int, ...], list[T]]:
    """A measure of the runs that have it, and which they are."""
    found = [(run, value) for run, each in among if (value := each.get(measure)) is not None]
    return tuple(run for run, _ in found), [value for _, value in found]


def _repeated(runs: tuple[int, ...], index: Index) -> Evidence:
    return evidence_from(
        runs,
        MEMORISATION.name,
        index.group,
        index.index,
        index.interval,
        index.p,
        hits=index.alike,
        count=index.count,
    )


def _gap(runs: tuple[int, ...], gap: NameGap, part: str) -> Evidence:
    return evidence_from(
        runs,
        NAMES.name,
        part,
        gap.change,
        gap.interval,
        one_sided_p(gap.change, gap.p),
        hits=gap.changed,
        count=gap.changed_count,
        reference_hits=gap.kept,
        reference_count=gap.kept_count,
    )


def _action(runs: tuple[int, ...], gap: ActionGap, adjusted: float) -> Evidence:
    return evidence_from(
        runs,
        ACTIONS.name,
        gap.action,
        gap.change,
        gap.interval,
        one_sided_p(gap.change, gap.p),
        hits=gap.successes,
        count=gap.count,
        reference_hits=gap.others,
        reference_count=gap.others_count,
        shows=Shows.LOSS if adjusted < SURE and gap.interval.high < 0 else Shows.NOTHING,
    )


def _share(runs: tuple[int, ...], measure: str, hits: int, count: int) -> Evidence:
    share = hits / count
    p, interval = p_above_tolerated(hits, count), wilson_interval(share, count)
    return evidence_from(runs, measure, "", share, interval, p, hits=hits, count=count)


def _complement(share: Interval) -> Interval:
    """Of what fails, from what succeeds."""
    return Interval(1 - share.high, 1 - share.low, share.method)


def _above_tolerated(flaw: Flaw, *evidence: Evidence) -> FlawTest:
    first = evidence[0]
    assert first.p is not None and first.interval is not None
    least_p = p_above_tolerated(first.count or 0, first.count or 0)
    return FlawTest(flaw, evidence, first.p, first.interval, least_p=least_p)


def _onset(curve: Curve | None) -> Onset | None:
    if curve is None or curve.steps[0].at or curve.steps[0].rate.interval is None:
        return None
    usual = curve.steps[0].rate.interval.low
    steps = [step for step in curve.steps[1:] if step.rate.interval is not None]
    kept = [step for step in steps if step.rate.interval is not None and step.rate.interval.high >= usual]
    lost = [step for step in steps if not kept or step.at > kept[-1].at]
    return Onset(tuple(map(_point, lost)), _point(kept[-1]) if kept else None) if lost else None


def _point(step: Step) -> Point:
    return Point(step.at, step.rate.successes, step.rate.count)
