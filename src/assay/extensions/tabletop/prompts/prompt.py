"""Prompts: instructions with images in their text."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass, replace
from importlib.resources import files
from types import MappingProxyType
from typing import Literal

from assay.errors import TaskError, did_you_mean
from assay.extensions.tabletop.world.scene import TableItem, TableScene
from assay.tasks import Instruction

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
"""Pattern of an image's placeholder in a text."""
_PICTURE_SCALE = {"small block": 3.0}
"""Magnification of shapes that are too small to be recognised in an image of a single object."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image in a prompt: a single object or an entire table. Rendered by the TableRenderer when needed."""

    kind: Literal["object", "scene"]
    scene: TableScene

    @property
    def words(self) -> str:
        """The content of the image in words."""
        item_words = ", ".join(item.words for item in self.scene.items)
        return item_words if self.kind == "object" else f"a table with {item_words}"


def portrait(item: TableItem, *, texture: str | None = None) -> Picture:
    """Return an image of an object on a white background; ``texture`` replaces its texture."""
    factor = _PICTURE_SCALE.get(item.shape, 1.0)
    size = (item.size[0] * factor, item.size[1] * factor, item.size[2] * factor)
    # Letters stand upright; what is marked on the table is shown as it lies there.
    marking = item.solid.flat and not item.solid.container
    yaw = 0.0 if marking else math.pi / 2
    posed = TableItem(item.name, item.shape, texture or item.texture, 0.5, 0.0, yaw, size=size, fixed=True)
    return Picture("object", TableScene((posed,), table=False))


def scene_picture(*items: TableItem) -> Picture:
    """Return an image of a table with objects."""
    return Picture("scene", TableScene(items))


@dataclass(frozen=True, slots=True)
class Prompt(Instruction):
    """A multimodal instruction: a text with placeholders such as ``{base_obj}``, and the image of each.

    Paraphrases keep the placeholders; see `saying`.
    """

    pictures: tuple[tuple[str, Picture], ...] = ()
    """Name and image of each placeholder."""

    def __post_init__(self) -> None:
        pictures = dict(self.pictures)
        for used in self.placeholders:
            wrong = f"the prompt '{self.text}' has a placeholder '{{{used}}}' without an image"
            if used not in pictures:
                raise TaskError(f"{wrong}: {did_you_mean(used, pictures)}")
            if not pictures[used].scene.items:
                raise TaskError(f"{wrong}: expected an image of at least one object")
        if set("{}") & set(PLACEHOLDER.sub("", self.text)):
            raise TaskError(f"the prompt '{self.text}' has an unmatched brace; expected {{name}}")

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The names in braces, in reading order."""
        return tuple(PLACEHOLDER.findall(self.text))

    def saying(self, text: str) -> Prompt:
        """Return a prompt with another text and the images used in it. Raise TaskError for an unknown placeholder."""
        used = PLACEHOLDER.findall(text)
        worded = replace(self, text=text)
        return replace(worded, pictures=tuple(picture for picture in self.pictures if picture[0] in used))

    @property
    def segments(self) -> tuple[str | Picture, ...]:
        """Words and images in reading order."""
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
        """The entire prompt as text, with descriptions of the images in brackets."""
        pictures = dict(self.pictures)
        return PLACEHOLDER.sub(lambda match: f"[{pictures[match[1]].words}]", self.text)


OPEN = re.compile(r"<(\w+)>")
"""Pattern of a field in a template."""
_GROUPS = tomllib.loads(files(__package__).joinpath("wordings.toml").read_text(encoding="utf-8"))
ORIGINALS, TEMPLATES, WORDS, SYNONYMS = (
    MappingProxyType({name: tuple(texts) for name, texts in _GROUPS[group].items()})
    for group in ("originals", "templates", "words", "synonyms")
)
"""Original wordings and paraphrase templates by task kind, interchangeable words, and synonyms of commands."""


def original(kind: str, *, form: int = 0, **fields: str) -> str:
    """Return the original wording of a kind of task with its fields filled in."""
    return OPEN.sub(lambda place: fields[place[1]], ORIGINALS[kind][form])
