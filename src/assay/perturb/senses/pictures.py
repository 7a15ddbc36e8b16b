"""What perturbations of pictures have in common: which cameras they are on, and how their lenses are made."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from assay.episodes import Perturbation
from assay.episodes.fields import within
from assay.episodes.senses import Chance, Filter, Key, Sense
from assay.errors import PerturbationError, did_you_mean
from assay.sim import Observation
from assay.sim.observation import Kind
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

    def _look(self, behind: Observation, kind: Kind, camera: str, height: int, width: int) -> np.ndarray:
        seen = behind.picture(kind, camera, height, width)
        if kind != "colour" or not self._sense.concerns(camera):
            return seen
        return self._sense.changed(seen, Chance((*self._key, camera), behind.step))


def as_picture(values: np.ndarray) -> np.ndarray:
    """Numbers as uint8: rounded, and kept within 0 to 255. Works in place."""
    np.clip(values, 0, 255, out=values)
    values += 0.5
    return values.astype(np.uint8)
