"""Means in which each kind of question counts the same, however many data sets and questions it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.extensions.eqa.actions import Level
from assay.extensions.eqa.question import Kind

Cell = tuple[str, Kind]
"""A data set and a kind."""

PARTS: Mapping[str, tuple[Kind, ...]] = {
    "overall": tuple(Kind),
    **{str(level): tuple(kind for kind in Kind if kind.level is level) for level in Level},
    "prediction": tuple(kind for kind in Kind if kind.predicts),
    "inference": tuple(kind for kind in Kind if not kind.predicts),
}
"""What is averaged, by name."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The mean over data sets of each kind, and then over kinds: which cells are averaged first."""

    groups: tuple[tuple[int, ...], ...]
    """The places of each kind's cells."""

    @classmethod
    def of(cls, cells: Sequence[Cell], kinds: Sequence[Kind]) -> Hierarchy:
        """Of cells, in order; those of other kinds do not count."""
        groups = (tuple(place for place, (_, mine) in enumerate(cells) if mine is kind) for kind in kinds)
        return cls(tuple(group for group in groups if group))

    def weights(self, cells: int) -> np.ndarray:
        """How much each of so many cells counts in the mean: (cells,)."""
        found = np.zeros(cells)
        for group in self.groups:
            found[list(group)] = 1 / (len(self.groups) * len(group))
        return found

    def mean(self, shares: np.ndarray) -> np.ndarray:
        """The means of shares (..., cells)."""
        return np.asarray(np.mean([shares[..., group].mean(axis=-1) for group in self.groups], axis=0))
