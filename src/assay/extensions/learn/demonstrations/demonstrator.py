"""The oracle with a hand that is pushed about."""

from __future__ import annotations

import math

import numpy as np

from assay.episodes import EpisodeSpec
from assay.policies.oracle.policy import Oracle
from assay.sim import Observation
from assay.support.streams import stream
from assay.tasks import Instruction

KEPT = 0.8
"""The share of a push that is left after one step: pushes last about five steps."""
SPREAD = np.array([1.0, 1.0, 1.0, 0.3, 0.3, 0.3])
"""How strong pushes are along the axes of an action, translation and rotation."""


class Demonstrator(Oracle):
    """The oracle, whose actions are disturbed; what it wanted to do is kept."""

    def __init__(self, noise: float) -> None:
        self._noise = noise

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Begin an episode."""
        super().reset(instruction, spec)
        self.wanted: list[np.ndarray] = []
        """The oracle's own actions, each (7,)."""
        self._push = np.zeros(6)
        self._rng = stream("demonstrations", "noise", spec.task, spec.seed)

    def act(self, observation: Observation) -> np.ndarray:
        """What it wants to do, and a push."""
        action = super().act(observation)
        self.wanted.append(action[0])
        if not self._noise:
            return action
        fresh = self._noise * SPREAD * self._rng.normal(size=6)
        self._push = KEPT * self._push + math.sqrt(1.0 - KEPT**2) * fresh
        disturbed = np.clip(action, -1.0, 1.0)
        disturbed[0, :6] += self._push
        return np.asarray(disturbed)
