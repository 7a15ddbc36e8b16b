"""A perturbation of the instruction, and an experiment that uses it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from assay.plugin import (
    Change,
    Effect,
    Experiment,
    Instruction,
    Perturbation,
    Variant,
    perturbation,
    register,
    within,
)
from assay.tasks import Task


@perturbation
class Shout(Perturbation):
    """Writes the instruction in capital letters."""

    kind = "words/shout"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING

    marks: int = within(0, 3, default=1)
    """Number of exclamation marks at the end."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Return the task with its instruction in capital letters."""
        return replace(task, instruction=Instruction(task.instruction.text.upper() + "!" * self.marks))


@register("experiment", "shouting")
def shouting(most: int = 2) -> Experiment:
    """Instructions in capital letters with up to ``most`` exclamation marks."""

    def variants(task: Task) -> Iterator[Variant]:
        for marks in range(most + 1):
            yield Variant(f"shouting/marks={marks}", (Shout(marks),), {"marks": marks})

    return Experiment("shouting", "Do capital letters change success?", variants, tasks="libero_goal")
