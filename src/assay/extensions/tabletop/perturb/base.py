"""Perturbations of tasks on the table."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

from assay.episodes import Change, Effect, Perturbation


@dataclass(frozen=True, slots=True)
class TablePerturbation(Perturbation, ABC):
    """Turns one task on the table into another; by default, by its prompt."""

    world = "tabletop"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING
    only: ClassVar[tuple[str, ...]] = ()
    """The kinds of task it is defined for, ``T1`` to ``T17``; all if there are none."""

    @classmethod
    def concerns(cls, kind: str) -> bool:
        """Whether it is defined for a kind of task."""
        return not cls.only or kind in cls.only
