"""Views of the table and prompts as tokens: words, and crops with boxes, one for each object or patch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from assay.extensions.tabletop.build import VIEWS
from assay.extensions.tabletop.observation import (
    ObjectTokens,
    TableObservation,
    object_tokens,
    patches,
    shown,
)
from assay.extensions.tabletop.prompt import Picture, Prompt

MOST = 32
"""How many places there are in an order; what comes later shares the last one."""
_WORD = re.compile(r"[^\W_]+|[^\w\s]")
_ROWS, _COLUMNS = 2, 4


class Form(StrEnum):
    """What one token of a picture is."""

    OBJECTS = "objects"
    PATCHES = "patches"


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """Both views of something as tokens. What cannot be seen has none."""

    crops: np.ndarray
    """uint8, (tokens, 32, 32, 3)."""
    boxes: np.ndarray
    """float32, (tokens, 4): centre x and y, height and width, as shares of the picture."""
    views: np.ndarray
    """int64, (tokens,): which of `VIEWS`."""
    places: np.ndarray
    """int64, (tokens,): the place in the order of its view."""
    form: Form

    def __len__(self) -> int:
        return len(self.crops)

    def only(self, kept: np.ndarray | slice) -> Sight:
        """Some of its tokens."""
        return Sight(self.crops[kept], self.boxes[kept], self.views[kept], self.places[kept], self.form)

    def permuted(self, rng: np.random.Generator) -> Sight:
        """The same in another order, alike in both views."""
        rank = rng.permutation(MOST)
        places = np.zeros_like(self.places)
        for view in np.unique(self.views):
            own = self.views == view
            places[own] = np.argsort(np.argsort(rank[self.places[own]]))
        return replace(self, places=places)


Segments = tuple[str | Sight, ...]
"""A prompt in reading order: single words and punctuation, and pictures."""


def seen(observation: TableObservation, form: Form) -> Sight:
    """What a policy sees of the table."""
    if form is Form.OBJECTS:
        return _of_objects([observation.objects(camera) for camera in VIEWS])
    return of_patches([observation.patches(camera) for camera in VIEWS])


def pictured(picture: Picture, form: Form) -> Sight:
    """What a prompt shows. Patches without any content are left out."""
    views = shown(picture)
    if form is Form.OBJECTS:
        return _of_objects([object_tokens(*views[camera], len(picture.scene.items)) for camera in VIEWS])
    sight = of_patches([patches(views[camera][0]) for camera in VIEWS])
    kept = (sight.crops != sight.crops[:, :1, :1]).any(axis=(1, 2, 3))
    return sight.only(kept)


def words(text: str) -> list[str]:
    """The words and punctuation of a text, in small letters."""
    return _WORD.findall(text.lower())


def segments(prompt: Prompt, form: Form) -> Segments:
    """A prompt as tokens; what is masked in it is not there."""
    parts: list[str | Sight] = []
    for segment in prompt.segments:
        parts.extend(words(segment) if isinstance(segment, str) else [pictured(segment, form)])
    return tuple(parts)


def joined(sights: Sequence[Sight]) -> Sight:
    """The tokens of several, one after the other."""
    return Sight(
        np.concatenate([each.crops for each in sights]),
        np.concatenate([each.boxes for each in sights]),
        np.concatenate([each.views for each in sights]),
        np.concatenate([each.places for each in sights]),
        sights[0].form,
    )


def _of_objects(views: list[ObjectTokens]) -> Sight:
    return _of_views([(view.crops[view.visible], view.boxes[view.visible]) for view in views], Form.OBJECTS)


def of_patches(views: list[np.ndarray]) -> Sight:
    """The patches of each view, (8, 32, 32, 3), as tokens."""
    row, column = np.divmod(np.arange(_ROWS * _COLUMNS), _COLUMNS)
    middle = np.column_stack([(column + 0.5) / _COLUMNS, (row + 0.5) / _ROWS])
    boxes = np.column_stack([middle, np.full_like(middle, (1 / _ROWS, 1 / _COLUMNS))])
    return _of_views([(crops, boxes) for crops in views], Form.PATCHES)


def _of_views(views: list[tuple[np.ndarray, np.ndarray]], form: Form) -> Sight:
    """From the crops and boxes of each view."""
    counts = [len(crops) for crops, _ in views]
    return Sight(
        np.concatenate([crops for crops, _ in views]),
        np.concatenate([boxes for _, boxes in views]).astype(np.float32),
        np.repeat(np.arange(len(views)), counts),
        np.minimum(np.concatenate([np.arange(count) for count in counts]), MOST - 1),
        form,
    )
