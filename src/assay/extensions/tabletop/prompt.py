"""Prompts: an Instruction whose text has pictures in it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Literal

from assay.errors import TaskError, did_you_mean
from assay.extensions.tabletop.scene import Item, TableScene
from assay.tasks import Instruction

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
"""What stands for a picture in a text."""
_SHOWN_LARGER = {"small block": 3.0}
"""Things too small to be recognised in a picture of their own."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Something a prompt shows: one object by itself, or a whole table. Drawn by the TableRenderer when needed."""

    kind: Literal["object", "scene"]
    scene: TableScene

    @property
    def words(self) -> str:
        """What it shows, in words."""
        shown = ", ".join(item.words for item in self.scene.items)
        return shown if self.kind == "object" else f"a table with {shown}"


def portrait(item: Item, *, texture: str | None = None) -> Picture:
    """An object alone in a white nowhere, as prompts show it; of another texture if one is given."""
    factor = _SHOWN_LARGER.get(item.shape, 1.0)
    size = (item.size[0] * factor, item.size[1] * factor, item.size[2] * factor)
    # Letters stand upright; what is marked on the table is shown as it lies there.
    marking = item.solid.flat and not item.solid.container
    yaw = 0.0 if marking else math.pi / 2
    posed = Item(item.name, item.shape, texture or item.texture, 0.5, 0.0, yaw, size=size, fixed=True)
    return Picture("object", TableScene((posed,), table=False))


def view(*items: Item) -> Picture:
    """A table with things on it."""
    return Picture("scene", TableScene(items))


@dataclass(frozen=True, slots=True)
class Prompt(Instruction):
    """What the policy is told: a text with placeholders such as ``{base_obj}``, and what they stand for.

    Whoever changes the wording keeps the placeholders; see `saying`.
    """

    pictures: tuple[tuple[str, Picture], ...] = ()
    """The name of each placeholder and its picture."""

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raise TaskError if a placeholder stands for nothing, or is none."""
        pictures = dict(self.pictures)
        for used in self.placeholders:
            wrong = f"the prompt '{self.text}' has a placeholder '{{{used}}}' that stands for no object"
            if used not in pictures:
                raise TaskError(f"{wrong}: {did_you_mean(used, pictures)}")
            if not pictures[used].scene.items:
                raise TaskError(f"{wrong}: its picture is empty; valid: a picture of one thing or more")
        if set("{}") & set(PLACEHOLDER.sub("", self.text)):
            raise TaskError(f"the prompt '{self.text}' has a brace without its partner; valid: {{name}}")

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The names in braces, in the order they are read."""
        return tuple(PLACEHOLDER.findall(self.text))

    def saying(self, text: str) -> Prompt:
        """Another text, with the pictures it shows and no others. Raises TaskError if it shows new ones."""
        used = PLACEHOLDER.findall(text)
        worded = replace(self, text=text)
        return replace(worded, pictures=tuple(each for each in self.pictures if each[0] in used))

    @property
    def segments(self) -> tuple[str | Picture, ...]:
        """Words and pictures in the order they are read."""
        pictures = dict(self.pictures)
        segments: list[str | Picture] = []
        for index, part in enumerate(PLACEHOLDER.split(self.text)):
            if index % 2:
                segments.append(pictures[part])
            elif part.strip():
                segments.append(part.strip())
        return tuple(segments)

    @property
    def words(self) -> str:
        """The whole prompt in words, pictures described in brackets."""
        pictures = dict(self.pictures)
        return PLACEHOLDER.sub(lambda match: f"[{pictures[match[1]].words}]", self.text)
