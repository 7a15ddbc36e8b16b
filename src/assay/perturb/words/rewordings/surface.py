"""The same words, written otherwise: punctuation, capitals, blanks and courtesy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from assay.episodes import Change, perturbation
from assay.errors import PerturbationError
from assay.perturb.words.rewordings.base import TextPerturbation
from assay.tasks import Scene


class Form(StrEnum):
    """What is done to how a sentence is written."""

    FULL_STOP = "full_stop"
    """A full stop at its end."""
    CAPITAL = "capital"
    """A capital for its first letter."""
    CAPITALS = "capitals"
    """Capitals for all letters."""
    TASK = "task"
    """"Task:" before it."""
    QUOTES = "quotes"
    """Quotation marks around it."""
    BLANKS = "blanks"
    """Two blanks for each."""
    PLEASE = "please"
    """"Please" before it."""


@perturbation
@dataclass(frozen=True, slots=True)
class Surface(TextPerturbation):
    """Writes the same words otherwise, in one respect: `put the bowl on the stove.`"""

    kind = "words/surface"
    change = Change.SURFACE

    form: Form
    """in which respect"""

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction, written otherwise. Raises PerturbationError where it is written so already."""
        written = _written(text, self.form)
        if written == text:
            raise PerturbationError(f"'{text}' is written so already ({self.form})")
        return written


def _written(text: str, form: Form) -> str:
    match form:
        case Form.FULL_STOP:
            return f"{text.rstrip('.')}."
        case Form.CAPITAL:
            return text[:1].upper() + text[1:]
        case Form.CAPITALS:
            return text.upper()
        case Form.TASK:
            return f"Task: {text}"
        case Form.QUOTES:
            return f'"{text}"'
        case Form.BLANKS:
            return text.replace(" ", "  ")
        case Form.PLEASE:
            return f"please {text}"
