"""Baselines: a policy that waits, and one that acts at random."""

from __future__ import annotations

import numpy as np

from assay.episodes import EpisodeSpec
from assay.sim import Observation
from assay.support.streams import stream
from assay.tasks import Instruction

STILL = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0])
"""Action (7,) that waits with an open gripper."""


class Idle:
    """Waits for the entire episode."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Do nothing, because the policy has no state."""

    def act(self, observation: Observation) -> np.ndarray:
        """Return the waiting action, shape (1, 7)."""
        return STILL[None]


class Random:
    """Samples every action uniformly at random; the episode's seed determines the samples."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Seed the random stream."""
        self._stream = stream(spec.seed, "random policy", spec.task)

    def act(self, observation: Observation) -> np.ndarray:
        """Sample one random action, shape (1, 7)."""
        return self._stream.uniform(-1.0, 1.0, size=(1, 7))
