"""Policies that know nothing."""

from __future__ import annotations

import numpy as np

from assay.episodes import EpisodeSpec
from assay.sim import Observation
from assay.support.streams import stream
from assay.tasks import Instruction

STILL = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0])
"""The action that waits with an open gripper."""


class Idle:
    """Does nothing at all."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Nothing to do."""

    def act(self, observation: Observation) -> np.ndarray:
        """Wait."""
        return STILL[None]


class Random:
    """Draws every action uniformly; the episode's seed decides which."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Begin the episode's stream."""
        self._stream = stream(spec.seed, "random policy", spec.task)

    def act(self, observation: Observation) -> np.ndarray:
        """One action."""
        return self._stream.uniform(-1.0, 1.0, size=(1, 7))
