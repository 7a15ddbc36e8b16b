"""Is one letter right too often, or chosen too often?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.extensions.eqa.question import LETTERS, Kind
from assay.extensions.eqa.scoring.sheet import Sheet
from assay.measures.result import Result
from assay.support.stats.distributions import chi_square_above


@dataclass(frozen=True, slots=True)
class Letters(Result):
    """How often each letter occurs."""

    of: str
    """A kind, whose right answers these are; or a model, whose answers."""
    counts: tuple[int, ...]
    """A, B, C, D."""
    p: float
    """Of the chi-square test that all are as frequent."""

    @property
    def most(self) -> float:
        """What always giving the most frequent letter scores."""
        return max(self.counts) / sum(self.counts)


def right_letters(sheet: Sheet) -> tuple[Letters, ...]:
    """Of the right answers: all, and of each kind."""
    kinds = np.array([str(question.kind) for question in sheet.questions])
    there = [kind for kind in map(str, Kind) if (kinds == kind).any()]
    return (
        _letters("all", sheet.truth),
        *(_letters(kind, sheet.truth[kinds == kind]) for kind in there),
    )


def chosen_letters(sheet: Sheet) -> tuple[Letters, ...]:
    """Of each model's answers, where it gave any letter."""
    given = {name: model.letters[model.letters >= 0] for name, model in sheet.models.items()}
    return tuple(_letters(name, letters) for name, letters in given.items() if len(letters))


def _letters(of: str, places: np.ndarray) -> Letters:
    counts = np.bincount(places, minlength=len(LETTERS))
    squares = float(((counts - counts.mean()) ** 2).sum() / counts.mean())
    return Letters(of, tuple(counts.tolist()), chi_square_above(squares, len(counts) - 1))
