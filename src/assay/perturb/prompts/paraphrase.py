"""The same prompt in other words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.perturb.base import perturbation
from assay.perturb.prompts.grammar import worded
from assay.perturb.table import TablePerturbation
from assay.tabletop import TableTask


@perturbation
@dataclass(frozen=True, slots=True)
class Paraphrase(TablePerturbation):
    """On the table: says the same in other words, with every picture, number, direction and invented word."""

    kind: ClassVar[str] = "words/prompt_paraphrase"

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """The task in other words than its own. Raises PerturbationError if it is not in its own."""
        return replace(task, prompt=task.prompt.saying(worded(task, rng)))
