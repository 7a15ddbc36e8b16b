"""What becomes of a line that breaks a rule, and the least that any line must be."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from assay.errors import PerturbationError
from assay.perturb.words.grid.cells import Cell
from assay.perturb.words.grid.rules import MAX_CHARACTERS, Flaw, plain_flaws
from assay.tasks import Task


class RuleUse(StrEnum):
    """What the rules of ``assay words verify`` are used for."""

    FILTER = "filter"
    """A line that breaks one is dropped before the model verifies it."""
    WARN = "warn"
    """It is kept, and its row says which."""
    OFF = "off"
    """They are not applied."""


class Sentences:
    """In the rules' place where they do not filter: a line must be a sentence, and not the original."""

    def __init__(self, task: Task) -> None:
        self._original = task.instruction.text
        if (
            not (self._original.strip() and self._original.isprintable())
            or len(self._original) > MAX_CHARACTERS
        ):
            raise PerturbationError(
                f"{task.id}: the instruction is no sentence of up to {MAX_CHARACTERS} characters"
            )

    def flaws(self, text: str, cell: Cell) -> Iterator[Flaw]:
        """Why a line is no sentence that can be used in any cell."""
        return (flaw for flaw in plain_flaws(text, self._original) if flaw[0] == "text")
