"""What the robot touches, and what it has hold of."""

from __future__ import annotations

import numpy as np

from assay.sim.compile import EntityIndex
from assay.sim.compose import GRIPPER, ROBOT
from assay.sim.simulation import Simulation

_BOTH = 2
"""Fingers."""


class Fingers:
    """Reads the contacts of a simulation; never changes it."""

    def __init__(self, simulation: Simulation) -> None:
        model = simulation.model
        self._simulation = simulation
        self._finger = np.zeros(model.ngeom, dtype=int)
        for number in range(1, _BOTH + 1):
            for part in ("", "_pad"):
                self._finger[model.geom(f"{GRIPPER}finger{number}{part}_collision").id] = number
        self.robot = np.array(
            [
                model.body(model.geom_bodyid[geom]).name.startswith((ROBOT, GRIPPER))
                for geom in range(model.ngeom)
            ]
        )
        """Which geoms are the robot's, (geoms,)."""

    def hold(self, thing: EntityIndex) -> bool:
        """Whether both fingers touch a thing."""
        return len({self._finger[mine] for mine in self._touching(thing)} - {0}) == _BOTH

    def touch(self, thing: EntityIndex) -> bool:
        """Whether anything of the robot touches a thing."""
        return len(self._touching(thing)) > 0

    def _touching(self, thing: EntityIndex) -> np.ndarray:
        """The robot's geoms that touch a thing."""
        data = self._simulation.data
        pairs = data.contact.geom[: data.ncon]
        theirs = np.isin(pairs, list(thing.geoms))
        return np.concatenate(
            [pairs[theirs[:, other] & self.robot[pairs[:, mine]], mine] for mine, other in ((0, 1), (1, 0))]
        )
