"""Whether a picture can be seen well, and whether two show anything different. Grey pictures, uint8."""

from __future__ import annotations

import numpy as np

from assay.extensions.eqa.episode import Rules
from assay.support.jit import compiled

STEP = 24
"""Two pixels differ if their grey values do by more than this."""
COARSE = 4
"""Pixels in a block whose mean is compared: noise and compression cancel out."""


def sharpness(grey: np.ndarray) -> float:
    """The variance of the Laplacian: low for a blurred picture."""
    return _light_and_sharpness(grey)[1]


def flaw(grey: np.ndarray, rules: Rules) -> str:
    """What is wrong with a picture; empty if nothing is."""
    dark, bright = rules.light
    light, sharp = _light_and_sharpness(grey)
    if not dark <= light <= bright:
        return "badly lit"
    return "blurred" if sharp < rules.sharpness else ""


def _light_and_sharpness(grey: np.ndarray) -> tuple[float, float]:
    """The mean grey value and the variance of the Laplacian, which is 0 in a picture without an inside."""
    light, edges, squares = _sums(np.ascontiguousarray(grey))
    inside = max(grey.shape[0] - 2, 0) * max(grey.shape[1] - 2, 0)
    sharp = squares / inside - (edges / inside) ** 2 if inside else 0.0
    return light / max(grey.size, 1), sharp


@compiled
def _sums(grey: np.ndarray) -> tuple[int, int, int]:
    """Sums of the grey values, of the Laplacian and of its squares."""
    rows, columns = grey.shape
    light = edges = squares = np.int64(0)
    for row in range(rows):
        for column in range(columns):
            light += np.int64(grey[row, column])
    for row in range(1, rows - 1):
        for column in range(1, columns - 1):
            edge = 4 * np.int64(grey[row, column])
            edge -= np.int64(grey[row - 1, column]) + np.int64(grey[row + 1, column])
            edge -= np.int64(grey[row, column - 1]) + np.int64(grey[row, column + 1])
            edges += edge
            squares += edge * edge
    return int(light), int(edges), int(squares)


def coarse(grey: np.ndarray) -> np.ndarray:
    """A small picture of means of blocks, int16."""
    height, width = (size - size % COARSE for size in grey.shape)
    blocks = grey[:height, :width].reshape(height // COARSE, COARSE, width // COARSE, COARSE)
    return np.asarray(blocks.mean(axis=(1, 3)), dtype=np.int16)


def change(first: np.ndarray, second: np.ndarray) -> float:
    """The share of blocks in which two coarse pictures differ."""
    return float((np.abs(first - second) > STEP).mean())
