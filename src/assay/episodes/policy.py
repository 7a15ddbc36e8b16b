"""The boundary between Assay and whoever acts."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from assay.episodes.instruction import Instruction
from assay.episodes.spec import EpisodeSpec


class Policy(Protocol):
    """Acts on observations."""

    def reset(self, instruction: Any, spec: EpisodeSpec) -> None:
        """Begin an episode; ``instruction`` is an `Instruction`, ``spec`` tells the task and the seed.

        What a policy draws, it draws by ``spec.seed``: where a start is held, that alone varies.
        """
        ...

    def act(self, observation: Any) -> np.ndarray:
        """The next k actions, (k, action size), k >= 1; the world says what its observations and actions are.

        In LIBERO's world an action is (7,): translation, rotation, gripper (above 0 closes), in [-1, 1].
        """
        ...


@runtime_checkable
class Privileged(Protocol):
    """A policy that may see the simulator's state; it is attached before it is reset."""

    def attach(self, env: Any) -> None:
        """Take the environment of the episode to come: its task, its simulation."""
        ...


__all__ = ["EpisodeSpec", "Instruction", "Policy", "Privileged"]
