"""Actions as bins: x and y of both poses to a centimetre, and the turn to five degrees."""

from __future__ import annotations

import numpy as np

from assay.extensions.tabletop.build import EXTENT
from assay.extensions.tabletop.render import HEIGHT, WIDTH
from assay.extensions.tabletop.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW
from assay.extensions.tabletop.simulation import action

BINS = (50, 100, 50, 100, 72)
"""How many there are for x, y, x, y and the turn. The last one goes round."""
_LOW = np.array([X_LOW, Y_LOW, X_LOW, Y_LOW, -np.pi])
_HIGH = np.array([X_HIGH, Y_HIGH, X_HIGH, Y_HIGH, np.pi])
_WIDE = EXTENT["top"] * WIDTH / HEIGHT
"""What the view from above covers from left to right, metres."""
_SPREAD = 0.7
"""How far a target reaches into the bins beside it, bins."""


def to_bins(actions: np.ndarray) -> np.ndarray:
    """Where actions (n, 12) lie on the axes, in bins and fractions of them, (n, 5)."""
    turn = 2 * (np.arctan2(actions[:, 11], actions[:, 8]) - np.arctan2(actions[:, 5], actions[:, 2]))
    turn = (turn + np.pi) % (2 * np.pi) - np.pi
    values = np.column_stack([actions[:, 0:2], actions[:, 6:8], turn])
    return np.asarray((values - _LOW) / (_HIGH - _LOW) * BINS, dtype=np.float32)


def from_bins(chosen: np.ndarray) -> np.ndarray:
    """The action in the middle of some bins (5,): (12,)."""
    x0, y0, x1, y1, turn = _LOW + (np.asarray(chosen) + 0.5) / BINS * (_HIGH - _LOW)
    # Bins of turns lie on multiples of five degrees, so that no turn is among them.
    return action((x0, y0), (x1, y1), turn - np.pi / BINS[-1])


def middles(axis: int) -> np.ndarray:
    """The middle of each bin of an axis, (bins,): shares of the view from above, or of a whole turn."""
    count = BINS[axis]
    if axis == len(BINS) - 1:
        return np.arange(count) / count
    metres = _LOW[axis] + (np.arange(count) + 0.5) / count * (_HIGH[axis] - _LOW[axis])
    middle, covered = ((X_LOW + X_HIGH) / 2, EXTENT["top"]) if axis % 2 == 0 else (0.0, _WIDE)
    return np.asarray((metres - middle) / covered + 0.5)


def placed(positions: np.ndarray) -> np.ndarray:
    """Actions in bins (n, 5) as shares of the view from above, and of a whole turn: float32, (n, 5)."""
    metres = _LOW[:4] + positions[:, :4] / BINS[:4] * (_HIGH - _LOW)[:4]
    middle, covered = np.array([(X_LOW + X_HIGH) / 2, 0.0] * 2), np.array([EXTENT["top"], _WIDE] * 2)
    turns = positions[:, 4:] / BINS[-1]
    return np.concatenate([(metres - middle) / covered + 0.5, turns], axis=1).astype(np.float32)


def shares(positions: np.ndarray, axis: int) -> np.ndarray:
    """What each bin of an axis is to get when the truth lies at positions (n,): (n, bins), sums of one."""
    count, turns = BINS[axis], axis == len(BINS) - 1
    away = np.arange(count) + (0.0 if turns else 0.5) - positions[:, None]
    if turns:
        away = (away + count / 2) % count - count / 2
    weight = np.exp(-0.5 * (away / _SPREAD) ** 2)
    return np.asarray(weight / weight.sum(axis=1, keepdims=True), dtype=np.float32)


def nearest(positions: np.ndarray) -> np.ndarray:
    """The bins in which positions (n, 5) lie: int64, (n, 5)."""
    chosen = np.floor(positions)
    chosen[:, -1] = np.round(positions[:, -1]) % BINS[-1]
    return np.asarray(np.clip(chosen, 0, np.array(BINS) - 1), dtype=np.int64)
