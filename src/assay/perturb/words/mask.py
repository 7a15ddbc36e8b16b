"""The same task without words."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.tasks import Instruction, Task


@perturbation
@dataclass(frozen=True, slots=True)
class Mask(Perturbation):
    """Tells the policy nothing: the instruction's text is empty."""

    kind = "words/mask"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING
    plausible = False

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The task with a blank instruction."""
        return replace(task, instruction=Instruction(""))
