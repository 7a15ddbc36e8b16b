"""Policies for the point world."""

from __future__ import annotations

import numpy as np

from assay.episodes import EpisodeSpec, Instruction
from assay_example.point.world import PLACES, PointEnv, PointObservation


class Guide:
    """The oracle: moves straight to the goal."""

    def attach(self, env: PointEnv) -> None:
        """Store the environment, which knows the goal."""
        self._goal = np.array(PLACES[env.task.place])

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Do nothing: there is no state to reset."""

    def act(self, observation: PointObservation) -> np.ndarray:
        """Return one step towards the goal, (1, 2)."""
        return np.clip(self._goal - observation.position, -1.0, 1.0)[None]


class Reader:
    """Moves to the position that the instruction names; waits if the instruction names no position."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Find a known name in the instruction."""
        named = [name for name in PLACES if name in instruction.text.lower().split()]
        self._goal = np.array(PLACES[named[0]]) if named else None

    def act(self, observation: PointObservation) -> np.ndarray:
        """Return one step, (1, 2)."""
        if self._goal is None:
            return np.zeros((1, 2))
        return np.clip(self._goal - observation.position, -1.0, 1.0)[None]


class Lost:
    """Ignores the instruction and repeats the path from the default start to the task's position."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Recall the path of the task."""
        self._way = np.array(PLACES[spec.task.partition("/")[2]]) / 6

    def act(self, observation: PointObservation) -> np.ndarray:
        """Return the memorised step, (1, 2)."""
        return self._way[None]
