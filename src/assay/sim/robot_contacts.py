"""Contacts of the robot: the touched entity, the touching part of the robot, and the force.

Contacts are evaluated after every control step, so the loops over them are compiled.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from assay.sim.compile import CompiledScene, EntityIndex
from assay.sim.compose import GRIPPER, MOUNT, ROBOT
from assay.sim.simulation import Simulation
from assay.support.jit import machine_code

ARENA = "arena"
"""Name of the owner of geoms that belong to neither the robot nor an entity, such as the table and floor."""
PARTS = 5
"""Number of labels for parts of the robot: not the robot, arm, palm, left finger, right finger."""
_NOT_ROBOT, ARM_PART, _PALM, _LEFT, _RIGHT = range(PARTS)
_PART_OF = {
    f"{GRIPPER}leftfinger": _LEFT,
    f"{GRIPPER}finger_joint1_tip": _LEFT,
    f"{GRIPPER}rightfinger": _RIGHT,
    f"{GRIPPER}finger_joint2_tip": _RIGHT,
}


@dataclass(frozen=True, slots=True, eq=False)
class Touches:
    """The robot's contacts with its surroundings at one time, one row per contact."""

    geoms: np.ndarray
    """Ids of the touched geoms, (n,)."""
    owners: np.ndarray
    """Index of the touched entity in `RobotContacts.names`, (n,)."""
    parts: np.ndarray
    """Label of the touching part of the robot, (n,)."""
    forces: np.ndarray
    """Force of the robot on the geom in the world frame, in newtons, (n, 3)."""


class RobotContacts:
    """Reads the robot's contacts from MuJoCo's data."""

    def __init__(self, compiled: CompiledScene) -> None:
        model = compiled.model
        self.names = (*compiled.entities, ARENA)
        """Names of the owners: the entities, then the arena."""
        self._owner = np.full(model.ngeom, len(compiled.entities))
        for number, entity in enumerate(compiled.entities.values()):
            self._owner[list(entity.geoms)] = number
        self._part = np.full(model.ngeom, _NOT_ROBOT)
        for geom, body_id in enumerate(model.geom_bodyid):
            body = model.body(body_id).name
            if body.startswith(GRIPPER):
                self._part[geom] = _PART_OF.get(body, _PALM)
            elif body.startswith(ROBOT):
                self._part[geom] = ARM_PART
            elif body.startswith(MOUNT):  # the pedestal is neither robot nor surroundings
                self._owner[geom] = -1

    def now(self, data: mujoco.MjData) -> Touches:
        """Return the robot's current contacts, excluding self-contacts."""
        contact = data.contact
        constraints = contact.geom, contact.frame, contact.dim, contact.efc_address, data.efc_force
        return Touches(*_contact_forces(*constraints, self._part, self._owner))


@machine_code
def _contact_forces(  # type: ignore[no-untyped-def]
    geom,  # (contacts, 2)
    frame,  # (contacts, 9): rows are the normal, from the first geom to the second, and two tangents
    dim,  # (contacts,)
    address,  # (contacts,): index of the first force of a contact; -1 if it has none
    force,  # of all constraints
    part,  # (ngeom,)
    owner,  # (ngeom,)
):
    """Return the geoms, owners, parts (n,) and forces (n, 3) of the robot's contacts with its surroundings.

    Friction cones are elliptic in all composed models.
    """
    most = len(geom)
    geoms, owners, parts = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    forces = np.zeros((most, 3))
    count = 0
    for column in range(2):  # the robot's geom comes first or second
        for contact in range(most):
            mine, other = geom[contact, column], geom[contact, 1 - column]
            if part[mine] == 0 or part[other] > 0 or owner[other] < 0:
                continue
            geoms[count], owners[count], parts[count] = other, owner[other], part[mine]
            first = address[contact]
            sign = 1.0 if column == 0 else -1.0  # MuJoCo's is the force of the first geom on the second
            for axis in range(3):
                for k in range(min(dim[contact], 3) if first >= 0 else 0):
                    forces[count, axis] += sign * frame[contact, 3 * k + axis] * force[first + k]
            count += 1
    return geoms[:count], owners[:count], parts[:count], forces[:count]


@machine_code
def measure_press(geoms, parts, forces, mine, axis):  # type: ignore[no-untyped-def]
    """Return whether the given geoms are touched, and the force in newtons that opposite fingers exert on them.

    ``mine`` is the mask of the geoms, (ngeom,); ``axis`` (3,) points from the right finger to the left one.
    """
    touched, left, right = False, 0.0, 0.0
    for row in range(len(geoms)):
        if mine[geoms[row]]:
            touched = True
            along = forces[row, 0] * axis[0] + forces[row, 1] * axis[1] + forces[row, 2] * axis[2]
            if parts[row] == _LEFT:
                left -= along
            elif parts[row] == _RIGHT:
                right += along
    return touched, max(min(left, right), 0.0)


FINGERS = 2


class Fingers:
    """Counts the fingers that touch an object, and checks whether the robot touches it."""

    def __init__(self, simulation: Simulation) -> None:
        model = simulation.model
        self._simulation = simulation
        self._finger = np.zeros(model.ngeom, dtype=int)
        for number in range(1, FINGERS + 1):
            for part in ("", "_pad"):
                self._finger[model.geom(f"{GRIPPER}finger{number}{part}_collision").id] = number
        self.robot = np.array(
            [model.body(body).name.startswith((ROBOT, GRIPPER)) for body in model.geom_bodyid]
        )
        """Mask of the robot's geoms, (ngeom,)."""

    def count(self, entity: EntityIndex) -> int:
        """Return the number of fingers that touch an entity, from 0 to 2."""
        return len({self._finger[mine] for mine in self._touching(entity)} - {0})

    def hold(self, entity: EntityIndex) -> bool:
        """Return whether both fingers touch an entity."""
        return self.count(entity) == FINGERS

    def touch(self, entity: EntityIndex) -> bool:
        """Return whether any part of the robot touches an entity."""
        return len(self._touching(entity)) > 0

    def _touching(self, entity: EntityIndex) -> np.ndarray:
        """Return the ids of the robot's geoms that touch an entity."""
        data = self._simulation.data
        pairs = data.contact.geom[: data.ncon]
        theirs = np.isin(pairs, list(entity.geoms))
        return np.concatenate(
            [pairs[theirs[:, other] & self.robot[pairs[:, mine]], mine] for mine, other in ((0, 1), (1, 0))]
        )
