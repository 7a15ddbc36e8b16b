"""Cameras that do not show what is there: covered, dead, stuck, or seeing nothing but grey."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from assay.episodes import perturbation
from assay.episodes.fields import within
from assay.episodes.senses import Chance, Filter, Key
from assay.perturb.senses.pictures import PictureSense
from assay.sim import Observation
from assay.sim.observation import Kind


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
    def shown(self, kind: Kind, first: np.ndarray) -> np.ndarray:
        """The picture that is shown all the time, made of the first one."""

    def begin(self, key: Key) -> Filter:
        """The filter of an episode."""
        return _InsensitiveFilter(self)


@perturbation
@dataclass(frozen=True, slots=True)
class DroppedCamera(_Insensitive):
    """A camera that is dead: black pictures, no distance, no label."""

    kind = "senses/dropped_camera"

    def shown(self, kind: Kind, first: np.ndarray) -> np.ndarray:
        """Zeros."""
        return np.zeros_like(first)


@perturbation
@dataclass(frozen=True, slots=True)
class FrozenCamera(_Insensitive):
    """A camera that shows its first picture all the time."""

    kind = "senses/frozen_camera"

    def shown(self, kind: Kind, first: np.ndarray) -> np.ndarray:
        """The first picture."""
        return first


@perturbation
@dataclass(frozen=True, slots=True)
class BlankPictures(_Insensitive):
    """Plain grey pictures: a camera that works and has nothing before it. Depth and segmentation are 0."""

    kind = "senses/blank_pictures"

    grey: float = within(0.0, 1.0, default=0.5)
    """From black (0) to white (1)."""

    def shown(self, kind: Kind, first: np.ndarray) -> np.ndarray:
        """One tone."""
        return np.full_like(first, round(255 * self.grey) if kind == "colour" else 0)


class _PatchFilter(Filter):
    def __init__(self, sense: Patch, key: Key) -> None:
        self._sense, self._key = sense, key

    def observe(self, observation: Observation) -> Observation:
        return observation.through(self._look)

    def _look(self, behind: Observation, kind: Kind, camera: str, height: int, width: int) -> np.ndarray:
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

    def _look(self, behind: Observation, kind: Kind, camera: str, height: int, width: int) -> np.ndarray:
        if self._first is None or not self._sense.concerns(camera):
            return behind.picture(kind, camera, height, width)
        # The first one is drawn once in an episode, and says what is no camera and no size.
        return self._sense.shown(kind, self._first.picture(kind, camera, height, width))


def _part(side: int, place: float, share: float) -> slice:
    """A share of a side, at least a pixel, at a place between its start (0) and its end (1)."""
    length = max(1, round(side * share))
    start = round((side - length) * place)
    return slice(start, start + length)
