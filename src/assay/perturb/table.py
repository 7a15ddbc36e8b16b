"""Perturbations of tasks on the table: of their prompts, and of the order in which objects are seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from assay.tabletop import TableObservation, TableTask

Key = tuple[str | int, ...]
"""What the random streams of one perturbation in one episode hang on."""


@dataclass(frozen=True, slots=True)
class TablePerturbation(ABC):
    """Turns one task on the table into another. Tasks of the other world are refused by `perturbed`."""

    kind: ClassVar[str]
    rebuilds: ClassVar[bool] = False
    plausible: ClassVar[bool] = True
    """Whether a policy that understands can still do the task."""
    only: ClassVar[tuple[str, ...]] = ()
    """The kinds of task it is defined for, ``T1`` to ``T17``; all if there are none."""

    @classmethod
    def concerns(cls, kind: str) -> bool:
        """Whether it is defined for a kind of task."""
        return not cls.only or kind in cls.only

    @abstractmethod
    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """The changed task. Raises PerturbationError where it cannot be done."""


class TableFilter:
    """What one perturbation does in one episode. This one lets everything through."""

    def observe(self, observation: TableObservation) -> TableObservation:
        """What the policy gets in place of an observation; the observation itself stays as it is."""
        return observation


@dataclass(frozen=True, slots=True)
class TableSense(TablePerturbation):
    """A perturbation of what the policy sees of the table. The task stays as it is."""

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """The task itself."""
        return task

    @abstractmethod
    def begin(self, key: Key) -> TableFilter:
        """The filter of an episode whose random streams hang on ``key``."""


class TableSenses:
    """Passes observations on to the policy, changed by perturbations in turn; others are left out."""

    def __init__(self, perturbations: Iterable[Any], *, task: str, seed: int) -> None:
        self._filters: list[TableFilter] = []
        before: Counter[str] = Counter()
        for each in perturbations:
            if isinstance(each, TableSense):
                self._filters.append(each.begin((seed, "senses", task, each.kind, before[each.kind])))
                before[each.kind] += 1

    def observe(self, observation: TableObservation) -> TableObservation:
        """What the policy gets in place of an observation. Nothing is drawn."""
        for each in self._filters:
            observation = each.observe(observation)
        return observation
