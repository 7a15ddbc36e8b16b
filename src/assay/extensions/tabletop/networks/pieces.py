"""Patches of the view from above, cut into pieces of about an object's size: those that show something.

A patch of a quarter of a metre holds several objects, a piece about one, so that attention can pick it out.
Most pieces show nothing but the bare table, which no policy needs to be told. The view from the front shows
the same things again: to learn from both would take twice as long.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from assay.extensions.tabletop.build import VIEWS
from assay.extensions.tabletop.networks.tokens import Sight, of_patches
from assay.extensions.tabletop.observation import PATCH, patches
from assay.extensions.tabletop.render import TableRenderer
from assay.extensions.tabletop.scene import TableScene

SIDE = 8
"""Of a piece, pixels: about six centimetres."""
_ACROSS = PATCH // SIDE


def pieces(sight: Sight) -> Sight:
    """The pieces that show something, (n, SIDE, SIDE, 3), each with the box of what it shows."""
    sight = sight.only(sight.views == VIEWS.index("top"))
    cut = _cut(sight.crops)
    content = (cut != _behind(cut, sight)).any(axis=-1)
    patch, piece = np.nonzero(content.any(axis=(2, 3)))
    content = content[patch, piece]
    corner = sight.boxes[patch, :2] - sight.boxes[patch, 3:1:-1] / 2
    corner += np.column_stack(np.divmod(piece, _ACROSS)[::-1]) * sight.boxes[patch, 3:1:-1] / _ACROSS
    pixel = sight.boxes[patch, 3:1:-1] / PATCH
    rows, columns = content.any(axis=2), content.any(axis=1)
    first = np.column_stack([columns.argmax(axis=1), rows.argmax(axis=1)])
    end = SIDE - np.column_stack([columns[:, ::-1].argmax(axis=1), rows[:, ::-1].argmax(axis=1)])
    boxes = np.concatenate([corner + (first + end) / 2 * pixel, ((end - first) * pixel)[:, ::-1]], axis=1)
    return replace(sight.only(patch), crops=cut[patch, piece], boxes=boxes.astype(np.float32))


def _behind(cut: np.ndarray, sight: Sight) -> np.ndarray:
    """What there would be if there were no objects: the bare table or, in prompts, the wall everywhere."""
    view = VIEWS.index("top")
    wall, table = bare_table()[view, 0, 0], bare_table()[view, PATCH, PATCH]
    alone = (cut == wall).all(axis=-1).sum() > (cut == table).all(axis=-1).sum()
    return np.asarray(wall if alone else _bare_pieces()[view, sight.places])


def pasted(crops: np.ndarray) -> np.ndarray:
    """All patches of both views as pictures: (views, height, width, 3)."""
    grid = crops.reshape(len(VIEWS), 2, -1, PATCH, PATCH, 3).swapaxes(2, 3)
    return grid.reshape(len(VIEWS), 2 * PATCH, -1, 3)


@cache
def bare_table() -> np.ndarray:
    """What the cameras see of a table without anything on it, as `pasted`."""
    return pasted(_bare_patches())


@cache
def _bare_patches() -> np.ndarray:
    views = TableRenderer.shared().still(TableScene(()))
    return of_patches([patches(views[camera][0]) for camera in VIEWS]).crops


@cache
def _bare_pieces() -> np.ndarray:
    """Those of each patch: (views, patches, pieces, SIDE, SIDE, 3)."""
    cut = _cut(_bare_patches())
    return cut.reshape(len(VIEWS), -1, *cut.shape[1:])


def _cut(crops: np.ndarray) -> np.ndarray:
    """Patches (n, PATCH, PATCH, 3) as (n, pieces, SIDE, SIDE, 3)."""
    grid = crops.reshape(-1, _ACROSS, SIDE, _ACROSS, SIDE, 3).swapaxes(2, 3)
    return grid.reshape(-1, _ACROSS**2, SIDE, SIDE, 3)
