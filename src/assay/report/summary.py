"""A run in plain sentences made from its numbers, and the few numbers that matter most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.measures.clustering import UNVARIED
from assay.measures.failure.nearness import Failures
from assay.measures.measure import MEASURES, load
from assay.measures.memory.memorisation import Memorisation
from assay.measures.profile import Profile
from assay.measures.success.drops import Drop
from assay.measures.success.rates import CONTROLS, SUCCESS_RATE, TASKS, Rate
from assay.measures.views.wording import (
    between,
    group_name,
    listed,
    number,
    percent,
    plural,
    points,
    signed,
)
from assay.measures.words.names import NameGaps
from assay.measures.words.pride import OVERESTIMATION, PRIDE, Overestimation, Pride
from assay.report.run_report import RunReport
from assay.support.stats.intervals import Interval

_MOST = 3
"""Conditions and reasons that are told one by one."""


@dataclass(frozen=True, slots=True)
class KeyNumber:
    """A number to be seen first."""

    name: str
    value: str
    detail: str
    """Its interval and count."""
    about: str = ""
    """What is counted, over which episodes: one line."""

    def over(self, tasks: Interval | None) -> KeyNumber:
        """The same with the interval about tasks in general, if there is one."""
        if tasks is None:
            return self
        return replace(self, detail=f"{self.detail}; tasks in general {between(tasks, 100)}")

    @classmethod
    def of(
        cls, name: str, value: str, interval: Interval | None, count: int, about: str = "", scale: float = 100
    ) -> KeyNumber:
        """With its interval, times ``scale``, and its count."""
        return cls(name, value, f"{between(interval, scale, 1 if scale > 1 else 2)}; n = {count:,}", about)


def sentences(profile: Profile) -> list[str]:
    """What happened, in plain words; the most important first."""
    found = []
    for name in profile:
        show, value = MEASURES[name].sentences, profile.get(name)
        if show is not None and value is not None:
            found += load(show)(value, profile)
    return found


def key_numbers(profile: Profile) -> list[KeyNumber]:
    """The numbers of the summary that this run has."""
    found = []
    for name in profile:
        show, value = MEASURES[name].numbers, profile.get(name)
        if show is not None and value is not None:
            found += load(show)(value, profile)
    return found


def has_perturbed_episodes(profile: Profile) -> bool:
    """Whether anything was changed that should not matter."""
    return any(rate.group["perturbed"] for rate in profile.get(TASKS) or ())


def circumstances(meta: Mapping[str, Any], planned: int, done: int, waiting: int, broke: int) -> list[str]:
    """What a reader must know before any number: how much of a run is there, and how it was made."""
    found = []
    if not planned:
        found.append("This run is empty: nothing is planned, nothing is done.")
    elif not done:
        found.append(f"Nothing is done yet: 0 of {planned:,} planned episodes.")
    elif waiting:
        found.append(
            f"Unfinished: {done:,} of {planned:,} planned episodes are done, "
            f"{waiting:,} are to come. Numbers are of those done, which need not be a fair sample."
        )
    expected = int(meta.get("expected", 0))
    if expected > planned:
        found.append(
            f"Part of an evaluation: {planned:,} of its {expected:,} episodes are here, which need "
            "not be a fair sample."
        )
    if broke:
        found.append(f"{plural(broke, 'episode')} of {done:,} ended in an error; errors are excluded.")
    settings = meta.get("settings") or {}
    if "certificates" in settings and settings["certificates"] is None:
        found.append(
            "Uncertified: no oracle has solved these scenes beforehand; a failure may be the scene's."
        )
    if "start" in settings:
        found.append(
            f"One start: every episode of a task begins in initial state {settings['start']}, and seeds vary the "
            "policy alone. Nothing is said about other starts."
        )
    return found


def banners(report: RunReport) -> list[str]:
    """What a reader must know before any number: circumstances, and what the measures say of themselves."""
    profile = report.profile
    broke = sum(profile.errors.values())
    found = [*_refusals(report)]
    if profile.planned or not found:
        found += circumstances(report.meta, profile.planned, profile.done, report.waiting, broke)
    if (pride := profile.get(PRIDE)) is not None and pride.unscored:
        every = pride.episodes + pride.unscored
        over = profile.get(OVERESTIMATION)
        rest = "" if over is None else percent(over.success_rate)
        why = "the metadata lacks their wordings" if report.meta.get("imported") else "they cannot be scored"
        found.append(
            f"{pride.unscored:,} of {every:,} paraphrased episodes have no distance, because {why}: "
            "PRIDE and overestimation are of the others" + (f", of which {rest} succeed." if rest else ".")
        )
    if report.stopped:
        found.append(
            f"Stopped early: {plural(len(report.stopped), 'condition')} ended as soon as the rule had decided. Their "
            "rates are biased away from what they were tested against. Intervals of their rates and p values of "
            "differences to the control allow for the stopping; intervals of differences, and other tests, do not."
        )
    rate = profile.get(SUCCESS_RATE)
    demonstrates = str(report.meta.get("policy")).partition("?")[0] == report.world.demonstrator
    if demonstrates and rate is not None and rate.successes < rate.count:
        found.append(
            f"The demonstrator itself fails in {rate.count - rate.successes:,} of "
            f"{plural(rate.count, 'episode')} in which success is expected: it is not shown that "
            "they can be solved in this time."
        )
    found += report.problems
    if report.damage:
        found.append(f"The file is damaged: {report.damage}")
    return found


def _refusals(report: RunReport) -> Iterator[str]:
    """Which conditions a run lacks because all of their episodes were refused, and why."""
    if not report.refused_whole:
        return
    conditions, counts = list(report.refused_whole), Counter[str]()
    for each in report.refused_whole.values():
        counts.update(each)
    more = len(conditions) - _MOST
    named = [*conditions[:_MOST], *([plural(more, "other condition")] if more > 0 else [])]
    what = f"no episode of {listed(named)} was played" if report.profile.planned else "this run is empty"
    why = [f"{count:,} x {reason}" for reason, count in counts.most_common(_MOST)]
    why += [plural(len(counts) - _MOST, "other reason")] if len(counts) > _MOST else []
    yield (
        f"{plural(counts.total(), 'episode')} could not be certified as solvable, so that {what}: {'; '.join(why)}."
    )


def success_sentences(rate: Rate, profile: Profile) -> Iterator[str]:
    """How often it succeeds, beside its controls."""
    control, changed = profile.get(CONTROLS), has_perturbed_episodes(profile)
    what = "perturbed episodes in which success is expected" if changed else "unperturbed episodes"
    text = (
        f"It succeeds in {rate.successes:,} of {rate.count:,} {what} ({percent(rate.rate)}, 95 % interval "
        f"{between(rate.interval, 100)})"
    )
    if changed and control is not None:
        text += (
            f", and in {control.successes:,} of {plural(control.count, 'control')} ({percent(control.rate)})"
        )
    if rate.interval is not None and rate.interval.one_start:
        text += f"; with {UNVARIED}"
    yield text + "."


def success_numbers(rate: Rate, profile: Profile) -> Iterator[KeyNumber]:
    """Success in perturbed episodes."""
    if has_perturbed_episodes(profile) and rate.rate is not None:
        about = "Share of perturbed episodes that succeed; only changes after which success is expected."
        number = KeyNumber.of("success, perturbed", percent(rate.rate), rate.interval, rate.count, about)
        yield number.over(rate.over_tasks)


def control_numbers(rate: Rate, profile: Profile) -> Iterator[KeyNumber]:
    """Success in controls."""
    about = "Share of controls, in which nothing is changed, that succeed."
    number = KeyNumber.of("success, control", percent(rate.rate), rate.interval, rate.count, about)
    yield number.over(rate.over_tasks)


def axes_sentences(axes: Sequence[Drop], profile: Profile) -> Iterator[str]:
    """What changes of words, world and senses cost."""
    for drop in sorted(axes, key=lambda drop: drop.change):
        name = group_name(drop.group).replace("+", " and ")
        if not drop.control:  # at the floor nothing shows, which is no robustness
            yield (
                f"What changes of the {name} cost cannot be measured: none of the controls succeeds "
                f"({plural(drop.starts, 'start')})."
            )
            continue
        numbers = (
            f"paired difference {points(drop.change)} points, 95 % interval {between(drop.interval, 100)}"
        )
        rates = (
            f"{percent(drop.control, 0)}{_of_pairs(drop, profile)} to {percent(drop.perturbed, 0)} of "
            f"{plural(drop.pairs, 'pair')}"
        )
        if drop.certain and drop.change < 0:
            yield f"Changes of the {name} cost it {number(100 * -drop.change)} points ({numbers})."
        else:
            yield f"Under changes of the {name} success goes from {rates} ({numbers})."


def _of_pairs(drop: Drop, profile: Profile) -> str:
    """Why it is another share of the controls than the one that is told first, where it is."""
    usual = profile.get(CONTROLS)
    same = usual is not None and percent(usual.rate, 0) == percent(drop.control, 0)
    return "" if same else " (controls, each once for every pair)"


def drops_sentences(drops: Sequence[Drop], profile: Profile) -> Iterator[str]:
    """The conditions that cost most."""
    worst = [
        drop
        for drop in sorted(drops, key=lambda drop: drop.change)
        if drop.plausible and drop.change < 0 and drop.certain
    ]
    if worst:
        losses = listed(
            f"{group_name(drop.group)} ({percent(drop.control, 0)} to {percent(drop.perturbed, 0)})"
            for drop in worst[:3]
        )
        yield f"Its largest significant losses: {losses}."


def names_sentences(names: NameGaps, profile: Profile) -> Iterator[str]:
    """What other names cost."""
    gap = names.overall
    yield (
        f"With paraphrased instructions it succeeds in {gap.kept:,} of {gap.kept_count:,} that keep every name "
        f"and in {gap.changed:,} of {gap.changed_count:,} that change one: {points(gap.change)} points "
        f"(95 % interval {between(gap.interval, 100)})."
    )


def pride_sentences(pride: Pride, profile: Profile) -> Iterator[str]:
    """Success weighted by the distance of the instruction."""
    over = profile.get(OVERESTIMATION)
    text = (
        f"Weighted by the distance of the instruction, success is PRIDE {number(pride.pride)} of 100 "
        f"({between(pride.interval)})"
    )
    if over is not None and over.interval is not None and not over.interval.low <= 0 <= over.interval.high:
        direction = "overestimates" if over.overestimation > 0 else "underestimates"
        text += (
            f"; the plain rate {direction} (by {signed(100 * over.overestimation)} %, "
            f"95 % interval {between(over.interval, 100)})"
        )
    yield text + "."


def pride_numbers(pride: Pride, profile: Profile) -> Iterator[KeyNumber]:
    """PRIDE."""
    about = "Success on paraphrases, each weighted by its distance from the original; 0 to 100."
    detail = f"{between(pride.interval)}; n = {pride.episodes:,}"
    yield KeyNumber("PRIDE", number(pride.pride), detail, about)


def overestimation_numbers(over: Overestimation, profile: Profile) -> Iterator[KeyNumber]:
    """By how much the success rate exceeds PRIDE."""
    about = "By how much the plain success rate on paraphrases exceeds PRIDE, as a share of that rate."
    yield KeyNumber.of("overestimation", percent(over.overestimation), over.interval, over.episodes, about)


def memorisation_sentences(found: Memorisation, profile: Profile) -> Iterator[str]:
    """How often the control's trajectory is repeated."""
    index = found.overall
    yield (
        f"In {index.alike:,} of {plural(index.count, 'episode')} whose change calls for another trajectory it "
        f"repeated the control's: memorisation index {number(index.index, 2)} "
        f"({between(index.interval, digits=2)})."
    )


def memorisation_numbers(found: Memorisation, profile: Profile) -> Iterator[KeyNumber]:
    """The memorisation index."""
    index = found.overall
    about = "Share of episodes whose change calls for another trajectory that repeat the control's."
    yield KeyNumber.of("memorisation index", number(index.index, 2), index.interval, index.count, about, 1)


def failures_sentences(found: Failures, profile: Profile) -> Iterator[str]:
    """Failures of planning and of execution."""
    if found.far_share is not None:
        idle = f"; {found.idle:,} of them touched and moved nothing" if found.idle else ""
        yield (
            f"Of {plural(found.failures, 'failure')} in an unperturbed scene that can be judged, {found.far['max']:,} "
            f"({percent(found.far_share)}, 95 % interval {between(found.interval, 100)}) are far from the "
            f"successful trajectory (planning{idle}), {found.near['max']:,} close to it (execution){_unjudged(found)}."
        )


def failures_numbers(found: Failures, profile: Profile) -> Iterator[KeyNumber]:
    """The share of far failures."""
    if found.far_share is not None:
        about = "Share of failures in an unperturbed scene that are far from the successful trajectory"
        number = KeyNumber.of(
            "far failures",
            percent(found.far_share),
            found.interval,
            found.failures,
            f"{about}{_unjudged(found)}.",
        )
        every = found.failures + found.unjudged
        yield replace(number, detail=f"{number.detail} of {every:,}") if found.unjudged else number


def _unjudged(found: Failures) -> str:
    """How many failures could not be judged, and why."""
    if not found.unjudged:
        return ""
    return (
        f"; {plural(found.unjudged, 'failure')} more could not be judged, for want of "
        f"{found.rule.least_successes} successes of the task to compare with"
    )
