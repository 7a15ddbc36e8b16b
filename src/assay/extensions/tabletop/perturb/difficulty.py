"""The same kind of tabletop task, made harder."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assay.episodes import Change, Effect, perturbation
from assay.extensions.tabletop.perturb.base import TablePerturbation
from assay.extensions.tabletop.pools import Difficulty
from assay.extensions.tabletop.tasks import TableTask, make


@perturbation
@dataclass(frozen=True, slots=True)
class Harder(TablePerturbation):
    """A tabletop task at another difficulty: the seed draws a scene of the same kind and level."""

    kind = "world/harder"
    effects = frozenset({Effect.WORDS, Effect.LOOKS, Effect.PHYSICS, Effect.GOAL})
    change = Change.DIFFICULTY

    difficulty: Difficulty

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """The task drawn anew."""
        return make(replace(task.setting, difficulty=self.difficulty))
