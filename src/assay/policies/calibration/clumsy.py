"""A policy that knows what to do and misses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.errors import PolicyError
from assay.policies.base import EpisodeSpec
from assay.policies.calibration.flawed import Flawed
from assay.policies.oracle.sight import Sight
from assay.sim import World
from assay.streams import stream


@dataclass
class Clumsy(Flawed):
    """Flaw: misjudges where its hand is, so that it goes the right way and misses what it reaches for.

    The error is drawn once for each episode, from a stream of the episode's own. What it has got hold of it
    puts where it belongs.
    """

    miss: float = 0.02
    """Standard deviation of the error along each horizontal axis, metres."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.miss < 1.0:
            raise PolicyError(f"miss={self.miss:g}: valid: 0 to 1 (metres)")

    def sight(self, spec: EpisodeSpec) -> Sight:
        """The oracle's, with the hand beside itself."""
        draw = stream(spec.seed, "clumsy", spec.task).normal(scale=self.miss, size=2)
        return _Askew(self._world, np.append(draw, 0.0))


class _Askew(Sight):
    """Sees the hand displaced by an offset (3,), metres."""

    def __init__(self, world: World, offset: np.ndarray) -> None:
        super().__init__(world)
        self._offset = offset

    def hand(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the hand seems to be."""
        position, rotation = super().hand()
        return position + self._offset, rotation
