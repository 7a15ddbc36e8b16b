"""Prompts: an Instruction whose text has pictures in it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from assay.errors import TaskError, did_you_mean
from assay.tabletop.scene import Item, TableScene
from assay.tasks import Instruction

_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_SHOWN_LARGER = {"small block": 3.0}
"""Things too small to be recognised in a picture of their own."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Something a prompt shows: one object by itself, or a whole table. Drawn by the Studio when needed."""

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

    Whoever changes the wording replaces ``text`` and keeps the placeholders.
    """

    pictures: tuple[tuple[str, Picture], ...] = ()
    """The name of each placeholder and its picture."""

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raise TaskError if a placeholder stands for nothing."""
        names = [name for name, _ in self.pictures]
        for used in _PLACEHOLDER.findall(self.text):
            if used not in names:
                raise TaskError(
                    f"the prompt '{self.text}' has a placeholder '{{{used}}}' that stands for no object: "
                    f"{did_you_mean(used, names)}"
                )

    @property
    def segments(self) -> tuple[str | Picture, ...]:
        """Words and pictures in the order they are read."""
        pictures = dict(self.pictures)
        segments: list[str | Picture] = []
        for index, part in enumerate(_PLACEHOLDER.split(self.text)):
            if index % 2:
                segments.append(pictures[part])
            elif part.strip():
                segments.append(part.strip())
        return tuple(segments)

    @property
    def words(self) -> str:
        """The whole prompt in words, pictures described in brackets."""
        pictures = dict(self.pictures)
        return _PLACEHOLDER.sub(lambda match: f"[{pictures[match[1]].words}]", self.text)
