"""Views of the table and prompts as tokens: words, and crops with boxes, one crop for each object or patch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, partial

import numpy as np

from assay.extensions.tabletop.prompts.prompt import Picture, Prompt
from assay.extensions.tabletop.world.model import EXTENT, VIEWS
from assay.extensions.tabletop.world.observation import (
    HEIGHT,
    PATCH,
    WIDTH,
    TableObservation,
    render_picture,
    render_scene,
)
from assay.extensions.tabletop.world.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW, TableScene

MAX_PLACES = 32
"""Number of distinct positions in the order of tokens; later tokens share the last one."""
_WORD = re.compile(r"[^\W_]+|[^\w\s]")
PATCH_ROWS, PATCH_COLUMNS = 2, 4
TOKEN_FIELDS = ("crops", "boxes", "views", "places")
"""Names of the arrays in `ViewTokens`."""
_TOP = VIEWS.index("top")
_FORESHORTENED = np.array([1.0 if view == "top" else np.sqrt(0.5) for view in VIEWS])
"""Foreshortening of displacements along x in each view; the front view looks down at 45 degrees."""
_HEIGHTS = np.array([EXTENT[view] for view in VIEWS])
"""Distance from the top to the bottom edge of each view, in metres."""


class TokenForm(StrEnum):
    """The content of an image token."""

    OBJECTS = "objects"
    PATCHES = "patches"


@dataclass(frozen=True, slots=True, eq=False)
class ViewTokens:
    """Tokens of both views of a scene or object; parts that are not visible have no tokens."""

    crops: np.ndarray
    """Cropped images: uint8, (tokens, 32, 32, 3)."""
    boxes: np.ndarray
    """float32, (tokens, 4): centre x and y, height and width, as fractions of the image."""
    views: np.ndarray
    """int64, (tokens,): index into `VIEWS`."""
    places: np.ndarray
    """int64, (tokens,): position in the order of its view."""
    form: TokenForm

    def __len__(self) -> int:
        return len(self.crops)

    def only(self, kept: np.ndarray | slice) -> ViewTokens:
        """Return the tokens that ``kept`` selects."""
        return ViewTokens(form=self.form, **{name: getattr(self, name)[kept] for name in TOKEN_FIELDS})

    def permute(self, rng: np.random.Generator) -> ViewTokens:
        """Return the tokens in a random order of objects, the same in both views."""
        rank = rng.permutation(MAX_PLACES)
        places = np.zeros_like(self.places)
        for view in np.unique(self.views):
            own = self.views == view
            places[own] = np.argsort(np.argsort(rank[self.places[own]]))
        return replace(self, places=places)

    def translate(self, way: np.ndarray) -> ViewTokens:
        """Return a copy in which everything on the table is translated by (x, y), in metres."""
        if self.form is TokenForm.OBJECTS:
            heights = _HEIGHTS[self.views]
            boxes = self.boxes.copy()
            boxes[:, 0] += way[1] / (heights * WIDTH / HEIGHT)
            boxes[:, 1] += way[0] * _FORESHORTENED[self.views] / heights
            return replace(self, boxes=boxes)
        pixel = 2 * _HEIGHTS / HEIGHT
        rows = np.round(way[0] * _FORESHORTENED / pixel).astype(int)
        columns = np.round(way[1] / pixel).astype(int)
        pictures = paste_patches(self.crops)
        empty = bare_table()
        for view in range(len(VIEWS)):
            by = (rows[view], columns[view])
            is_object = (pictures[view] != empty[view]).any(axis=-1)
            is_object, picture = (np.roll(array, by, (0, 1)) for array in (is_object, pictures[view]))
            pictures[view] = np.where(is_object[..., None], picture, empty[view])
        return replace(self, crops=_split(pictures).reshape(self.crops.shape))

    @staticmethod
    def join(images: Sequence[ViewTokens]) -> ViewTokens:
        """Concatenate several sets of tokens of the same form."""
        arrays = {name: np.concatenate([getattr(image, name) for image in images]) for name in TOKEN_FIELDS}
        return ViewTokens(form=images[0].form, **arrays)


Segments = tuple[str | ViewTokens, ...]
"""A prompt in reading order: single words and punctuation, and images."""


def tokenize_observation(observation: TableObservation, form: TokenForm) -> ViewTokens:
    """Convert the visible objects of an observation, or its patches, to tokens."""
    crops, boxes = [], []
    for camera in VIEWS:
        if form is TokenForm.OBJECTS:
            objects = observation.objects(camera)
            crops.append(objects.crops[objects.visible])
            boxes.append(objects.boxes[objects.visible])
        else:
            row, column = np.divmod(np.arange(PATCH_ROWS * PATCH_COLUMNS), PATCH_COLUMNS)
            middle = np.column_stack([(column + 0.5) / PATCH_COLUMNS, (row + 0.5) / PATCH_ROWS])
            crops.append(observation.patches(camera))
            boxes.append(np.column_stack([middle, np.full_like(middle, (1 / PATCH_ROWS, 1 / PATCH_COLUMNS))]))
    counts = [len(view) for view in crops]
    return ViewTokens(
        np.concatenate(crops),
        np.concatenate(boxes).astype(np.float32),
        np.repeat(np.arange(len(VIEWS)), counts),
        np.minimum(np.concatenate([np.arange(count) for count in counts]), MAX_PLACES - 1),
        form,
    )


def tokenize_picture(picture: Picture, form: TokenForm) -> ViewTokens:
    """Convert an image of a prompt to tokens; empty patches are omitted."""
    observation = TableObservation(0, picture.scene, partial(render_picture, picture))
    tokens = tokenize_observation(observation, form)
    if form is TokenForm.OBJECTS:
        return tokens
    return tokens.only((tokens.crops != tokens.crops[:, :1, :1]).any(axis=(1, 2, 3)))


def split_words(text: str) -> list[str]:
    """Split a text into words and punctuation, in lower case."""
    return _WORD.findall(text.lower())


def tokenize_prompt(prompt: Prompt, form: TokenForm) -> Segments:
    """Convert a prompt to tokens; masked parts are omitted."""
    parts: list[str | ViewTokens] = []
    for segment in prompt.segments:
        parts.extend(split_words(segment) if isinstance(segment, str) else [tokenize_picture(segment, form)])
    return tuple(parts)


PIECE_SIDE = 8
"""Side of a piece of a patch, in pixels: about six centimetres on the table."""
_ACROSS = PATCH // PIECE_SIDE


def cut_pieces(sight: ViewTokens) -> ViewTokens:
    """Return the pieces that are not background, (n, PIECE_SIDE, PIECE_SIDE, 3), with the boxes of their contents."""
    sight = sight.only(sight.views == _TOP)
    cut, table = _cut(sight.crops), _cut(_split(bare_table())[_TOP])[sight.places]
    # An image of a prompt has a uniform background in place of the table.
    wall, surface = bare_table()[_TOP, 0, 0], bare_table()[_TOP, PATCH, PATCH]
    alone = (cut == wall).all(axis=-1).sum() > (cut == surface).all(axis=-1).sum()
    content = (cut != (wall if alone else table)).any(axis=-1)
    patch, piece = np.nonzero(content.any(axis=(2, 3)))
    content = content[patch, piece]
    corner = sight.boxes[patch, :2] - sight.boxes[patch, 3:1:-1] / 2
    corner += np.column_stack(np.divmod(piece, _ACROSS)[::-1]) * sight.boxes[patch, 3:1:-1] / _ACROSS
    pixel = sight.boxes[patch, 3:1:-1] / PATCH
    rows, columns = content.any(axis=2), content.any(axis=1)
    first = np.column_stack([columns.argmax(axis=1), rows.argmax(axis=1)])
    end = PIECE_SIDE - np.column_stack([columns[:, ::-1].argmax(axis=1), rows[:, ::-1].argmax(axis=1)])
    boxes = np.concatenate([corner + (first + end) / 2 * pixel, ((end - first) * pixel)[:, ::-1]], axis=1)
    return replace(sight.only(patch), crops=cut[patch, piece], boxes=boxes.astype(np.float32))


def paste_patches(crops: np.ndarray) -> np.ndarray:
    """Assemble all patches of both views into images, (views, height, width, 3)."""
    grid = crops.reshape(len(VIEWS), 2, -1, PATCH, PATCH, 3).swapaxes(2, 3)
    return grid.reshape(len(VIEWS), 2 * PATCH, -1, 3)


def _split(pictures: np.ndarray) -> np.ndarray:
    """Cut images (views, height, width, 3) into patches (views, patches, PATCH, PATCH, 3)."""
    cut = pictures.reshape(len(VIEWS), PATCH_ROWS, PATCH, PATCH_COLUMNS, PATCH, 3).swapaxes(2, 3)
    return cut.reshape(len(VIEWS), -1, PATCH, PATCH, 3)


@cache
def bare_table() -> np.ndarray:
    """Return the camera images of an empty table, in the format of `paste_patches`."""
    scene = TableScene(())
    empty = TableObservation(0, scene, partial(render_scene, scene))
    return paste_patches(tokenize_observation(empty, TokenForm.PATCHES).crops)


def _cut(crops: np.ndarray) -> np.ndarray:
    """Cut patches (n, PATCH, PATCH, 3) into pieces (n, pieces, PIECE_SIDE, PIECE_SIDE, 3)."""
    grid = crops.reshape(-1, _ACROSS, PIECE_SIDE, _ACROSS, PIECE_SIDE, 3).swapaxes(2, 3)
    return grid.reshape(-1, _ACROSS**2, PIECE_SIDE, PIECE_SIDE, 3)


def room(objects: ViewTokens, ends: np.ndarray) -> np.ndarray:
    """Return the translations that keep objects and endpoints of actions (n, 2) on the table: min and max, (2, 2)."""
    boxes = objects.boxes[objects.views == _TOP].astype(np.float64)
    middle = np.column_stack([boxes[:, 1] - 0.5, (boxes[:, 0] - 0.5) * WIDTH / HEIGHT]) * EXTENT["top"]
    half = boxes[:, 2:] * (0.5, 0.5 * WIDTH / HEIGHT) * EXTENT["top"]
    middle[:, 0] += (X_LOW + X_HIGH) / 2
    low = np.vstack([middle - half, ends]).min(axis=0)
    high = np.vstack([middle + half, ends]).max(axis=0)
    return np.array([np.array([X_LOW, Y_LOW]) - low, np.array([X_HIGH, Y_HIGH]) - high])
