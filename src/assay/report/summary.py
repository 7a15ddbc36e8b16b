"""A run in plain sentences made from its numbers, and the few numbers that matter most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from assay.measures.measure import MEASURES
from assay.measures.profile import Profile
from assay.measures.result import Missing, attempt
from assay.measures.success.rates import SUCCESS_RATE
from assay.measures.views.wording import (
    KeyNumber,
    listed,
    percent,
    plural,
)
from assay.measures.words.pride import OVERESTIMATION, PRIDE
from assay.report.run_report import RunReport

_MOST = 3
"""Conditions and reasons that are told one by one."""


def sentences(profile: Profile) -> list[str]:
    """Results of a run in sentences, the most important first."""
    texts: list[str] = []
    for name in profile:
        show, value = MEASURES[name].sentences, profile.get(name)
        if show is not None and value is not None:
            made = attempt(lambda make, result: list(make(result, profile)), show, value)
            texts += [f"The summary of {name} {made.missing}."] if isinstance(made, Missing) else made
    return texts


def key_numbers(profile: Profile) -> list[KeyNumber]:
    """Key numbers of a run."""
    numbers: list[KeyNumber] = []
    for name in profile:
        show, value = MEASURES[name].numbers, profile.get(name)
        if show is not None and value is not None:
            made = attempt(lambda make, result: list(make(result, profile)), show, value)
            numbers += [] if isinstance(made, Missing) else made
    return numbers


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
