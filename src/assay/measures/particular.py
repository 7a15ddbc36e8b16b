"""Particular cases: patterns that were looked for, are certain, and that no flaw has to do with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from assay.measures.evidence import Evidence
from assay.measures.findings import Claim, Finding, Verdict
from assay.measures.flaws import CONSEQUENCES, Flaw, shown_by
from assay.measures.profile import Profile
from assay.measures.search import FORMS, Kind, Pattern
from assay.measures.success.task_changes import TASK_CHANGES


def particular(
    patterns: Iterable[Pattern], here: Collection[str], profiles: Sequence[Profile]
) -> list[Finding]:
    """What is lost in particular cases and no flaw that was found has to do with; each case once."""
    known = {*here, *(flaw for cause in here for flaw in CONSEQUENCES.get(cause, ()))}
    changes = _changes_of_conditions(profiles)
    kept: list[Pattern] = []
    for pattern in patterns:
        if not pattern.sure or pattern.kind is Kind.AXIS:
            continue
        change = pattern.change or changes.get(pattern.what, "")
        if change and set(shown_by(change)) & known:
            continue
        if pattern.kind is Kind.SAYING and Flaw.WORDING in here and not pattern.task:
            continue
        if not any(_overlap(pattern, other) for other in kept):
            kept.append(pattern)
    if not kept:
        return []
    evidence = tuple(_case(each) for each in kept)
    return [Finding(Flaw.PARTICULAR, Verdict.FOUND, Claim.PRESENT, None, evidence, kept[0].p_adjusted)]


def _changes_of_conditions(profiles: Sequence[Profile]) -> dict[str, str]:
    found: dict[str, str] = {}
    for profile in profiles:
        if (value := profile.get(TASK_CHANGES)) is not None:
            found |= value.changes
    return found


def _overlap(one: Pattern, other: Pattern) -> bool:
    """Whether two cases share episodes, as far as their names tell: the surer one is told."""
    if (one.kind is Kind.SAYING) != (other.kind is Kind.SAYING):
        return False
    if one.task and other.task and one.task != other.task:
        return False
    if one.kind is not Kind.SAYING:
        return True
    ways = [set(FORMS.get(each.what, (each.what,))) for each in (one, other)]
    return bool(ways[0] & ways[1])


def _case(pattern: Pattern) -> Evidence:
    share, usual = pattern.hits / pattern.count, pattern.reference_hits / pattern.reference_count
    return Evidence(
        pattern.run,
        pattern.kind.name.lower(),
        pattern.what,
        share - usual,
        None,
        pattern.p,
        hits=pattern.hits,
        count=pattern.count,
        reference_hits=pattern.reference_hits,
        reference_count=pattern.reference_count,
        reference=usual,
        task=pattern.task,
    )
