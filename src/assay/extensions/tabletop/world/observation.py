"""Observations of the table: complete images, patches of them, or one crop for each object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from PIL import Image

from assay.errors import RenderingError, did_you_mean
from assay.extensions.tabletop.world.model import VIEWS
from assay.extensions.tabletop.world.render import HEIGHT, WIDTH, Views
from assay.extensions.tabletop.world.scene import TableScene, Tool

CROP = 32
"""Side of an object's crop, in pixels."""
PATCH = 32
"""Side of a patch of the image at half resolution, in pixels."""
_MIN_PIXELS = 2
"""Minimum number of pixels at which an object counts as visible."""


@dataclass(frozen=True, slots=True, eq=False)
class ObjectTokens:
    """Crops and boxes of the objects in one view, in the observation's order; invisible objects come last, as zeros."""

    crops: np.ndarray
    """uint8, (objects, CROP, CROP, 3): the box around each object, padded to a square with black."""
    boxes: np.ndarray
    """float32, (objects, 4): the box's centre x and y, height and width, as fractions of the image."""
    visible: np.ndarray
    """bool, (objects,): whether the object is visible."""
    items: np.ndarray
    """int, (objects,): index of the scene's item; for scoring, not for policies."""


@dataclass(frozen=True, slots=True, eq=False)
class TableObservation:
    """One observation of the table; its images are rendered on first access."""

    step: int
    """Number of actions since the start."""
    _scene: TableScene = field(repr=False)
    _render: Callable[[], Views] = field(repr=False)
    """Cached function that renders both views."""
    order: tuple[int, ...] | None = None
    """Order of the objects, as indices of the scene's items; None for the scene's order."""

    @property
    def tool(self) -> Tool:
        """The robot's tool."""
        return self._scene.tool

    @property
    def count(self) -> int:
        """The number of objects, visible or not."""
        return len(self._scene.items)

    def image(self, camera: str = "top") -> np.ndarray:
        """Return an image: uint8, (HEIGHT, WIDTH, 3), top row first."""
        return self._view(camera)[0].copy()

    def segmentation(self, camera: str = "top") -> np.ndarray:
        """Return labels, uint8, (HEIGHT, WIDTH): 0 for the table, i + 1 for the object at index i of the order."""
        labels = self._view(camera)[1]
        if self.order is None:
            return labels.copy()
        places = np.array([0, *(np.argsort(self.order) + 1)], dtype=np.uint8)
        return np.asarray(places[labels])

    def objects(self, camera: str = "top") -> ObjectTokens:
        """Return one crop and box for each object, in the observation's order.

        Raises RenderingError if the order is not a permutation of the objects.
        """
        picture, labels = self._view(camera)
        order = self.order or tuple(range(self.count))
        if sorted(order) != list(range(self.count)):
            raise RenderingError(f"{list(order)} is not a permutation of {self.count} objects")
        crops = np.zeros((self.count, CROP, CROP, 3), dtype=np.uint8)
        boxes = np.zeros((self.count, 4), dtype=np.float32)
        seen: list[int] = []
        for index in order:
            rows, columns = np.nonzero(labels == index + 1)
            if len(rows) < _MIN_PIXELS:
                continue
            top, bottom, left, right = rows.min(), rows.max() + 1, columns.min(), columns.max() + 1
            height, width = bottom - top, right - left
            side = max(height, width)
            square = np.zeros((side, side, 3), dtype=np.uint8)
            y, x = (side - height) // 2, (side - width) // 2
            square[y : y + height, x : x + width] = picture[top:bottom, left:right]
            crops[len(seen)] = np.asarray(Image.fromarray(square).resize((CROP, CROP), Image.Resampling.BOX))
            middle = ((left + right) / 2 / WIDTH, (top + bottom) / 2 / HEIGHT)
            boxes[len(seen)] = (*middle, height / HEIGHT, width / WIDTH)
            seen.append(index)
        unseen = [index for index in order if index not in seen]
        visible = np.arange(self.count) < len(seen)
        return ObjectTokens(crops, boxes, visible, np.array([*seen, *unseen], dtype=int))

    def reorder(self, order: Sequence[int] | np.ndarray) -> TableObservation:
        """Return the observation with its objects in another order."""
        return replace(self, order=tuple(int(index) for index in order))

    def patches(self, camera: str = "top") -> np.ndarray:
        """Return the image at half resolution, cut into patches row by row: uint8, (8, PATCH, PATCH, 3)."""
        picture = Image.fromarray(self._view(camera)[0])
        small = np.asarray(picture.resize((WIDTH // 2, HEIGHT // 2), Image.Resampling.BOX))
        rows, columns = small.shape[0] // PATCH, small.shape[1] // PATCH
        grid = small.reshape(rows, PATCH, columns, PATCH, 3).swapaxes(1, 2)
        return np.ascontiguousarray(grid.reshape(-1, PATCH, PATCH, 3))

    def _view(self, camera: str) -> tuple[np.ndarray, np.ndarray]:
        if camera not in VIEWS:
            raise RenderingError(f"the table has no camera '{camera}': {did_you_mean(camera, VIEWS)}")
        return self._render()[camera]
