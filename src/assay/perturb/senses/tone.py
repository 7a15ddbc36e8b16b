"""Pictures with other tones: grain, fog, too much or too little light."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from PIL import Image

from assay.episodes import perturbation
from assay.episodes.fields import check_change, within
from assay.episodes.senses import Chance
from assay.perturb.senses.pictures import Optical, Severe, as_picture

FAINTEST = 0.02
"""The factor on brightness or contrast below which nothing can be made out: five of 256 tones are left."""


@perturbation
@dataclass(frozen=True, slots=True)
class GaussianNoise(Severe):
    """Grain, different at every step."""

    kind = "senses/gaussian_noise"
    DEVIATION: ClassVar[float] = 0.03
    """Its standard deviation at each severity, as a share of white."""

    def changed(self, picture: np.ndarray, chance: Chance) -> np.ndarray:
        """The picture with normal noise added to each pixel and colour."""
        noise = chance.now().standard_normal(picture.shape, dtype=np.float32)
        noise *= 255 * self.DEVIATION * self.severity
        noise += picture
        return as_picture(noise)


@perturbation
@dataclass(frozen=True, slots=True)
class Fog(Severe):
    """Fog in uneven banks that drift across the picture during an episode."""

    kind = "senses/fog"
    DENSITY: ClassVar[float] = 0.085
    """How much of the picture is lost at each severity, where the fog is as thick as on average."""
    COLOUR: ClassVar[tuple[int, int, int]] = (222, 226, 230)
    DRIFT: ClassVar[float] = 0.004
    """How far it moves in a control step, as a share of the picture's sides."""

    def changed(self, picture: np.ndarray, chance: Chance) -> np.ndarray:
        """The picture behind fog: each pixel is mixed with the fog's colour by how thick it is there."""
        height, width = picture.shape[:2]
        rng = chance.lasting()
        heading = rng.uniform(0, 2 * np.pi)
        drift = self.DRIFT * chance.step * np.array([np.cos(heading), np.sin(heading)])
        thickness = (0.1 + 1.8 * _clouds(rng)).clip(0.1, 1.9)
        clear = _laid(np.float32(1 - self.DENSITY * self.severity) ** thickness, height, width, drift)
        foggy = np.empty_like(picture)
        for channel, colour in enumerate(self.COLOUR):  # one by one: broadcasting along three is slow
            foggy[..., channel] = as_picture((picture[..., channel] - np.float32(colour)) * clear + colour)
        return foggy


@perturbation
@dataclass(frozen=True, slots=True)
class Brightness(Optical):
    """Darker or lighter pictures, as by another exposure."""

    kind = "senses/brightness"

    factor: float = within(0.0, 4.0)
    """What every colour is multiplied by: 0 leaves black, 1 the picture as it is."""

    def __post_init__(self) -> None:
        Optical.__post_init__(self)
        check_change(self, factor=1.0)

    @property
    def opaque(self) -> bool:
        """Whether it is as good as black."""
        return self.factor < FAINTEST

    @property
    def plausible(self) -> bool:
        """unless every camera is black"""
        return not (self.opaque and self.everywhere)

    def changed(self, picture: np.ndarray, chance: Chance) -> np.ndarray:
        """The picture with other tones."""
        return _toned(picture, _TONES * self.factor)


@perturbation
@dataclass(frozen=True, slots=True)
class Contrast(Optical):
    """Flatter or harsher pictures."""

    kind = "senses/contrast"

    factor: float = within(0.0, 4.0)
    """What the distance of every colour from the picture's mean is multiplied by: 0 leaves plain grey."""

    def __post_init__(self) -> None:
        Optical.__post_init__(self)
        check_change(self, factor=1.0)

    @property
    def opaque(self) -> bool:
        """Whether it is as good as plain."""
        return self.factor < FAINTEST

    @property
    def plausible(self) -> bool:
        """unless every camera is plain grey"""
        return not (self.opaque and self.everywhere)

    def changed(self, picture: np.ndarray, chance: Chance) -> np.ndarray:
        """The picture with other tones."""
        mean = picture.mean()
        return _toned(picture, (_TONES - mean) * self.factor + mean)


_TONES = np.arange(256.0)


def _toned(picture: np.ndarray, tones: np.ndarray) -> np.ndarray:
    """A picture with each of its 256 tones replaced."""
    return np.take(as_picture(tones), picture)


_CELLS = 64
"""Height and width of a tile of clouds."""


def _clouds(rng: np.random.Generator) -> np.ndarray:
    """A tile of clouds about 0.5, mostly from 0 to 1: float32, (_CELLS, _CELLS). Its edges fit together."""
    clouds = np.full((_CELLS, _CELLS), 0.5, np.float32)
    for cells, weight in ((2, 0.9), (4, 0.5), (8, 0.3), (16, 0.15), (32, 0.08)):
        grid = rng.random((cells, cells), dtype=np.float32) - 0.5
        clouds += weight * _laid(grid, _CELLS, _CELLS, np.zeros(2))
    return clouds


def _laid(tile: np.ndarray, height: int, width: int, drift: np.ndarray) -> np.ndarray:
    """A square tile laid over (height, width), moved by shares of its sides (2,); it goes on at its edges."""
    cells = len(tile)
    left, top = cells * (1 + drift % 1)
    box = (left, top, left + cells, top + cells)
    tiled = Image.fromarray(np.tile(tile, (3, 3)))
    return np.asarray(tiled.resize((width, height), Image.Resampling.BICUBIC, box))
