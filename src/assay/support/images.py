"""Orientation and size of camera images, as data sets and policy servers expect them."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType

import numpy as np
from PIL import Image

from assay.errors import PolicyError, did_you_mean


class Orientation(StrEnum):
    """Order of the rows and columns of a stored or transmitted image."""

    ROTATED = "rotated"
    """LIBERO's raw image rotated by 180 degrees, the convention of nearly all training data.

    A raw image has its bottom row first. Rotated, the top row is first and left and right are swapped: the mirror
    image of an upright image.
    """
    RAW = "raw"
    """The image as LIBERO renders it: bottom row first."""
    UPRIGHT = "upright"
    """The image as the camera sees it: top row first."""
    MIRRORED = "mirrored"
    """LIBERO's raw image with left and right swapped: an upright image rotated by 180 degrees."""


_BACKWARDS, _FORWARDS = slice(None, None, -1), slice(None)
_SLICES = MappingProxyType(
    {
        Orientation.ROTATED: (_FORWARDS, _BACKWARDS),
        Orientation.RAW: (_BACKWARDS, _FORWARDS),
        Orientation.UPRIGHT: (_FORWARDS, _FORWARDS),
        Orientation.MIRRORED: (_BACKWARDS, _BACKWARDS),
    }
)


def parse_orientation(text: str) -> Orientation:
    """Return the orientation with the given name. Raises PolicyError if none exists."""
    try:
        return Orientation(text)
    except ValueError:
        raise PolicyError(f"unknown orientation '{text}': {did_you_mean(text, Orientation)}") from None


def orient(image: np.ndarray, orientation: Orientation) -> np.ndarray:
    """Convert an upright image (height, width, ...) to an orientation, or back; the conversion is its own inverse."""
    return np.ascontiguousarray(image[_SLICES[orientation]])


def letterbox(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """Resize an image (h, w, 3) bilinearly to fit into (height, width, 3) without distortion, padded with black.

    The result is identical, pixel for pixel, to that of openpi's client.
    """
    h, w = image.shape[:2]
    if (h, w) == (height, width):
        return image
    ratio = max(w / width, h / height)
    inner_w, inner_h = max(1, int(w / ratio)), max(1, int(h / ratio))
    scaled = Image.fromarray(image).resize((inner_w, inner_h), Image.Resampling.BILINEAR)
    top, left = (height - inner_h) // 2, (width - inner_w) // 2
    framed = np.zeros((height, width, 3), dtype=np.uint8)
    framed[top : top + inner_h, left : left + inner_w] = np.asarray(scaled)
    return framed
