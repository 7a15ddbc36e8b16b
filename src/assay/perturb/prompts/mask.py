"""Prompts of which a part is hidden."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

import numpy as np

from assay.perturb.base import perturbation
from assay.perturb.fields import check
from assay.perturb.table import TablePerturbation
from assay.tabletop import TableTask
from assay.tabletop.prompt import PLACEHOLDER


class Part(StrEnum):
    """What of a prompt is hidden."""

    LANGUAGE = "language"
    VISUAL = "visual"
    INSTRUCTION = "instruction"


@perturbation
@dataclass(frozen=True, slots=True)
class PromptMask(TablePerturbation):
    """On the table: hides the words, the pictures or both. What is left does not say what is to be done."""

    kind: ClassVar[str] = "words/prompt_mask"
    plausible: ClassVar[bool] = False

    part: Part
    """What is hidden: the words, the pictures, or the whole instruction."""

    def __post_init__(self) -> None:
        check(self)

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """The task with what is left of its prompt, which asks for nothing."""
        return replace(task, prompt=task.prompt.saying(_left(task.prompt.text, self.part)), asked=None)


def _left(text: str, part: Part) -> str:
    if part is Part.INSTRUCTION:
        return ""
    if part is Part.LANGUAGE:
        return " ".join(place[0] for place in PLACEHOLDER.finditer(text))
    bare = " ".join(PLACEHOLDER.sub(" ", text).split())
    return re.sub(r"[ ,:;]+(?=[.,:;])", "", bare)
