"""What the robot touches, with which part of it and how hard: compiled, as it is looked at after every control step."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from assay.sim.compile import CompiledScene, EntityIndex
from assay.sim.compose import GRIPPER, MOUNT, ROBOT
from assay.sim.simulation import Simulation
from assay.support.jit import compiled as machine_code

ARENA = "arena"
"""What everything is called that is neither the robot nor an entity: the table, the floor."""
PARTS = 5
"""How many numbers there are for parts of the robot: none of it, the arm, the hand, each finger."""
_NOBODY, _ARM, _HAND, _LEFT, _RIGHT = range(PARTS)
_PART_OF = {
    f"{GRIPPER}leftfinger": _LEFT,
    f"{GRIPPER}finger_joint1_tip": _LEFT,
    f"{GRIPPER}rightfinger": _RIGHT,
    f"{GRIPPER}finger_joint2_tip": _RIGHT,
}


@dataclass(frozen=True, slots=True, eq=False)
class Touches:
    """The robot's contacts with the world at one moment, one row each."""

    geoms: np.ndarray
    """What is touched, (n,)."""
    owners: np.ndarray
    """Whose it is: the number of an entity, or how many there are for the arena, (n,)."""
    parts: np.ndarray
    """Which part of the robot touches it, (n,)."""
    forces: np.ndarray
    """Of the robot on it, newton in the world, (n, 3)."""

    @property
    def by_arm(self) -> np.ndarray:
        """Whose things links of the arm touch."""
        return np.asarray(self.owners[self.parts == _ARM])

    def largest(self, most: np.ndarray) -> None:
        """Raise each owner's largest force of one part of the robot so far, newton, (owners,), where it is more now."""
        _raise_to(self.owners, self.parts, self.forces, most)


class RobotContacts:
    """Looks at the contacts of a simulation's robot."""

    def __init__(self, compiled: CompiledScene) -> None:
        model = compiled.model
        self.names = (*compiled.entities, ARENA)
        """What the numbers of owners stand for."""
        self._owner = np.full(model.ngeom, len(compiled.entities))
        for number, entity in enumerate(compiled.entities.values()):
            self._owner[list(entity.geoms)] = number
        bodies = [model.body(body).name for body in model.geom_bodyid]
        self._part = np.array([_part(body) for body in bodies])
        self._owner[[body.startswith(MOUNT) for body in bodies]] = -1  # what the robot stands on
        self._closing = model.joint(f"{GRIPPER}finger_joint1").id
        self._elliptic = model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC

    def now(self, data: mujoco.MjData) -> Touches | None:
        """What the robot touches, but for itself; None where it touches nothing."""
        contact = data.contact
        which, robot = _of_robot(contact.geom, self._part, self._owner)
        if not len(which):
            return None
        return Touches(
            *_felt(
                which,
                robot,
                contact.geom,
                contact.frame,
                contact.friction,
                contact.dim,
                contact.efc_address,
                data.efc_force,
                self._part,
                self._owner,
                self._elliptic,
            )
        )

    def pressed(self, touches: Touches, data: mujoco.MjData, geoms: np.ndarray) -> tuple[bool, float]:
        """Whether something is touched, and how hard the fingers press on it from opposite sides, newton.

        ``geoms`` (ngeom,) says which geoms are its own.
        """
        axis = data.xaxis[self._closing]  # from the right finger to the left one
        found: tuple[bool, float] = _pressed(touches.geoms, touches.parts, touches.forces, geoms, axis)
        return found


def _part(body: str) -> int:
    if body.startswith(GRIPPER):
        return _PART_OF.get(body, _HAND)
    return _ARM if body.startswith(ROBOT) else _NOBODY


@machine_code
def _of_robot(geom, part, owner):  # type: ignore[no-untyped-def]
    """Which contacts (n, 2) are the robot's with something else, and in which column it is: those with 0 first."""
    which = np.empty(len(geom), np.int64)
    robot = np.empty(len(geom), np.int64)
    count = 0
    for column in range(2):
        for row in range(len(geom)):
            mine, other = geom[row, column], geom[row, 1 - column]
            if part[mine] > 0 and part[other] == 0 and owner[other] >= 0:
                which[count] = row
                robot[count] = column
                count += 1
    return which[:count], robot[:count]


@machine_code
def _felt(  # type: ignore[no-untyped-def]
    which,  # (n,)
    robot,  # (n,)
    geom,  # (contacts, 2)
    frame,  # (contacts, 9): rows are the normal, from the first geom to the second, and two tangents
    friction,  # (contacts, 5)
    dim,  # (contacts,)
    address,  # (contacts,): where the forces of a contact begin; -1 where it has none
    force,  # of all constraints
    part,
    owner,
    elliptic,
):
    """Geoms, owners, parts (n,) and forces (n, 3) of the robot's contacts."""
    count = len(which)
    geoms, owners, parts = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    forces = np.zeros((count, 3))
    local = np.zeros(3)
    for row in range(count):
        one, column = which[row], robot[row]
        geoms[row] = geom[one, 1 - column]
        owners[row] = owner[geoms[row]]
        parts[row] = part[geom[one, column]]
        first, size = address[one], dim[one]
        if first < 0:
            continue
        local[:] = 0.0
        if elliptic or size == 1:
            for k in range(min(size, 3)):
                local[k] = force[first + k]
        else:
            for k in range(size - 1):  # the edges of a pyramid, two for each direction of friction
                local[0] += force[first + 2 * k] + force[first + 2 * k + 1]
                if k < 2:
                    local[k + 1] = friction[one, k] * (force[first + 2 * k] - force[first + 2 * k + 1])
        sign = 1.0 if column == 0 else -1.0  # MuJoCo's is the force of the first geom on the second
        for axis in range(3):
            for k in range(3):
                forces[row, axis] += sign * frame[one, 3 * k + axis] * local[k]
    return geoms, owners, parts, forces


@machine_code
def _pressed(geoms, parts, forces, mine, axis):  # type: ignore[no-untyped-def]
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


@machine_code
def _raise_to(owners, parts, forces, most):  # type: ignore[no-untyped-def]
    """Of each part on its own: what two fingers press on a thing between them would cancel out."""
    total = np.zeros((len(most), PARTS, 3))
    for row in range(len(owners)):
        for axis in range(3):
            total[owners[row], parts[row], axis] += forces[row, axis]
    for owner in range(len(most)):
        for part in range(PARTS):
            x, y, z = total[owner, part]
            most[owner] = max(most[owner], np.sqrt(x * x + y * y + z * z))


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
