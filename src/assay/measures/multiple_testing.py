"""Correction for multiple testing in a diagnosis: at most 5 % of reports on a flawless policy claim a flaw.

Tests of flaws named in advance are adjusted by Holm's method. A test that cannot reach significance with so few starts
is not counted (Tarone). Rows of tables that test no such flaw (single conditions, axes, interactions) are a family of
their own. Patterns found by search are exploratory: the search controls their false discovery rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.measures.attribution import ATTRIBUTION
from assay.measures.failure.starts import STARTS
from assay.measures.measure import Profile
from assay.measures.success.drops import AXES, CHANGES, DROPS, Drop, pool_drops
from assay.measures.success.other_tasks import OTHER_TASKS, replace_other_tasks
from assay.support.stats.intervals import Interval, widen_to_p
from assay.support.stats.significance import SURE, holm

AdjustedP = Mapping[tuple[int, str, str], float]
"""One-sided p value of a row's own test, adjusted for its family, by run, measure and part (a change, an axis, a
condition)."""


def adjust(values: Sequence[float], least: Sequence[float]) -> list[float]:
    """Return the one-sided p values of a family of tests, adjusted for comparison with 5 %.

    ``least`` is the smallest attainable p value of each test. A test that cannot be significant is adjusted as if it
    alone were added to those that can.
    """
    able = [place for place, bound in enumerate(least) if bound < SURE]
    raised = [min(1.0, value * (len(able) + 1)) for value in values]
    for place, p in zip(able, holm([values[place] for place in able]), strict=True):
        raised[place] = p
    return raised


def adjust_instead(place: int, p: float, values: Sequence[float], least: Sequence[float]) -> float:
    """Return the adjusted p value that one test for a named flaw would have with the unadjusted value ``p``."""
    return adjust([*values[:place], p, *values[place + 1 :]], least)[place]


def drops_by_axis(profile: Profile) -> tuple[Drop, ...]:
    """Return the cost of each axis, excluding requests for other tasks, which are compared with other controls."""
    other, drops = profile.get(OTHER_TASKS), profile.get(AXES) or ()
    if other is None or not len(other.rows):
        return drops
    same: dict[object, list[Drop]] = {}
    requests = set(other.rows["condition"])
    for drop in profile.get(DROPS) or ():
        if drop.plausible and drop.group["condition"] not in requests:
            same.setdefault(drop.family, []).append(drop)
    return tuple(
        replace(pool_drops(same[axis]), group=drop.group, family=drop.family)
        for drop in drops
        if (axis := drop.group["axis"]) in same
    )


def with_adjusted_p(profile: Profile, adjusted: AdjustedP, run: int = 0) -> Profile:
    """Return the profile of a run with the p values of the diagnosis, so that a page shows one p value per difference.

    Requests for other tasks are compared with the controls of the requested task.
    """
    own = {(measure, part): p for (which, measure, part), p in adjusted.items() if which == run}
    parts: dict[str, object] = {}
    for measure in (CHANGES, AXES, DROPS):
        if (drops := profile.get(measure)) is None:
            continue
        drops = (
            replace_other_tasks(drops, profile.get(OTHER_TASKS))
            if measure is not AXES
            else drops_by_axis(profile)
        )
        with_p = ((drop, own.get((measure.name, str(next(iter(drop.group.values())))))) for drop in drops)
        parts[measure.name] = tuple(
            replace(drop, p_holm=p) if p is not None and drop.plausible else drop for drop, p in with_p
        )
    if (attribution := profile.get(ATTRIBUTION)) is not None:
        starts = profile.get(STARTS)
        telling = attribution.starts if starts is None else starts.count - starts.failures

        def widen(interval: Interval | None) -> Interval | None:  # to 0 if an exact test could not exclude 0
            return None if interval is None else widen_to_p(interval, 2.0 ** (1 - telling))

        # Effects of changes that reveal a named flaw are tested by name; the others, such as interactions, by search.
        named = [own.get((ATTRIBUTION.name, " x ".join(effect.factors))) for effect in attribution.effects]
        effects = list(zip(attribution.effects, named, strict=True))
        searched = iter(holm([effect.p for effect, p in effects if p is None]))
        parts[ATTRIBUTION.name] = replace(
            attribution,
            effects=tuple(
                replace(effect, p_holm=next(searched) if p is None else p) for effect, p in effects
            ),
            drop_interval=widen(attribution.drop_interval),
            shares=tuple(replace(share, interval=widen(share.interval)) for share in attribution.shares),
        )
    return Profile(profile.planned, profile.done, profile.errors, {**profile, **parts})
