"""What errors are about: which components of an action, and which kind of mistake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.extensions.eqa.actions import Level
from assay.extensions.eqa.annotations import Mistake, group_of
from assay.extensions.eqa.scoring.sheet import COMPONENTS, DIMENSIONS, Sheet
from assay.measures.result import Result
from assay.support.stats.intervals import Interval, share_interval


@dataclass(frozen=True, slots=True)
class Component(Result):
    """Errors in questions about actions with translation, rotation or gripper."""

    component: str
    questions: int
    """Whose action has it."""
    errors: int
    rate: float
    """errors / questions"""
    proportion: float | None
    """The rate in the sum of all three rates; None without errors, and for single dimensions."""
    interval: Interval | None = None
    """Of the rate, Wilson's over episodes; None without questions."""


@dataclass(frozen=True, slots=True)
class MistakeCount(Result):
    """How often a kind of mistake was marked."""

    model: str
    level: str
    direction: str
    """prediction or inference"""
    group: str
    part: str
    """Of the group: the taxonomy's middle tier."""
    category: str
    marker: str
    """``hand: NAME`` or ``judge: MODEL``."""
    count: int


def components(
    sheet: Sheet, right: np.ndarray, level: Level = Level.MID, within: np.ndarray | None = None
) -> tuple[Component, ...]:
    """Normalised error rates at one level: each per question that has the component."""
    chosen = (right >= 0) & (sheet.level == str(level))
    if within is not None:
        chosen &= within
    if not chosen.any():
        return ()
    found = [_rate(sheet, name, chosen & sheet.has[:, place], right) for place, name in enumerate(COMPONENTS)]
    total = sum(each.rate for each in found)
    return tuple(replace(each, proportion=each.rate / total if total else None) for each in found)


def dimensions(sheet: Sheet, right: np.ndarray, level: Level) -> tuple[Component, ...]:
    """Error rates at one level of questions whose action has each of the seven dimensions."""
    chosen = (right >= 0) & (sheet.level == str(level))
    if not chosen.any():
        return ()
    return tuple(
        _rate(sheet, name, chosen & sheet.moved[:, place], right) for place, name in enumerate(DIMENSIONS)
    )


def _rate(sheet: Sheet, name: str, chosen: np.ndarray, right: np.ndarray) -> Component:
    asked, errors = int(chosen.sum()), int((right[chosen] == 0).sum())
    if not asked:
        return Component(name, 0, 0, 0.0, None)
    tried, missed = sheet.per_cluster(chosen), sheet.per_cluster(chosen & (right == 0))
    used = tried > 0
    return Component(
        name, asked, errors, errors / asked, None, share_interval(missed[used], tried[used], float(asked))
    )


def mistakes(sheet: Sheet, marks: Sequence[Mistake]) -> tuple[MistakeCount, ...]:
    """How often each kind of mistake was marked; marks of other questions are left out."""
    kinds = {question.id: question.kind for question in sheet.questions}
    counts = Counter(
        (
            mark.model,
            str(kinds[mark.question].level),
            "prediction" if kinds[mark.question].predicts else "inference",
            *group_of(mark.category),
            mark.category,
            mark.marker,
        )
        for mark in marks
        if mark.question in kinds
    )
    return tuple(MistakeCount(*what, count) for what, count in sorted(counts.items()))
