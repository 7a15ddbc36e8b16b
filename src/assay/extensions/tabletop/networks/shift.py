"""Tables moved sideways as a whole: more examples from the same demonstrations.

The cameras see without perspective: a thing looks the same wherever it lies, and what was right stays right.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.extensions.tabletop.build import EXTENT, VIEWS
from assay.extensions.tabletop.networks.bins import BINS
from assay.extensions.tabletop.networks.pieces import bare_table, pasted
from assay.extensions.tabletop.networks.tokens import Form, Sight
from assay.extensions.tabletop.observation import PATCH
from assay.extensions.tabletop.render import HEIGHT, WIDTH
from assay.extensions.tabletop.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW

_TOP = VIEWS.index("top")
_FORESHORTENED = np.array([1.0 if view == "top" else np.sqrt(0.5) for view in VIEWS])
"""How much of a way along x each view shows: the front view looks down at 45 degrees."""
_HEIGHTS = np.array([EXTENT[view] for view in VIEWS])
"""What each view covers from its top to its bottom, metres."""
_ROWS, _COLUMNS = HEIGHT // 2 // PATCH, WIDTH // 2 // PATCH


def room(objects: Sight, ends: np.ndarray) -> np.ndarray:
    """How far objects and the ends of an action (n, 2) can go on the table: least and most, (2, 2)."""
    boxes = objects.boxes[objects.views == _TOP].astype(np.float64)
    middle = np.column_stack([boxes[:, 1] - 0.5, (boxes[:, 0] - 0.5) * WIDTH / HEIGHT]) * EXTENT["top"]
    half = boxes[:, 2:] * (0.5, 0.5 * WIDTH / HEIGHT) * EXTENT["top"]
    middle[:, 0] += (X_LOW + X_HIGH) / 2
    low = np.vstack([middle - half, ends]).min(axis=0)
    high = np.vstack([middle + half, ends]).max(axis=0)
    return np.array([np.array([X_LOW, Y_LOW]) - low, np.array([X_HIGH, Y_HIGH]) - high])


def moved(table: Sight, way: np.ndarray) -> Sight:
    """The table after everything went a way (x, y), metres."""
    if table.form is Form.OBJECTS:
        heights = _HEIGHTS[table.views]
        boxes = table.boxes.copy()
        boxes[:, 0] += way[1] / (heights * WIDTH / HEIGHT)
        boxes[:, 1] += way[0] * _FORESHORTENED[table.views] / heights
        return replace(table, boxes=boxes)
    pixel = 2 * _HEIGHTS / HEIGHT
    rows = np.round(way[0] * _FORESHORTENED / pixel).astype(int)
    columns = np.round(way[1] / pixel).astype(int)
    pictures = pasted(table.crops)
    empty = bare_table()
    for view in range(len(VIEWS)):
        by = (rows[view], columns[view])
        things = (pictures[view] != empty[view]).any(axis=-1)
        things, picture = (np.roll(each, by, (0, 1)) for each in (things, pictures[view]))
        pictures[view] = np.where(things[..., None], picture, empty[view])
    cut = pictures.reshape(len(VIEWS), _ROWS, PATCH, _COLUMNS, PATCH, 3).swapaxes(2, 3)
    return replace(table, crops=cut.reshape(table.crops.shape))


def moved_bins(bins: np.ndarray, way: np.ndarray) -> np.ndarray:
    """Where actions lie in bins (..., 5) after everything went a way (x, y), metres."""
    by = np.array(way) / (X_HIGH - X_LOW, Y_HIGH - Y_LOW) * BINS[:2]
    return np.asarray(bins + np.array([*by, *by, 0.0]), dtype=np.float32)
