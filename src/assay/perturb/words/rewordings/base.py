"""Changing the words of a task, and nothing else."""

from __future__ import annotations

import unicodedata
from abc import abstractmethod
from dataclasses import replace

import numpy as np

from assay.episodes import Change, Effect, Perturbation
from assay.errors import PerturbationError
from assay.tasks import Instruction, Scene, Task


class TextPerturbation(Perturbation):
    """Says the same task in other words."""

    __slots__ = ()
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING

    @abstractmethod
    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """Another text for an instruction on one line with single spaces. Raises PerturbationError."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The task in other words.

        Raises PerturbationError, which names the kind and the task, for an instruction without words or with
        control characters, and for one that cannot be reworded.
        """
        text = " ".join(task.instruction.text.split())
        try:
            if not text:
                raise PerturbationError("the instruction is empty: there is nothing to reword")
            if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
                raise PerturbationError("the instruction holds control characters")
            return replace(task, instruction=Instruction(self.reword(text, task.scene, rng)))
        except PerturbationError as error:
            raise PerturbationError(f"{self.kind}: {task.id}: {error}") from None
