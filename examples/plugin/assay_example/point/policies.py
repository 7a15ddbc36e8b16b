"""Policies for the point."""

from __future__ import annotations

import numpy as np

from assay.episodes import EpisodeSpec, Instruction
from assay_example.point.world import PLACES, PointEnv, PointObservation


class Guide:
    """The demonstrator: goes straight to where the goal is."""

    def attach(self, env: PointEnv) -> None:
        """Take the environment, which knows the goal."""
        self._goal = np.array(PLACES[env.task.place])

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Nothing to prepare."""

    def act(self, observation: PointObservation) -> np.ndarray:
        """One step towards the goal, (1, 2)."""
        return np.clip(self._goal - observation.position, -1.0, 1.0)[None]


class Reader:
    """Goes to the place that the instruction names; waits if it names none."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Look for a name it knows."""
        named = [name for name in PLACES if name in instruction.text.lower().split()]
        self._goal = np.array(PLACES[named[0]]) if named else None

    def act(self, observation: PointObservation) -> np.ndarray:
        """One step, (1, 2)."""
        if self._goal is None:
            return np.zeros((1, 2))
        return np.clip(self._goal - observation.position, -1.0, 1.0)[None]


class Lost:
    """Does not listen: walks as it always did from the usual start to the task's place."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Remember the way."""
        self._way = np.array(PLACES[spec.task.partition("/")[2]]) / 6

    def act(self, observation: PointObservation) -> np.ndarray:
        """The same step as ever, (1, 2)."""
        return self._way[None]
