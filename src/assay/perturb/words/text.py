"""Changing the words of a task, and nothing else."""

from __future__ import annotations

import unicodedata
from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
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
