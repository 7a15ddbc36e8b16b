"""The demonstrator from whom policies learn: it does the same thing in the same way."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import distance_transform_edt

from assay.extensions.tabletop.build import EXTENT
from assay.extensions.tabletop.goals import Put
from assay.extensions.tabletop.observation import TableObservation
from assay.extensions.tabletop.oracle import TableOracle
from assay.extensions.tabletop.render import HEIGHT, WIDTH
from assay.extensions.tabletop.scene import X_HIGH, X_LOW

_PIXEL = EXTENT["top"] / HEIGHT
"""Metres."""
_ENOUGH = 0.012
"""Room around the tip beyond which more is of no use, metres."""


class Teacher(TableOracle):
    """An oracle whose choices can be seen in the picture from above.

    It takes hold of a thing near its middle where there is room around the tip, and turns it only where that
    matters. What the oracle draws at random would have to be learnt as noise.
    """

    def act(self, observation: TableObservation) -> np.ndarray:
        """One action, (1, 12)."""
        self._saw = observation
        return super().act(observation)

    def _carried(self, put: Put) -> np.ndarray:
        item = self._task.scene.index(put.item)
        turn = put.yaw - self._world.poses()[item, 2] if put.turned else 0.0
        return self._move(item, np.array([put.x, put.y]), turn)

    def _grip(self, item: int) -> np.ndarray:
        mask = self._saw.segmentation("top") == item + 1
        if not mask.any():
            return super()._grip(item)
        rows, columns = np.nonzero(mask)
        depth = distance_transform_edt(np.pad(mask, 1))[1:-1, 1:-1][rows, columns] * _PIXEL
        middle = np.array([rows.min() + rows.max(), columns.min() + columns.max()]) / 2
        offset = (np.column_stack([rows, columns]) - middle) * _PIXEL
        # To the right rather than to the left where both are as good, as on a ring.
        cost = np.linalg.norm(offset, axis=1) - 3 * np.minimum(depth, _ENOUGH) - 0.1 * offset[:, 1]
        best = int(np.argmin(cost))
        x = (X_LOW + X_HIGH) / 2 + (rows[best] + 0.5 - HEIGHT / 2) * _PIXEL
        return np.array([x, (columns[best] + 0.5 - WIDTH / 2) * _PIXEL])
