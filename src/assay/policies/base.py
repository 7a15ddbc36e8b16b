"""The boundary between Assay and whoever acts."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from assay.experiments.spec import EpisodeSpec
from assay.sim import Observation, Simulation
from assay.tasks import Instruction, Task

__all__ = ["EpisodeSpec", "Policy", "Privileged"]


class Policy(Protocol):
    """Acts on observations."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Begin an episode."""
        ...

    def act(self, observation: Observation) -> np.ndarray:
        """The next k actions, (k, 7), k >= 1: translation, rotation, gripper (above 0 closes), in [-1, 1]."""
        ...


@runtime_checkable
class Privileged(Protocol):
    """A policy that may look behind the scenes; it is attached before it is reset."""

    def attach(self, world: Simulation, task: Task) -> None:
        """Take the world and the task of the episode to come."""
        ...
