"""The boundary between Assay and whoever acts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from assay.sim import Observation, World
from assay.tasks import Instruction, Task


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """What determines one rollout."""

    task: str
    """The task's id."""
    seed: int
    pack: str
    """Name of the asset pack."""
    states: Path | None = None
    """LIBERO's folder of stored initial states, of which ``seed`` chooses one; drawn by the seed if None."""


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

    def attach(self, world: World, task: Task) -> None:
        """Take the world and the task of the episode to come."""
        ...
