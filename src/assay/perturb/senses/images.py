"""Perturbations of camera images: grain, fog, exposure, blur, patches, dead and frozen cameras."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from PIL import Image, ImageFilter

from assay.episodes import Perturbation, perturbation, within
from assay.episodes.senses import Chance, Filter, Key, Sense
from assay.errors import PerturbationError, did_you_mean
from assay.sim import Observation
from assay.sim.observation import ImageKind
from assay.sim.render import CAMERAS as VIEWS

CAMERAS = (
    *("agentview", "robot0_eye_in_hand", "robot0_robotview", "frontview", "birdview", "sideview"),
    *("galleryview", "paperview"),
)
"""Cameras of all scenes; a scene may lack some."""
MAX_SEVERITY = 10
MIN_VISIBLE_FACTOR = 0.02
"""Brightness or contrast factor below which nothing is visible: five of 256 tones are left."""
CLOUD_CELLS = 64
"""Height and width of a cloud texture tile, in cells."""
_TONES = np.arange(256.0)


@dataclass(frozen=True, slots=True)
class PictureSense(Sense):
    """Base class of perturbations of camera images."""

    cameras: tuple[str, ...] = field(default=(), kw_only=True)
    """Affected cameras; all cameras if empty."""

    def __post_init__(self) -> None:
        Perturbation.__post_init__(self)
        if not isinstance(self.cameras, tuple):
            raise PerturbationError(
                f"{self.kind}: cameras is {self.cameras!r:.60}: expected a tuple of names"
            )
        for camera in self.cameras:
            if camera not in CAMERAS:
                raise PerturbationError(
                    f"{self.kind}: there is no camera {camera!r:.60}: {did_you_mean(str(camera), CAMERAS)}"
                )

    @property
    def opaque(self) -> bool:
        """Whether the affected cameras show nothing of the scene."""
        return False

    def hides(self, camera: str) -> bool:
        """Whether a camera shows nothing of the scene."""
        return self.opaque and self.concerns(camera)

    @property
    def plausible(self) -> bool:
        """unless no camera shows anything of the scene"""
        return not all(map(self.hides, VIEWS))

    def concerns(self, camera: str) -> bool:
        """Whether a camera is affected."""
        return not self.cameras or camera in self.cameras

    @abstractmethod
    def perturb(self, image: np.ndarray, kind: ImageKind, chance: Chance) -> np.ndarray:
        """Return the perturbed colour, depth or segmentation image (see ``kind``), of shape (height, width, ...)."""

    def begin(self, key: Key) -> Filter:
        """Return the filter for an episode."""
        return _CameraFilter(self, key)


class _CameraFilter(Filter):
    def __init__(self, sense: PictureSense, key: Key) -> None:
        self._sense, self._key = sense, key
        self._first: Observation | None = None

    def observe(self, observation: Observation) -> Observation:
        self._first = self._first or observation
        return observation.through(self._look)

    def _look(self, behind: Observation, kind: ImageKind, camera: str, height: int, width: int) -> np.ndarray:
        if not self._sense.concerns(camera):
            return behind.picture(kind, camera, height, width)
        source = self._first or behind if isinstance(self._sense, _Insensitive) else behind
        chance = Chance((*self._key, camera), behind.step)
        return self._sense.perturb(source.picture(kind, camera, height, width), kind, chance)


@dataclass(frozen=True, slots=True)
class Optical(PictureSense):
    """Changes colour images; depth and segmentation are unchanged."""

    @abstractmethod
    def alter(self, image: np.ndarray, chance: Chance) -> np.ndarray:
        """Return the changed image, uint8, (height, width, 3)."""

    def perturb(self, image: np.ndarray, kind: ImageKind, chance: Chance) -> np.ndarray:
        """Change colour images."""
        return self.alter(image, chance) if kind == "colour" else image


@dataclass(frozen=True, slots=True)
class Severe(Optical):
    """Changes colour images according to a severity level. Lengths are fractions of the image sides."""

    severity: int = within(1, MAX_SEVERITY)
    """Severity from 1 (barely visible) to 10 (image barely recognisable)."""


@perturbation
class GaussianNoise(Severe):
    """Adds noise that is sampled anew at every step."""

    kind = "senses/gaussian_noise"
    DEVIATION: ClassVar[float] = 0.03
    """Standard deviation per severity level, as a fraction of white."""

    def alter(self, image: np.ndarray, chance: Chance) -> np.ndarray:
        """Add normally distributed noise to each pixel and channel."""
        noise = chance.now().standard_normal(image.shape, dtype=np.float32)
        noise *= 255 * self.DEVIATION * self.severity
        noise += image
        return _to_uint8(noise)


@perturbation
class Fog(Severe):
    """Adds fog in uneven banks that drift across the image during an episode."""

    kind = "senses/fog"
    DENSITY: ClassVar[float] = 0.085
    """Fraction of the image lost per severity level, at average thickness."""
    COLOUR: ClassVar[tuple[int, int, int]] = (222, 226, 230)
    DRIFT: ClassVar[float] = 0.004
    """Drift per control step, as a fraction of the image sides."""

    def alter(self, image: np.ndarray, chance: Chance) -> np.ndarray:
        """Mix each pixel with the colour of the fog, according to its thickness."""
        height, width = image.shape[:2]
        rng = chance.lasting()
        heading = rng.uniform(0, 2 * np.pi)
        drift = self.DRIFT * chance.step * np.array([np.cos(heading), np.sin(heading)])
        clouds = np.full((CLOUD_CELLS, CLOUD_CELLS), 0.5, np.float32)
        for cells, weight in ((2, 0.9), (4, 0.5), (8, 0.3), (16, 0.15), (32, 0.08)):
            grid = rng.random((cells, cells), dtype=np.float32) - 0.5
            clouds += weight * _stretch_tile(grid, CLOUD_CELLS, CLOUD_CELLS, np.zeros(2))
        thickness = (0.1 + 1.8 * clouds).clip(0.1, 1.9)
        clear = _stretch_tile(np.float32(1 - self.DENSITY * self.severity) ** thickness, height, width, drift)
        foggy = np.empty_like(image)
        for channel, colour in enumerate(self.COLOUR):  # broadcasting over three channels is slow
            foggy[..., channel] = _to_uint8((image[..., channel] - np.float32(colour)) * clear + colour)
        return foggy


@dataclass(frozen=True, slots=True)
class _ToneFactor(Optical):
    neutral = MappingProxyType({"factor": 1.0})

    factor: float = within(0.0, 4.0)

    @property
    def opaque(self) -> bool:
        """Whether the images are practically uniform."""
        return self.factor < MIN_VISIBLE_FACTOR


@perturbation
class Brightness(_ToneFactor):
    """Makes images darker or lighter, as if exposed differently."""

    kind = "senses/brightness"
    factor: float = within(0.0, 4.0)
    """Factor by which every colour is multiplied: 0 is black, 1 leaves the image unchanged."""

    def alter(self, image: np.ndarray, chance: Chance) -> np.ndarray:
        """Scale the tones."""
        return np.take(_to_uint8(_TONES * self.factor), image)


@perturbation
class Contrast(_ToneFactor):
    """Decreases or increases the contrast of images."""

    kind = "senses/contrast"
    factor: float = within(0.0, 4.0)
    """Factor that multiplies the distance of every colour from the image's mean: 0 is plain grey."""

    def alter(self, image: np.ndarray, chance: Chance) -> np.ndarray:
        """Scale the tones about their mean."""
        mean = image.mean()
        return np.take(_to_uint8((_TONES - mean) * self.factor + mean), image)


@perturbation
class MotionBlur(Severe):
    """Blurs along a line, as if the camera moved; the direction is sampled anew at every step."""

    kind = "senses/motion_blur"
    LENGTH: ClassVar[float] = 0.014
    """Length of the blur per severity level, as a fraction of the image's longer side."""

    def alter(self, image: np.ndarray, chance: Chance) -> np.ndarray:
        """Average the image along a line."""
        height, width = image.shape[:2]
        reach = self.LENGTH * self.severity * max(height, width) / 2
        angle = chance.now().uniform(0, math.pi)
        ends = reach * np.array([math.sin(angle), math.cos(angle)])
        count = 2 * math.ceil(np.abs(ends).max()) + 1
        points = np.rint(np.linspace(-ends, ends, count)).astype(int)  # (count, 2)
        margin = points.max(axis=0)
        padded = np.pad(image, ((margin[0],) * 2, (margin[1],) * 2, (0, 0)), mode="edge")
        total = np.zeros(image.shape, np.uint32)
        for row, column in points + margin:
            total += padded[row : row + height, column : column + width]
        return np.asarray((total + count // 2) // count, dtype=np.uint8)


@perturbation
class ZoomBlur(Severe):
    """Blurs outwards, as if zooming in during the exposure; the centre remains sharp."""

    kind = "senses/zoom_blur"
    GROWTH: ClassVar[float] = 0.03
    """Growth of the image per severity level, as a fraction."""
    SPACING: ClassVar[float] = 4.0
    """Maximum distance between the positions of a corner at two successive sizes, in pixels."""

    def alter(self, image: np.ndarray, chance: Chance) -> np.ndarray:
        """Average copies of the image that are enlarged by different factors."""
        height, width = image.shape[:2]
        growth = self.GROWTH * self.severity
        corner = growth * math.hypot(height, width) / 2
        doublings = max(1, math.ceil(math.log2(corner / self.SPACING)))
        step = (1 + growth) ** (1 / (2**doublings - 1))
        mean = image
        # The mean over 2n sizes is the mean of the mean over n sizes and of the same enlarged by n steps.
        for doubling in range(doublings):
            factor = step ** (2**doubling)
            left, top = width * (1 - 1 / factor) / 2, height * (1 - 1 / factor) / 2
            box = (left, top, width - left, height - top)
            larger = Image.fromarray(mean).resize((width, height), Image.Resampling.BILINEAR, box)
            enlarged = np.asarray(larger)
            half = (mean ^ enlarged) >> 1
            # Rounding down and up in turn keeps the brightness.
            mean = (mean & enlarged) + half if doubling % 2 else (mean | enlarged) - half
        return mean


@perturbation
class GlassBlur(Severe):
    """Shows the scene through frosted glass, which does not change during an episode."""

    kind = "senses/glass_blur"
    REACH: ClassVar[float] = 0.0035
    """Largest displacement per severity level, as a fraction of the image sides."""
    SOFTNESS: ClassVar[float] = 0.0004
    """Increase in the radius of the subsequent blur per severity level, as a fraction of the longer side."""

    def alter(self, image: np.ndarray, chance: Chance) -> np.ndarray:
        """Replace every pixel by a nearby one, then blur slightly."""
        height, width = image.shape[:2]
        down, across = chance.lasting().random((2, height, width), dtype=np.float32) * 2 - 1
        reach = self.REACH * self.severity
        rows = np.arange(height)[:, None] + np.rint(down * reach * height).astype(int)
        columns = np.arange(width) + np.rint(across * reach * width).astype(int)
        index = rows.clip(0, height - 1) * width + columns.clip(0, width - 1)
        scattered = np.take(image.reshape(-1, 3), index, axis=0)
        softness = self.SOFTNESS * (self.severity + 3) * max(height, width)
        return np.asarray(Image.fromarray(scattered).filter(ImageFilter.BoxBlur(softness)))


@perturbation
class Patch(PictureSense):
    """Puts a black patch, which does not move during an episode, on the lens.

    The patch also hides depth and segmentation: both are 0 there.
    """

    kind = "senses/patch"
    size: float = within(0.01, 1.0)
    """Height and width of the patch, as a fraction of the image's height and width."""
    x: float | None = within(0.0, 1.0, default=None)
    """Position between the left edge (0) and the right edge (1); sampled for each camera if None."""
    y: float | None = within(0.0, 1.0, default=None)
    """Position between the top (0) and the bottom (1); sampled for each camera if None."""

    @property
    def opaque(self) -> bool:
        """Whether the patch covers more than 90 % of the image."""
        return self.size**2 > 0.9

    def perturb(self, image: np.ndarray, kind: ImageKind, chance: Chance) -> np.ndarray:
        """Set the patch to 0."""
        parts = []
        for side, place, drawn in zip(
            image.shape[:2], (self.y, self.x), reversed(chance.lasting().random(2)), strict=True
        ):
            length = max(1, round(side * self.size))
            start = round((side - length) * (drawn if place is None else place))
            parts.append(slice(start, start + length))
        image[tuple(parts)] = 0
        return image


@dataclass(frozen=True, slots=True)
class _Insensitive(PictureSense):
    """A camera that shows a single image, derived from the first image, during the entire episode."""

    @property
    def opaque(self) -> bool:
        """Whether the affected cameras show nothing of the current scene, which is always the case."""
        return True


@perturbation
class DroppedCamera(_Insensitive):
    """Simulates a dead camera: black images, depth and segmentation 0."""

    kind = "senses/dropped_camera"

    def perturb(self, image: np.ndarray, kind: ImageKind, chance: Chance) -> np.ndarray:
        """Return zeros."""
        return np.zeros_like(image)


@perturbation
class FrozenCamera(_Insensitive):
    """Shows the first image during the entire episode."""

    kind = "senses/frozen_camera"

    def perturb(self, image: np.ndarray, kind: ImageKind, chance: Chance) -> np.ndarray:
        """Return the first image."""
        return image


@perturbation
class BlankPictures(_Insensitive):
    """Shows plain grey images, as if nothing were in view; depth and segmentation are 0."""

    kind = "senses/blank_pictures"
    grey: float = within(0.0, 1.0, default=0.5)
    """Grey level from black (0) to white (1)."""

    def perturb(self, image: np.ndarray, kind: ImageKind, chance: Chance) -> np.ndarray:
        """Return a uniform image."""
        return np.full_like(image, round(255 * self.grey) if kind == "colour" else 0)


def _to_uint8(values: np.ndarray) -> np.ndarray:
    """Round and clip to 0..255, in place."""
    np.clip(values, 0, 255, out=values)
    values += 0.5
    return values.astype(np.uint8)


def _stretch_tile(tile: np.ndarray, height: int, width: int, drift: np.ndarray) -> np.ndarray:
    """Stretch a periodic square tile over (height, width), shifted by the given fractions (2,) of its sides."""
    cells = len(tile)
    left, top = cells * (1 + drift % 1)
    box = (left, top, left + cells, top + cells)
    tiled = Image.fromarray(np.tile(tile, (3, 3)))
    return np.asarray(tiled.resize((width, height), Image.Resampling.BICUBIC, box))


def pictures_at(severity: int) -> dict[str, PictureSense]:
    """Return every image perturbation, by its display name, at a severity of 1 to 10."""
    share = severity / 10
    return {
        "motion blur": MotionBlur(severity),
        "Gaussian noise": GaussianNoise(severity),
        "zoom blur": ZoomBlur(severity),
        "fog": Fog(severity),
        "glass blur": GlassBlur(severity),
        "darker": Brightness(1 - 0.9 * share),
        "lighter": Brightness(1 + 2 * share),
        "flatter": Contrast(1 - 0.9 * share),
        "harsher": Contrast(1 + 3 * share),
        "patch": Patch(0.6 * share),
        "dropped camera": DroppedCamera(),
        "frozen camera": FrozenCamera(),
        "blank pictures": BlankPictures(),
    }
