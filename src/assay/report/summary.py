"""A run in plain sentences made from its numbers, and the few numbers that matter most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assay.episodes.spec import CONTROL
from assay.measures.clustering import UNVARIED
from assay.measures.diagnosis import Finding, Verdict
from assay.measures.profile import Profile
from assay.measures.result import Missing
from assay.report.figures.success import SURE
from assay.report.run_report import RunReport
from assay.report.tabletop import table_sentences
from assay.report.wording import (
    between,
    group_name,
    listed,
    number,
    p_phrase,
    percent,
    plural,
    points,
    signed,
)
from assay.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class KeyNumber:
    """A number to be seen first."""

    name: str
    value: str
    detail: str
    """Its interval and count."""


def sentences(profile: Profile) -> list[str]:
    """What happened, in plain words; the most important first."""
    parts = (_success, _tables, _costs, _names, _memory, _failures)
    return [sentence for part in parts for sentence in part(profile)]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What is wrong, in sentences; as they are shown."""

    found: tuple[str, ...]
    explained: tuple[str, ...]
    """Flaws that another one brings about."""
    others: tuple[str, ...]
    """What was looked for and is not there, or cannot be told."""

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> Diagnosis:
        """Findings in the order in which they are told."""
        said: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
        for each in findings:
            said[each.verdict].append(each.sentence)
        rest = (*said[Verdict.NOT_FOUND], *said[Verdict.CANNOT_TELL])
        return cls(tuple(said[Verdict.FOUND]), tuple(said[Verdict.EXPLAINED]), rest)

    @property
    def in_brief(self) -> str:
        """What was found, without the numbers."""
        return " ".join(f"{each.partition(': ')[0].rstrip('.')}." for each in self.found)


def perturbed(profile: Profile) -> bool:
    """Whether anything was changed that should not matter."""
    return any(each.group["perturbed"] for each in profile.tasks)


def key_numbers(profile: Profile) -> list[KeyNumber]:
    """The numbers of the summary that this run has."""
    found: list[KeyNumber] = []
    rates = {"success, perturbed": profile.success_rate, "success, control": profile.control}
    if not perturbed(profile):  # all of them are controls
        del rates["success, perturbed"]
    for name, rate in rates.items():
        if not isinstance(rate, Missing) and rate.rate is not None:
            found.append(
                KeyNumber(name, percent(rate.rate), f"{between(rate.interval, 100)}; n = {rate.count:,}")
            )
    if not isinstance(profile.tabletop, Missing):
        found += [
            KeyNumber(
                each.level,
                percent(each.allowed.score),
                f"{between(each.allowed.interval, 100)}; n = {each.count:,}",
            )
            for each in profile.tabletop.levels
            if each.condition == CONTROL
        ]
    if not isinstance(profile.pride, Missing):
        each = profile.pride
        found.append(
            KeyNumber("PRIDE", number(each.pride), f"{between(each.interval)}; n = {each.episodes:,}")
        )
    if not isinstance(profile.overestimation, Missing):
        over = profile.overestimation
        detail = f"{between(over.interval, 100)}; n = {over.episodes:,}"
        found.append(KeyNumber("overestimation", percent(over.overestimation), detail))
    if not isinstance(profile.memorisation, Missing):
        memory = profile.memorisation.overall
        detail = f"{between(memory.interval, digits=2)}; n = {memory.count:,}"
        found.append(KeyNumber("memorisation index", number(memory.index, 2), detail))
    if not isinstance(profile.failures, Missing) and profile.failures.far_share is not None:
        failures = profile.failures
        detail = f"{between(failures.interval, 100)}; n = {failures.failures:,}"
        found.append(KeyNumber("far failures", percent(failures.far_share), detail))
    return found


def banners(report: RunReport) -> list[str]:
    """What a reader must know before any number."""
    found = []
    profile = report.profile
    if not profile.planned:
        found.append("This run is empty: nothing is planned, nothing is done.")
    elif not profile.done:
        found.append(f"Nothing is done yet: 0 of {profile.planned:,} planned episodes.")
    elif report.waiting:
        found.append(
            f"Half finished: {profile.done:,} of {profile.planned:,} planned episodes are done, "
            f"{report.waiting:,} are to come. Numbers are of those done, which need not be a fair sample."
        )
    expected = int(report.meta.get("expected", 0))
    if expected > profile.planned:
        found.append(
            f"Part of an evaluation: {profile.planned:,} of its {expected:,} episodes are here, which need "
            "not be a fair sample."
        )
    if not isinstance(profile.pride, Missing) and profile.pride.unscored:
        every = profile.pride.episodes + profile.pride.unscored
        rest = "" if isinstance(over := profile.overestimation, Missing) else percent(over.success_rate)
        found.append(
            f"{profile.pride.unscored:,} of {every:,} paraphrased episodes have no distance, because the "
            f"metadata lacks their wordings: PRIDE and overestimation are of the others"
            + (f", of which {rest} succeed." if rest else ".")
        )
    broke = sum(profile.errors.values())
    if broke:
        found.append(
            f"{plural(broke, 'episode')} of {profile.done:,} ended in an error; errors enter no rate."
        )
    settings = report.meta.get("settings") or {}
    if "certificates" in settings and settings["certificates"] is None:
        found.append(
            "Uncertified: nobody has shown that these episodes can be solved; a failure may be the scene's."
        )
    rate = profile.success_rate
    demonstrates = str(report.meta.get("policy")).partition("?")[0] == "oracle"
    if demonstrates and not isinstance(rate, Missing) and rate.successes < rate.count:
        found.append(
            f"The demonstrator itself fails in {rate.count - rate.successes:,} of "
            f"{plural(rate.count, 'episode')} in which a good policy should succeed: nobody has shown that "
            "they can be solved in this time."
        )
    if report.damage:
        found.append(f"The file is damaged: {report.damage}")
    return found


def _success(profile: Profile) -> Iterator[str]:
    rate, control = profile.success_rate, profile.control
    if isinstance(rate, Missing):
        return
    changed = perturbed(profile)
    what = (
        "episodes in which something was changed that should not matter"
        if changed
        else "episodes, none of them perturbed"
    )
    text = (
        f"It succeeds in {rate.successes:,} of {rate.count:,} {what} ({percent(rate.rate)}, 95 % interval "
        f"{between(rate.interval, 100)})"
    )
    if changed and not isinstance(control, Missing):
        text += (
            f", and in {control.successes:,} of {plural(control.count, 'control')} ({percent(control.rate)})"
        )
    if rate.interval is not None and rate.interval.method.endswith(UNVARIED):
        text += f"; with {UNVARIED}"
    yield text + "."


def _tables(profile: Profile) -> Iterator[str]:
    if not isinstance(profile.tabletop, Missing):
        yield from table_sentences(profile.tabletop)


def _costs(profile: Profile) -> Iterator[str]:
    axes = () if isinstance(profile.axes, Missing) else profile.axes
    for each in sorted(axes, key=lambda drop: drop.change):
        name = group_name(each.group).replace("+", " and ")
        numbers = (
            f"{points(each.change)} points against the same starts unchanged, 95 % interval "
            f"{between(each.interval, 100)}, {p_phrase(each.p_holm)}"
        )
        effect = (
            "show no certain effect" if each.least_p < SURE else "cannot be judged: too few starts to tell"
        )
        if each.certain:
            verb = "cost" if each.change < 0 else "gain"
            effect = f"{verb} it {number(100 * abs(each.change))} points"
        yield f"Changes of the {name} {effect} ({numbers})."
    drops = () if isinstance(profile.drops, Missing) else profile.drops
    worst = [
        each
        for each in sorted(drops, key=lambda drop: drop.change)
        if each.plausible and each.change < 0 and each.certain
    ]
    if worst:
        yield (
            "Its largest certain losses: "
            + listed(
                f"{group_name(each.group)} ({percent(each.control, 0)} to {percent(each.perturbed, 0)})"
                for each in worst[:3]
            )
            + "."
        )


def _apart(interval: Interval | None) -> bool:
    """Whether an interval excludes zero."""
    return interval is not None and not interval.low <= 0 <= interval.high


def _names(profile: Profile) -> Iterator[str]:
    names, pride, over = profile.names, profile.pride, profile.overestimation
    if not isinstance(names, Missing):
        gap = names.overall
        yield (
            f"Told in other words, it succeeds in {gap.kept:,} of {gap.kept_count:,} where every name is "
            f"kept word for word and in {gap.changed:,} of {gap.changed_count:,} where one is changed: "
            f"{points(gap.change)} points (95 % interval {between(gap.interval, 100)})."
        )
    if not isinstance(pride, Missing):
        text = (
            f"Weighted by how far the words went, success is PRIDE {number(pride.pride)} of 100 "
            f"({between(pride.interval)})"
        )
        if not isinstance(over, Missing) and _apart(over.interval):
            direction = "flatters" if over.overestimation > 0 else "understates"
            text += (
                f"; the plain rate {direction} (overestimation {signed(100 * over.overestimation)} %, "
                f"95 % interval {between(over.interval, 100)})"
            )
        yield text + "."


def _memory(profile: Profile) -> Iterator[str]:
    found = profile.memorisation
    if isinstance(found, Missing):
        return
    each = found.overall
    yield (
        f"In {each.alike:,} of {plural(each.count, 'episode')} whose change calls for another path, the hand "
        f"went where it always goes: memorisation index {number(each.index, 2)} "
        f"({between(each.interval, digits=2)})."
    )


def _failures(profile: Profile) -> Iterator[str]:
    found = profile.failures
    if isinstance(found, Missing) or found.far_share is None:
        return
    idle = f"; {found.idle:,} of them touched and moved nothing" if found.idle else ""
    yield (
        f"Of {plural(found.failures, 'failure')} in an unchanged world, {found.far['max']:,} "
        f"({percent(found.far_share)}, 95 % interval {between(found.interval, 100)}) strayed from the path "
        f"of success (planning{idle}), {found.near['max']:,} stayed near it (execution)."
    )
