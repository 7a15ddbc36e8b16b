"""Whether a picture can be seen well, and whether two show anything different. Grey pictures, uint8."""

from __future__ import annotations

import numpy as np

from assay.eqa.episode import Rules

STEP = 24
"""Two pixels differ if their grey values do by more than this."""
COARSE = 4
"""Pixels in a block whose mean is compared: noise and compression cancel out."""


def sharpness(grey: np.ndarray) -> float:
    """The variance of the Laplacian: low for a blurred picture."""
    wide = grey.astype(np.int16)
    edges = wide[1:-1, 1:-1] * np.int16(4)
    for neighbour in (wide[:-2, 1:-1], wide[2:, 1:-1], wide[1:-1, :-2], wide[1:-1, 2:]):
        edges -= neighbour  # in place: less memory is walked through
    flat = edges.ravel().astype(np.float32)
    mean = float(flat.mean())
    return float(flat @ flat) / len(flat) - mean * mean


def flaw(grey: np.ndarray, rules: Rules) -> str:
    """What is wrong with a picture; empty if nothing is."""
    dark, bright = rules.light
    if not dark <= float(grey.mean()) <= bright:
        return "badly lit"
    return "blurred" if sharpness(grey) < rules.sharpness else ""


def coarse(grey: np.ndarray) -> np.ndarray:
    """A small picture of means of blocks, int16."""
    height, width = (size - size % COARSE for size in grey.shape)
    blocks = grey[:height, :width].reshape(height // COARSE, COARSE, width // COARSE, COARSE)
    return np.asarray(blocks.mean(axis=(1, 3)), dtype=np.int16)


def change(first: np.ndarray, second: np.ndarray) -> float:
    """The share of blocks in which two coarse pictures differ."""
    return float((np.abs(first - second) > STEP).mean())
