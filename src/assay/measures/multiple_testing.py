"""Correction for multiple testing in a diagnosis: at most 5 % of reports on a flawless policy claim a flaw.

Four fifths of the 5 % are allotted to flaws named in advance, one fifth to patterns found by search; both are adjusted
by Holm's method. A test that cannot reach significance with so few starts is not counted (Tarone).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.measures.attribution import ATTRIBUTION
from assay.measures.failure.starts import STARTS
from assay.measures.findings import one_sided_p
from assay.measures.measure import Profile
from assay.measures.success.drops import AXES, CHANGES, DROPS, Drop, pool_drops
from assay.measures.success.other_tasks import OTHER_TASKS, replace_other_tasks
from assay.support.stats.intervals import Interval, widen_to_p
from assay.support.stats.significance import SURE, holm

NAMED_SHARE = 0.8
"""Fraction of the 5 % error rate allotted to flaws named in advance."""
SEARCHED_SHARE = 1 - NAMED_SHARE
"""Fraction of the 5 % error rate allotted to patterns found by search."""
AdjustedP = Mapping[tuple[int, str, str], float]
"""One-sided p value, adjusted for its family, by run, measure and part (a change, an axis, a condition)."""


def adjust(values: Sequence[float], least: Sequence[float], part: float = NAMED_SHARE) -> list[float]:
    """Return the one-sided p values of a family of tests, adjusted for comparison with 5 %.

    ``least`` is the smallest attainable p value of each test, and ``part`` the fraction of the 5 % allotted to the
    family. A test that cannot be significant is adjusted as if it alone were added to those that can.
    """
    able = [place for place, bound in enumerate(least) if bound < part * SURE]
    raised = [min(1.0, value * (len(able) + 1) / part) for value in values]
    for place, p in zip(able, holm([values[place] for place in able]), strict=True):
        raised[place] = min(1.0, p / part)
    return raised


def least_adjusted(place: int, values: Sequence[float], least: Sequence[float]) -> float:
    """Return the smallest attainable adjusted p value of one test for a named flaw, given the others."""
    bound = [*values[:place], least[place], *values[place + 1 :]]
    return adjust(bound, least)[place]


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
        with_p = []
        drops = (
            replace_other_tasks(drops, profile.get(OTHER_TASKS))
            if measure is not AXES
            else drops_by_axis(profile)
        )
        for drop in drops:
            p = own.get((measure.name, str(next(iter(drop.group.values())))))
            if p is not None and drop.plausible:
                # A flaw may be tested on more than this drop, for example a factor in all combinations. The drop is
                # then not more significant than its own episodes allow.
                drop = replace(drop, p_holm=max(p, one_sided_p(drop.change, drop.p)))
            with_p.append(drop)
        parts[measure.name] = tuple(with_p)
    if (attribution := profile.get(ATTRIBUTION)) is not None:
        starts = profile.get(STARTS)
        telling = attribution.starts if starts is None else starts.count - starts.failures

        def widen(interval: Interval | None) -> Interval | None:  # to 0 if an exact test could not exclude 0
            return None if interval is None else widen_to_p(interval, 2.0 ** (1 - telling))

        # Main effects have the p value of their change; interactions, which are searched for, are adjusted together.
        changes = {contrast.factor: str(contrast.change) for contrast in attribution.contrasts}
        raised = iter(holm([effect.p for effect in attribution.effects if len(effect.factors) > 1]))
        parts[ATTRIBUTION.name] = replace(
            attribution,
            effects=tuple(
                replace(effect, p=min(1.0, next(raised) / SEARCHED_SHARE))
                if len(effect.factors) > 1
                else replace(effect, p=own.get((CHANGES.name, changes.get(effect.factors[0], "")), effect.p))
                for effect in attribution.effects
            ),
            drop_interval=widen(attribution.drop_interval),
            shares=tuple(replace(share, interval=widen(share.interval)) for share in attribution.shares),
        )
    return Profile(profile.planned, profile.done, profile.errors, {**profile, **parts})
