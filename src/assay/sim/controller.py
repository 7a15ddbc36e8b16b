"""The arm's operational-space controller and the gripper's law, as LIBERO runs them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from assay.errors import AssetError
from assay.sim.compose import GRIPPER, ROBOT
from assay.support.jit import compiled

SCALE = np.array([0.05, 0.05, 0.05, 0.5, 0.5, 0.5])
"""What an action of 1 means: metres, then radians."""
GRIPPER_SPEED = 0.01
"""How far the gripper's command moves in one substep, of a range of -1 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Drive:
    """What the controller is doing in the middle of an episode; with it, a state resumes exactly."""

    goal_position: np.ndarray
    """Where the grip site is to go, metres, (3,)."""
    goal_rotation: np.ndarray
    """How it is to be turned, (3, 3)."""
    grip: float
    """The gripper's command: -1 closed to 1 open."""
    actuators: np.ndarray
    """The commands of the latest substep, (actuators,)."""
    warm_start: np.ndarray
    """The accelerations from which MuJoCo's solver goes on, (nv,)."""


@dataclass(frozen=True, slots=True, eq=False)
class _Sight:
    """What the controller sees of the arm: windows onto MuJoCo's data, or copies of them."""

    jacobian: np.ndarray  # (6, nv)
    mass: np.ndarray  # packed
    position: np.ndarray  # (3,)
    rotation: np.ndarray  # (9,)
    q: np.ndarray  # (nq,)
    v: np.ndarray  # (nv,)


class Controller:
    """Turns actions into actuator commands for one simulation."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, home: tuple[float, ...]) -> None:
        names = [f"{ROBOT}torq_j{i + 1}" for i in range(ARM)]
        names += [f"{GRIPPER}gripper_finger_joint{i}" for i in (1, 2)]
        if [model.actuator(i).name for i in range(model.nu)] != names or model.joint(
            0
        ).name != f"{ROBOT}joint1":
            raise AssetError(
                "the arm's joints, and its and the fingers' actuators, must come first in the model"
            )
        self._model, self._data = model, data
        self._site = model.site(f"{GRIPPER}grip_site").id
        low, high = model.actuator_ctrlrange.T.copy()
        self._low, self._high = low[:ARM], high[:ARM]
        self._finger_middle = ((low + high) / 2)[ARM:].tolist()
        self._finger_half = ((high - low) / 2)[ARM:].tolist()
        self._mass_index = _arm_mass_index(model)
        self._home = np.array(home)
        self._ctrl, self._bias = data.ctrl, data.qfrc_bias
        self._live = _Sight(
            jacobian=np.zeros((6, model.nv)),
            mass=data.qM,
            position=data.site_xpos[self._site],
            rotation=data.site_xmat[self._site],
            q=data.qpos,
            v=data.qvel,
        )
        self._linear, self._angular = self._live.jacobian[:3], self._live.jacobian[3:]
        self._sight = self._live
        self._goal_position = np.zeros(3)
        self._goal_rotation = np.eye(3)
        self._grip = 0.0

    def reset(self) -> None:
        """Look at the arm and make its present pose the goal; the gripper's command starts in the middle."""
        self.hold()
        self._grip = 0.0

    def hold(self) -> None:
        """Look at the arm and make its present pose the goal."""
        self.look()
        self._goal_position = self._sight.position.copy()
        self._goal_rotation = self._sight.rotation.reshape(3, 3).copy()

    def look(self) -> None:
        """Take in the arm's pose, velocity, Jacobian and mass matrix; the kinematics must be fresh."""
        mujoco.mj_jacSite(self._model, self._data, self._linear, self._angular, self._site)
        self._sight = self._live

    def remember(self) -> None:
        """Go on with what was last looked at, whatever happens to the simulation, until the next look."""
        if self._sight is not self._live:
            return
        self._sight = replace(
            self._live,
            **{name: getattr(self._live, name).copy() for name in _Sight.__dataclass_fields__},
        )

    def drive(self) -> Drive:
        """What it is doing now."""
        return Drive(
            self._goal_position.copy(),
            self._goal_rotation.copy(),
            self._grip,
            self._ctrl.copy(),
            self._data.qacc_warmstart.copy(),
        )

    def resume(self, drive: Drive) -> None:
        """Go on with what was being done; the data must have the state that belongs to it, kinematics included."""
        self.look()
        self._goal_position, self._goal_rotation = drive.goal_position.copy(), drive.goal_rotation.copy()
        self._grip = drive.grip
        self._ctrl[:] = drive.actuators
        self._data.qacc_warmstart[:] = drive.warm_start

    @property
    def is_open(self) -> bool:
        """Whether the gripper is told to be wide open."""
        return self._grip >= 1.0

    @property
    def seen_position(self) -> np.ndarray:
        """The grip site where it was last looked at, metres, (3,)."""
        return self._sight.position.copy()

    @property
    def seen_rotation(self) -> np.ndarray:
        """Its rotation then, (3, 3)."""
        return self._sight.rotation.reshape(3, 3).copy()

    def aim_at(self, action: np.ndarray) -> None:
        """Set the goal from an absolute action (7,): position in the world, metres, and rotation vector, radians."""
        self._goal_position = action[:3].copy()
        self._goal_rotation = _rotation(action[3:6])

    def aim(self, action: np.ndarray) -> None:
        """Set the goal from an action (7,) relative to the pose last looked at."""
        delta = np.clip(action[:6], -1.0, 1.0) * SCALE
        self._goal_position = self._sight.position + delta[:3]
        if delta[3:].any():
            self._goal_rotation = _rotation(delta[3:]) @ self._sight.rotation.reshape(3, 3)

    def command(self, gripper: float) -> None:
        """Write the actuator commands of one substep; ``gripper`` above 0 closes, below 0 opens."""
        sight, ctrl = self._sight, self._ctrl
        arm_torque(
            sight.jacobian,
            sight.mass,
            self._mass_index,
            sight.position,
            sight.rotation,
            sight.q,
            sight.v,
            self._goal_position,
            self._goal_rotation,
            self._home,
            self._bias,
            self._low,
            self._high,
            ctrl,
        )
        if gripper != 0.0:
            step = math.copysign(GRIPPER_SPEED, gripper)
            self._grip = min(max(self._grip - step, -1.0), 1.0)
        ctrl[ARM] = self._finger_middle[0] + self._finger_half[0] * self._grip
        ctrl[ARM + 1] = self._finger_middle[1] - self._finger_half[1] * self._grip


def _arm_mass_index(model: mujoco.MjModel) -> np.ndarray:
    """Where the arm's mass matrix (7, 7) lies in MuJoCo's packed one, whose rows run backwards."""
    index = np.empty((ARM, ARM), dtype=np.intp)
    for i in range(ARM):
        for j in range(i + 1):
            index[i, j] = index[j, i] = model.dof_Madr[i] + (i - j)
    return index


def _rotation(vector: np.ndarray) -> np.ndarray:
    """The matrix of a rotation vector, through a single-precision quaternion as LIBERO has it."""
    angle = math.sqrt(float(vector @ vector))
    if angle == 0.0:
        return np.eye(3)
    q = np.array([math.cos(angle / 2), *(vector / angle * math.sin(angle / 2))], dtype=np.float32)
    return single_precision_matrix(q)


def single_precision_matrix(quaternion: np.ndarray) -> np.ndarray:
    """The matrix (3, 3) of a quaternion (w, x, y, z), as robosuite computes it: in single precision, mostly."""
    q = np.asarray(quaternion, dtype=np.float32)
    q = (q.astype(np.float64) * math.sqrt(2.0 / float(q @ q))).astype(np.float32)
    p = np.outer(q, q)  # single precision too
    return np.array(
        [
            [1.0 - float(p[2, 2]) - float(p[3, 3]), p[1, 2] - p[3, 0], p[1, 3] + p[2, 0]],
            [p[1, 2] + p[3, 0], 1.0 - float(p[1, 1]) - float(p[3, 3]), p[2, 3] - p[1, 0]],
            [p[1, 3] - p[2, 0], p[2, 3] + p[1, 0], 1.0 - float(p[1, 1]) - float(p[2, 2])],
        ]
    )


ARM = 7
"""Joints of the arm; they come first in every model."""
KP = 150.0
KD = 2.0 * math.sqrt(KP)
KN = 10.0
NULL_KD = 2.0 * math.sqrt(KN)
SMALLEST = 1e-12
"""Keeps a singular arm's torque finite; it is clipped anyway."""


@compiled
def _factor(matrix, size):  # type: ignore[no-untyped-def]
    """Replace the lower triangle of a symmetric positive matrix by its Cholesky factor."""
    for j in range(size):
        diagonal = matrix[j, j]
        for k in range(j):
            diagonal -= matrix[j, k] * matrix[j, k]
        matrix[j, j] = math.sqrt(max(diagonal, SMALLEST))
        for i in range(j + 1, size):
            value = matrix[i, j]
            for k in range(j):
                value -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = value / matrix[j, j]


@compiled
def _solve(factor, size, vector):  # type: ignore[no-untyped-def]
    """Replace ``vector`` by the solution of ``factor factor^T x = vector``."""
    for i in range(size):
        for k in range(i):
            vector[i] -= factor[i, k] * vector[k]
        vector[i] /= factor[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            vector[i] -= factor[k, i] * vector[k]
        vector[i] /= factor[i, i]


@compiled
def arm_torque(  # type: ignore[no-untyped-def]
    jacobian,  # (6, nv)
    packed_mass,  # MuJoCo's qM
    mass_index,  # (7, 7): where the arm's mass matrix lies in it
    position,  # (3,)
    rotation,  # (9,)
    q,  # the arm's joints first
    v,
    goal_position,  # (3,)
    goal_rotation,  # (3, 3)
    home,  # (7,)
    bias,  # gravity and Coriolis forces, the arm's first
    low,  # (7,)
    high,  # (7,)
    torque,  # the arm's first; written
):
    """Write the arm's torque, clipped to its limits."""
    mass = np.empty((ARM, ARM))
    factor = np.empty((ARM, ARM))
    null = np.empty(ARM)
    for i in range(ARM):
        null[i] = KN * (home[i] - q[i]) - NULL_KD * v[i]
        for j in range(ARM):
            mass[i, j] = packed_mass[mass_index[i, j]]
            factor[i, j] = mass[i, j]
    _factor(factor, ARM)

    wish = np.zeros(6)
    moved = np.zeros(6)  # the hand's acceleration that the null-space term would cause
    for i in range(6):
        for k in range(ARM):
            wish[i] -= KD * jacobian[i, k] * v[k]
            moved[i] += jacobian[i, k] * null[k]
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        turn = 0.0
        for k in range(3):
            turn += rotation[3 * a + k] * goal_rotation[b, k] - rotation[3 * b + k] * goal_rotation[a, k]
        wish[i] += KP * (goal_position[i] - position[i])
        wish[3 + i] += KP * 0.5 * turn

    column = np.empty(ARM)
    flexibility = np.empty((6, 6))  # J M^-1 J^T
    for j in range(6):
        for k in range(ARM):
            column[k] = jacobian[j, k]
        _solve(factor, ARM, column)
        for i in range(6):
            flexibility[i, j] = 0.0
            for k in range(ARM):
                flexibility[i, j] += jacobian[i, k] * column[k]
    linear = flexibility[:3, :3].copy()
    angular = flexibility[3:, 3:].copy()
    _factor(linear, 3)
    _factor(angular, 3)
    _factor(flexibility, 6)
    _solve(linear, 3, wish[:3])
    _solve(angular, 3, wish[3:])
    _solve(flexibility, 6, moved)

    for i in range(ARM):
        value = bias[i]
        for k in range(6):
            value += jacobian[k, i] * (wish[k] - moved[k])
        for k in range(ARM):
            value += mass[i, k] * null[k]
        torque[i] = min(max(value, low[i]), high[i])
