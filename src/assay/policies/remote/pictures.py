"""Pictures as a server was trained to see them."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType

import numpy as np
from PIL import Image

from assay.errors import PolicyError, did_you_mean


class Orientation(StrEnum):
    """Which way up a picture goes over the wire."""

    ROTATED = "rotated"
    """LIBERO's raw picture rotated by 180 degrees, which nearly everybody trains on.

    The raw picture has its bottom row first; rotated, the top row is first and left and right are swapped: it
    is the mirror image of an upright picture.
    """
    RAW = "raw"
    """As LIBERO gives it: the bottom row first."""
    UPRIGHT = "upright"
    """As the camera sees it: the top row first."""
    MIRRORED = "mirrored"
    """LIBERO's raw picture with left and right swapped: an upright picture rotated by 180 degrees."""


def parsed(text: str) -> Orientation:
    """The orientation of that name. Raises PolicyError."""
    try:
        return Orientation(text)
    except ValueError:
        raise PolicyError(f"there is no orientation '{text}': {did_you_mean(text, Orientation)}") from None


_BACKWARDS, _FORWARDS = slice(None, None, -1), slice(None)
_TURNS = MappingProxyType(
    {
        Orientation.ROTATED: (_FORWARDS, _BACKWARDS),
        Orientation.RAW: (_BACKWARDS, _FORWARDS),
        Orientation.UPRIGHT: (_FORWARDS, _FORWARDS),
        Orientation.MIRRORED: (_BACKWARDS, _BACKWARDS),
    }
)


def turned(picture: np.ndarray, orientation: Orientation) -> np.ndarray:
    """An upright picture (height, width, ...) as it goes over the wire; and back: each turn undoes itself."""
    return np.ascontiguousarray(picture[_TURNS[orientation]])


def resized(picture: np.ndarray, height: int, width: int) -> np.ndarray:
    """A picture (h, w, 3) scaled to fit into (height, width, 3) without distortion, on black; bilinear.

    Pixel for pixel what openpi's client makes of it.
    """
    h, w = picture.shape[:2]
    if (h, w) == (height, width):
        return picture
    ratio = max(w / width, h / height)
    inner_w, inner_h = max(1, int(w / ratio)), max(1, int(h / ratio))
    scaled = Image.fromarray(picture).resize((inner_w, inner_h), Image.Resampling.BILINEAR)
    top, left = (height - inner_h) // 2, (width - inner_w) // 2
    framed = np.zeros((height, width, 3), dtype=np.uint8)
    framed[top : top + inner_h, left : left + inner_w] = np.asarray(scaled)
    return framed
