"""A perturbation of the words, and an experiment that uses it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

import assay
from assay.episodes import Change, Effect, Instruction
from assay.episodes.fields import within
from assay.tasks import Task


@assay.perturbation
@dataclass(frozen=True, slots=True)
class Shout(assay.Perturbation):
    """The instruction in capital letters."""

    kind = "words/shout"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING

    marks: int = within(0, 3, default=1)
    """Exclamation marks at the end."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The same task, told loudly."""
        return replace(task, instruction=Instruction(task.instruction.text.upper() + "!" * self.marks))


@assay.register("experiment", "shouting")
def shouting(most: int = 2) -> assay.Experiment:
    """Instructions in capital letters, with up to ``most`` exclamation marks."""

    def variants(task: Task) -> Iterator[assay.Variant]:
        for marks in range(most + 1):
            yield assay.Variant(f"shouting/marks={marks}", (Shout(marks),), {"marks": marks})

    return assay.Experiment(
        "shouting", "Does the policy mind being shouted at?", variants, tasks="libero_goal"
    )
