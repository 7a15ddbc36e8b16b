"""The same task without words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.perturb.base import perturbation
from assay.tasks import Instruction, Task


@perturbation
@dataclass(frozen=True, slots=True)
class Mask:
    """Tells the policy nothing: the instruction's text is empty."""

    kind: ClassVar[str] = "words/mask"
    rebuilds: ClassVar[bool] = False
    plausible: ClassVar[bool] = False

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The task with a blank instruction."""
        return replace(task, instruction=Instruction(""))
