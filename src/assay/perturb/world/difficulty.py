"""The same kind of tabletop task, made harder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.perturb.base import perturbation
from assay.perturb.fields import check
from assay.perturb.table import TablePerturbation
from assay.tabletop import Difficulty, TableTask, make


@perturbation
@dataclass(frozen=True, slots=True)
class Harder(TablePerturbation):
    """A tabletop task at another difficulty: the seed draws a scene of the same kind and level."""

    kind: ClassVar[str] = "world/harder"
    rebuilds: ClassVar[bool] = True
    plausible: ClassVar[bool] = True

    difficulty: Difficulty

    def __post_init__(self) -> None:
        check(self)

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """The task drawn anew."""
        return make(replace(task.setting, difficulty=self.difficulty))
