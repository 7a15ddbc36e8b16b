"""Prompts of which a part is hidden."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from assay.episodes import Change, Effect, perturbation
from assay.extensions.tabletop.perturb.base import TablePerturbation
from assay.extensions.tabletop.prompt import PLACEHOLDER, Prompt
from assay.extensions.tabletop.tasks import TableTask


class Part(StrEnum):
    """What of a prompt is hidden."""

    LANGUAGE = "language"
    VISUAL = "visual"
    INSTRUCTION = "instruction"


@perturbation
@dataclass(frozen=True, slots=True)
class PromptMask(TablePerturbation):
    """On the table: hides the words, the pictures or both. In a few tasks the rest still says what to do."""

    kind = "words/prompt_mask"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING
    plausible = False

    part: Part
    """What is hidden: the words, the pictures, or the whole instruction."""

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """The task with what is left of its prompt, which asks for nothing."""
        return replace(task, prompt=_left(task.prompt, self.part), asked=None)


def _left(prompt: Prompt, part: Part) -> Prompt:
    if part is Part.INSTRUCTION:
        return prompt.saying("")
    if part is Part.LANGUAGE:
        # The names of placeholders are words, too: they say what is to be moved, and where to.
        names = {name: f"picture_{i}" for i, name in enumerate(dict.fromkeys(prompt.placeholders), start=1)}
        text = " ".join(f"{{{names[name]}}}" for name in prompt.placeholders)
        shown = tuple((names[name], picture) for name, picture in prompt.pictures if name in names)
        return replace(prompt, text=text, pictures=shown)
    bare = " ".join(PLACEHOLDER.sub(" ", prompt.text).split())
    return prompt.saying(re.sub(r"[ ,:;]+(?=[.,:;])", "", bare))
