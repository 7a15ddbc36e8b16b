"""Prompts that name what they used to show."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.episodes import Change, Effect, perturbation
from assay.errors import PerturbationError
from assay.extensions.tabletop.perturb.base import TablePerturbation
from assay.extensions.tabletop.perturb.grammar import capitalise
from assay.extensions.tabletop.prompt import Picture
from assay.extensions.tabletop.tasks import TableTask
from assay.extensions.tabletop.textures import GREY

_DEFINITION = re.compile(r"This is a (\w+) (\{\w+\})\.")
_REFERENT = re.compile(r"(?:(\w+) )?\{(\w+)\}")
_SINGULAR, _PLURAL = ("any", "one"), ("two", "three", "four", "five", "all")
_NO_ARTICLE = (*_SINGULAR, *_PLURAL, "the", "same")


@perturbation
@dataclass(frozen=True, slots=True)
class TextReferents(TablePerturbation):
    """On the table: says in words what its pictures showed: ``Put the tiger letter A into the blue bowl.``"""

    kind = "words/prompt_referents"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING
    only: ClassVar[tuple[str, ...]] = ("T1", "T3", "T7", "T12", "T13", "T14", "T15", "T16", "T17")

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """The task with a prompt of words. Raises PerturbationError where names cannot say it all."""
        if not self.concerns(task.setting.task):
            raise PerturbationError(
                f"{self.kind}: {task.id}: its pictures say more than names can; valid: {', '.join(self.only)}"
            )
        pictures = dict(task.prompt.pictures)
        said = _DEFINITION.sub(r"\2 is a \1.", task.prompt.text)
        text = _REFERENT.sub(lambda found: _named(found[1], pictures[found[2]]), said)
        return replace(task, prompt=task.prompt.saying(capitalise(text)))


def _named(before: str | None, picture: Picture) -> str:
    """The word before a picture, and what it shows, with an article where one is missing."""
    (item,) = picture.scene.items
    # Grey stands for any texture: such a picture tells a shape and nothing else.
    name = item.shape if item.texture == GREY else item.words
    if before in _PLURAL:
        name += "es" if name.endswith("s") else "s"
    words = [before or "", "" if (before or "").lower() in _NO_ARTICLE else "the", name]
    return " ".join(filter(None, words))
