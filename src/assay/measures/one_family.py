"""A run's profile as a page shows it: every difference with the one p of the diagnosis.

What is tested is one family, so that a page must not show a second p for the same difference, or call certain in a
figure what the diagnosis does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from assay.measures.attribution import ATTRIBUTION, Attribution, Effect
from assay.measures.evidence import one_sided_p
from assay.measures.failure.starts import STARTS
from assay.measures.family import SEARCHED
from assay.measures.profile import Profile
from assay.measures.search import by_axis
from assay.measures.success.drops import AXES, CHANGES, DROPS, Drop
from assay.measures.success.other_tasks import OTHER_TASKS, fair
from assay.support.stats.intervals import Interval, tested
from assay.support.stats.significance import holm

Adjusted = Mapping[tuple[int, str, str], float]
"""Run, measure and part (a change, an axis, a condition) -> p, one-sided, adjusted for the whole family."""


def shown(profile: Profile, p: Adjusted, run: int = 0) -> Profile:
    """The profile of a run with the p of the family, and requests for other tasks against what was asked for."""
    mine = {(measure, part): value for (which, measure, part), value in p.items() if which == run}
    other = profile.get(OTHER_TASKS)
    parts: dict[str, object] = {}
    for measure in (CHANGES, AXES, DROPS):
        if (found := profile.get(measure)) is not None:
            right = by_axis(profile) if measure is AXES else fair(found, other)
            parts[measure.name] = tuple(_with_p(measure.name, drop, mine) for drop in right)
    if (effects := profile.get(ATTRIBUTION)) is not None:
        starts = profile.get(STARTS)
        telling = effects.starts if starts is None else starts.count - starts.failures
        parts[ATTRIBUTION.name] = _attribution(effects, mine, telling)
    return profile.replaced(**parts)


def _with_p(measure: str, drop: Drop, p: Mapping[tuple[str, str], float]) -> Drop:
    """A drop with the p of the family. A flaw may be tested on more than this drop, as a factor is in all
    combinations: then what the drop's own episodes cannot make certain is not certain in its row."""
    known = p.get((measure, str(next(iter(drop.group.values())))))
    if known is None or not drop.plausible:
        return drop
    return replace(drop, p_holm=max(known, one_sided_p(drop.change, drop.p)))


def _attribution(found: Attribution, p: Mapping[tuple[str, str], float], telling: int) -> Attribution:
    """Main effects have the p of their change; interactions are looked for, and adjusted for each other.

    An interval reaches to 0 where so few starts could not exclude that in an exact test.
    """
    changes = {contrast.factor: str(contrast.change) for contrast in found.contrasts}
    several = [each for each in found.effects if len(each.factors) > 1]
    raised = iter(holm([each.p for each in several]))

    def effect(each: Effect) -> Effect:
        if len(each.factors) > 1:
            return replace(each, p=min(1.0, next(raised) / SEARCHED))
        return replace(each, p=p.get((CHANGES.name, changes.get(each.factors[0], "")), each.p))

    least = 2.0 ** (1 - telling)

    def wide(interval: Interval | None) -> Interval | None:
        return None if interval is None else tested(interval, least)

    return replace(
        found,
        effects=tuple(effect(each) for each in found.effects),
        drop_interval=wide(found.drop_interval),
        shares=tuple(replace(share, interval=wide(share.interval)) for share in found.shares),
    )
