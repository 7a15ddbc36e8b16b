"""The same task in given words."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.errors import PerturbationError
from assay.tasks import Instruction, Task


@perturbation
@dataclass(frozen=True, slots=True)
class Say(Perturbation):
    """Tells the policy exactly this."""

    kind = "words/say"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING

    text: str
    plausible: bool = True
    """Whether it still says what is wanted."""

    def __post_init__(self) -> None:
        if "\x00" in self.text:
            raise PerturbationError("words/say: the text holds a NUL character")

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The task with another instruction."""
        return replace(task, instruction=Instruction(self.text))
