"""What perturbations of pictures have in common: which cameras they are on, and how their lenses are made."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from PIL import Image, ImageFilter

from assay.episodes import Perturbation, perturbation
from assay.episodes.fields import check_change, within
from assay.episodes.senses import Chance, Filter, Key, Sense
from assay.errors import PerturbationError, did_you_mean
from assay.sim import Observation
from assay.sim.observation import ImageKind
from assay.sim.render import CAMERAS as VIEWS

CAMERAS = (
    "agentview",
    "robot0_eye_in_hand",
    "robot0_robotview",
    "frontview",
    "birdview",
    "sideview",
    "galleryview",
    "paperview",
)
"""All that scenes have; which of them draw is the scene's business."""

MOST_SEVERE = 10


@dataclass(frozen=True, slots=True)
class PictureSense(Sense):
    """A perturbation of what cameras show."""

    cameras: tuple[str, ...] = field(default=(), kw_only=True)
    """The cameras it is on; all of them if none is named."""

    def __post_init__(self) -> None:
        Perturbation.__post_init__(self)
        if not isinstance(self.cameras, tuple):
            raise PerturbationError(f"{self.kind}: cameras is {self.cameras!r:.60}; valid: a tuple of names")
        for camera in self.cameras:
            if camera not in CAMERAS:
                raise PerturbationError(
                    f"{self.kind}: there is no camera {camera!r:.60}: {did_you_mean(str(camera), CAMERAS)}"
                )

    @property
    def opaque(self) -> bool:
        """Whether nothing of what happens can be made out on its cameras."""
        return False

    def hides(self, camera: str) -> bool:
        """Whether nothing is to be seen through a camera."""
        return self.opaque and self.concerns(camera)

    @property
    def everywhere(self) -> bool:
        """Whether it is on every camera that policies see through."""
        return all(map(self.concerns, VIEWS))

    def concerns(self, camera: str) -> bool:
        """Whether it is on a camera."""
        return not self.cameras or camera in self.cameras


@dataclass(frozen=True, slots=True)
class Optical(PictureSense):
    """Changes colours. Depth and segmentation, which are no camera's, stay as they are."""

    @abstractmethod
    def changed(self, picture: np.ndarray, chance: Chance) -> np.ndarray:
        """The changed picture, uint8, (height, width, 3), of one."""

    def begin(self, key: Key) -> Filter:
        """The filter of an episode."""
        return _OpticalFilter(self, key)


@dataclass(frozen=True, slots=True)
class Severe(Optical):
    """Changes colours by a severity. Lengths are shares of the picture's sides."""

    severity: int = within(1, MOST_SEVERE)
    """From 1, hardly to be seen, to 10, hardly to be seen through."""


class _OpticalFilter(Filter):
    def __init__(self, sense: Optical, key: Key) -> None:
        self._sense, self._key = sense, key

    def observe(self, observation: Observation) -> Observation:
        return observation.through(self._look)

    def _look(self, behind: Observation, kind: ImageKind, camera: str, height: int, width: int) -> np.ndarray:
        seen = behind.picture(kind, camera, height, width)
        if kind != "colour" or not self._sense.concerns(camera):
            return seen
        return self._sense.changed(seen, Chance((*self._key, camera), behind.step))


def as_picture(values: np.ndarray) -> np.ndarray:
    """Numbers as uint8: rounded, and kept within 0 to 255. Works in place."""
    np.clip(values, 0, 255, out=values)
    values += 0.5
    return values.astype(np.uint8)


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


@perturbation
@dataclass(frozen=True, slots=True)
class Patch(PictureSense):
    """A black patch on the lens, which stays where it is during an episode.

    It hides depth and segmentation too: both are 0 there.
    """

    kind = "senses/patch"

    size: float = within(0.01, 1.0)
    """Its height and width as a share of the picture's."""
    x: float | None = within(0.0, 1.0, default=None)
    """Where it is between the left edge (0) and the right one (1); drawn for each camera if None."""
    y: float | None = within(0.0, 1.0, default=None)
    """Where it is between the top (0) and the bottom (1); drawn for each camera if None."""

    @property
    def opaque(self) -> bool:
        """Whether next to nothing is left."""
        return self.size**2 > 0.9

    @property
    def plausible(self) -> bool:
        """unless it covers every camera"""
        return not (self.opaque and self.everywhere)

    def begin(self, key: Key) -> Filter:
        """The filter of an episode."""
        return _PatchFilter(self, key)


@dataclass(frozen=True, slots=True)
class _Insensitive(PictureSense):
    """A camera whose pictures have nothing to do with what happens after the start."""

    @property
    def opaque(self) -> bool:
        """Always."""
        return True

    @property
    def plausible(self) -> bool:
        """unless on every camera"""
        return not self.everywhere

    @abstractmethod
    def shown(self, kind: ImageKind, first: np.ndarray) -> np.ndarray:
        """The picture that is shown all the time, made of the first one."""

    def begin(self, key: Key) -> Filter:
        """The filter of an episode."""
        return _InsensitiveFilter(self)


@perturbation
@dataclass(frozen=True, slots=True)
class DroppedCamera(_Insensitive):
    """A camera that is dead: black pictures, no distance, no label."""

    kind = "senses/dropped_camera"

    def shown(self, kind: ImageKind, first: np.ndarray) -> np.ndarray:
        """Zeros."""
        return np.zeros_like(first)


@perturbation
@dataclass(frozen=True, slots=True)
class FrozenCamera(_Insensitive):
    """A camera that shows its first picture all the time."""

    kind = "senses/frozen_camera"

    def shown(self, kind: ImageKind, first: np.ndarray) -> np.ndarray:
        """The first picture."""
        return first


@perturbation
@dataclass(frozen=True, slots=True)
class BlankPictures(_Insensitive):
    """Plain grey pictures: a camera that works and has nothing before it. Depth and segmentation are 0."""

    kind = "senses/blank_pictures"

    grey: float = within(0.0, 1.0, default=0.5)
    """From black (0) to white (1)."""

    def shown(self, kind: ImageKind, first: np.ndarray) -> np.ndarray:
        """One tone."""
        return np.full_like(first, round(255 * self.grey) if kind == "colour" else 0)


class _PatchFilter(Filter):
    def __init__(self, sense: Patch, key: Key) -> None:
        self._sense, self._key = sense, key

    def observe(self, observation: Observation) -> Observation:
        return observation.through(self._look)

    def _look(self, behind: Observation, kind: ImageKind, camera: str, height: int, width: int) -> np.ndarray:
        seen, sense = behind.picture(kind, camera, height, width), self._sense
        if sense.concerns(camera):
            drawn = Chance((*self._key, camera), behind.step).lasting().random(2)
            x, y = (drawn[0] if sense.x is None else sense.x), (drawn[1] if sense.y is None else sense.y)
            seen[_part(height, y, sense.size), _part(width, x, sense.size)] = 0
        return seen


class _InsensitiveFilter(Filter):
    def __init__(self, sense: _Insensitive) -> None:
        self._sense = sense
        self._first: Observation | None = None

    def observe(self, observation: Observation) -> Observation:
        self._first = self._first or observation
        return observation.through(self._look)

    def _look(self, behind: Observation, kind: ImageKind, camera: str, height: int, width: int) -> np.ndarray:
        if self._first is None or not self._sense.concerns(camera):
            return behind.picture(kind, camera, height, width)
        # The first one is drawn once in an episode, and says what is no camera and no size.
        return self._sense.shown(kind, self._first.picture(kind, camera, height, width))


def _part(side: int, place: float, share: float) -> slice:
    """A share of a side, at least a pixel, at a place between its start (0) and its end (1)."""
    length = max(1, round(side * share))
    start = round((side - length) * place)
    return slice(start, start + length)
