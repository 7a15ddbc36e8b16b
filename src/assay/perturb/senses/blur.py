"""Pictures that are not sharp: a camera that shakes, that is moved in or out, or that looks through glass."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from PIL import Image, ImageFilter

from assay.episodes import perturbation
from assay.episodes.senses import Chance
from assay.perturb.senses.pictures import Severe


@perturbation
@dataclass(frozen=True, slots=True)
class MotionBlur(Severe):
    """The camera moves while a picture is taken, straight and in another direction at every step."""

    kind = "senses/motion_blur"
    LENGTH: ClassVar[float] = 0.014
    """How far it moves at each severity, as a share of the picture's longer side."""

    def changed(self, picture: np.ndarray, chance: Chance) -> np.ndarray:
        """The mean of the picture along a line."""
        height, width = picture.shape[:2]
        reach = self.LENGTH * self.severity * max(height, width) / 2
        angle = chance.now().uniform(0, math.pi)
        ends = reach * np.array([math.sin(angle), math.cos(angle)])
        count = 2 * math.ceil(np.abs(ends).max()) + 1
        points = np.rint(np.linspace(-ends, ends, count)).astype(int)  # (count, 2)
        margin = points.max(axis=0)
        padded = np.pad(picture, ((margin[0],) * 2, (margin[1],) * 2, (0, 0)), mode="edge")
        total = np.zeros(picture.shape, np.uint32)
        for row, column in points + margin:
            total += padded[row : row + height, column : column + width]
        return np.asarray((total + count // 2) // count, dtype=np.uint8)


@perturbation
@dataclass(frozen=True, slots=True)
class ZoomBlur(Severe):
    """The camera zooms in while a picture is taken: the middle stays sharp, the edges run."""

    kind = "senses/zoom_blur"
    GROWTH: ClassVar[float] = 0.03
    """By how much the picture grows at each severity."""
    SPACING: ClassVar[float] = 4.0
    """How far a corner may move from one size to the next, pixels."""

    def changed(self, picture: np.ndarray, chance: Chance) -> np.ndarray:
        """The mean of the picture at many sizes."""
        growth = self.GROWTH * self.severity
        corner = growth * math.hypot(*picture.shape[:2]) / 2
        doublings = max(1, math.ceil(math.log2(corner / self.SPACING)))
        step = (1 + growth) ** (1 / (2**doublings - 1))
        mean = picture
        # The mean over 2n sizes is that of the mean over n and of the same, grown by n steps.
        for doubling in range(doublings):
            grown = _grown(mean, step ** (2**doubling))
            half = (mean ^ grown) >> 1
            mean = (mean & grown) + half if doubling % 2 else (mean | grown) - half  # round down, up, down
        return mean


@perturbation
@dataclass(frozen=True, slots=True)
class GlassBlur(Severe):
    """The camera looks through frosted glass, which stays the same during an episode."""

    kind = "senses/glass_blur"
    REACH: ClassVar[float] = 0.0035
    """How far a point may be displaced at each severity, as a share of the picture's sides."""
    SOFTNESS: ClassVar[float] = 0.0004
    """By how much the radius of the blur that follows grows, likewise."""

    def changed(self, picture: np.ndarray, chance: Chance) -> np.ndarray:
        """Every pixel shows one near it, a little blurred."""
        height, width = picture.shape[:2]
        down, across = chance.lasting().random((2, height, width), dtype=np.float32) * 2 - 1
        reach = self.REACH * self.severity
        rows = np.arange(height)[:, None] + np.rint(down * reach * height).astype(int)
        columns = np.arange(width) + np.rint(across * reach * width).astype(int)
        index = rows.clip(0, height - 1) * width + columns.clip(0, width - 1)
        scattered = np.take(picture.reshape(-1, 3), index, axis=0)
        softness = self.SOFTNESS * (self.severity + 3) * max(height, width)
        return np.asarray(Image.fromarray(scattered).filter(ImageFilter.BoxBlur(softness)))


def _grown(picture: np.ndarray, factor: float) -> np.ndarray:
    """A picture made larger about its middle and cut to its size."""
    height, width = picture.shape[:2]
    left, top = width * (1 - 1 / factor) / 2, height * (1 - 1 / factor) / 2
    box = (left, top, width - left, height - top)
    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.BILINEAR, box))
