"""Perturbations that change only the instruction."""

from __future__ import annotations

import unicodedata
from abc import abstractmethod
from dataclasses import replace

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.errors import PerturbationError
from assay.tasks import Instruction, Scene, Task


class TextPerturbation(Perturbation):
    """Base class of perturbations that reword the instruction of a task."""

    __slots__ = ()
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING

    @abstractmethod
    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """Return a reworded instruction, on one line with single spaces. Raises PerturbationError if there is none."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Return the task with a reworded instruction.

        Raises PerturbationError, which names the kind and the task, if the instruction is blank, contains control
        characters, or cannot be reworded.
        """
        text = " ".join(task.instruction.text.split())
        try:
            if not text:
                raise PerturbationError("the instruction is empty, so it cannot be reworded")
            if any(unicodedata.category(sign) in ("Cc", "Cs") for sign in text):
                raise PerturbationError("the instruction contains control characters")
            return replace(task, instruction=Instruction(self.reword(text, task.scene, rng)))
        except PerturbationError as error:
            raise PerturbationError(f"{self.kind}: {task.id}: {error}") from None


@perturbation
class Say(Perturbation):
    """Replaces the instruction with a given text."""

    kind = "words/say"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING

    text: str
    plausible: bool = True
    """Whether the new text still describes the task."""

    def __post_init__(self) -> None:
        if "\x00" in self.text:
            raise PerturbationError("words/say: the text contains a NUL character")

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Return the task with the given instruction."""
        return replace(task, instruction=Instruction(self.text))


@perturbation
class Mask(Perturbation):
    """Replaces the instruction with an empty text."""

    kind = "words/mask"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING
    plausible = False

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Return the task with an empty instruction."""
        return replace(task, instruction=Instruction(""))
