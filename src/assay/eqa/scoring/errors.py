"""What errors are about: which components of an action, and which kind of mistake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.eqa.actions import Level
from assay.eqa.annotations import Mistake, group_of
from assay.eqa.scoring.sheet import COMPONENTS, Sheet
from assay.measures.result import Result


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
    """The rate in the sum of all three rates; None without errors."""


@dataclass(frozen=True, slots=True)
class MistakeCount(Result):
    """How often a kind of mistake was marked."""

    model: str
    level: str
    group: str
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
    has, wrong = sheet.has[chosen], right[chosen] == 0
    asked, errors = has.sum(axis=0), (has & wrong[:, None]).sum(axis=0)
    rates = errors / np.maximum(asked, 1)
    total = rates.sum()
    return tuple(
        Component(name, int(n), int(e), float(rate), float(rate / total) if total else None)
        for name, n, e, rate in zip(COMPONENTS, asked, errors, rates, strict=True)
    )


def mistakes(sheet: Sheet, marks: Sequence[Mistake]) -> tuple[MistakeCount, ...]:
    """How often each kind of mistake was marked; marks of other questions are left out."""
    levels = {question.id: str(question.kind.level) for question in sheet.questions}
    counts = Counter(
        (mark.model, levels[mark.question], group_of(mark.category), mark.category, mark.marker)
        for mark in marks
        if mark.question in levels
    )
    return tuple(MistakeCount(*what, count) for what, count in sorted(counts.items()))
