"""The arm's operational-space controller and the gripper's control law, with LIBERO's gains and rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass

import mujoco
import numpy as np

from assay.errors import AssetError
from assay.sim.compose import GRIPPER, ROBOT
from assay.support.jit import machine_code

ARM = 7
"""Number of joints of the arm, which come first in every model."""
KP = 150.0
"""Stiffness of the end effector, 1/s^2."""
KD = 2.0 * math.sqrt(KP)
"""Critical damping of the end effector, 1/s."""
KN = 10.0
"""Stiffness of the null-space term, 1/s^2."""
NULL_KD = 2.0 * math.sqrt(KN)
MIN_PIVOT = 1e-12
"""Smallest pivot of the Cholesky factorization, which keeps the torque (clipped later) finite near singularities."""
SCALE = np.array([0.05, 0.05, 0.05, 0.5, 0.5, 0.5])
"""Displacement for an action of 1, in metres (translation) and radians (rotation)."""
GRIPPER_SPEED = 0.01
"""Change in the gripper's command per substep; the command ranges from -1 to 1."""


@machine_code
def _factor(matrix, size):  # type: ignore[no-untyped-def]
    """Replace the lower triangle of a symmetric positive definite matrix with its Cholesky factor."""
    for j in range(size):
        diagonal = matrix[j, j]
        for k in range(j):
            diagonal -= matrix[j, k] * matrix[j, k]
        matrix[j, j] = math.sqrt(max(diagonal, MIN_PIVOT))
        for i in range(j + 1, size):
            value = matrix[i, j]
            for k in range(j):
                value -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = value / matrix[j, j]


@machine_code
def _solve(factor, size, vector):  # type: ignore[no-untyped-def]
    """Replace ``vector`` with the solution of ``factor factor^T x = vector``."""
    for i in range(size):
        for k in range(i):
            vector[i] -= factor[i, k] * vector[k]
        vector[i] /= factor[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            vector[i] -= factor[k, i] * vector[k]
        vector[i] /= factor[i, i]


@machine_code
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
    """Write the arm's torque, clipped to its limits; compiled, because it runs 500 times per simulated second.

    With J = [Jp; Jr] the Jacobian of the grip site, M the arm's mass matrix, q and v its joint positions and
    velocities::

        F   = kp (x* - x) - kd Jp v              force per unit of operational-space inertia
        T   = kp e(R*, R) - kd Jr v              torque per unit of operational-space inertia
        tau = Jp^T (Jp M^-1 Jp^T)^-1 F + Jr^T (Jr M^-1 Jr^T)^-1 T + bias + N^T M a
        a   = kn (q0 - q) - 2 sqrt(kn) v

    where N^T M a = M a - J^T (J M^-1 J^T)^-1 J a keeps the arm near q0 without moving the end effector, and e(R*, R)
    is half the sum of the cross products of matching columns.
    """
    mass = np.empty((ARM, ARM))
    factor = np.empty((ARM, ARM))
    null = np.empty(ARM)
    for i in range(ARM):
        null[i] = KN * (home[i] - q[i]) - NULL_KD * v[i]
        for j in range(ARM):
            mass[i, j] = packed_mass[mass_index[i, j]]
            factor[i, j] = mass[i, j]
    _factor(factor, ARM)

    wrench = np.zeros(6)  # an acceleration until it is multiplied by the operational-space inertia
    drift = np.zeros(6)  # end-effector acceleration that the null-space term would cause
    for i in range(6):
        for k in range(ARM):
            wrench[i] -= KD * jacobian[i, k] * v[k]
            drift[i] += jacobian[i, k] * null[k]
    for i in range(3):
        a, b = (i + 1) % 3, (i + 2) % 3
        turn = 0.0
        for k in range(3):
            turn += rotation[3 * a + k] * goal_rotation[b, k] - rotation[3 * b + k] * goal_rotation[a, k]
        wrench[i] += KP * (goal_position[i] - position[i])
        wrench[3 + i] += KP * 0.5 * turn

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
    _solve(linear, 3, wrench[:3])
    _solve(angular, 3, wrench[3:])
    _solve(flexibility, 6, drift)

    for i in range(ARM):
        value = bias[i]
        for k in range(6):
            value += jacobian[k, i] * (wrench[k] - drift[k])
        for k in range(ARM):
            value += mass[i, k] * null[k]
        torque[i] = min(max(value, low[i]), high[i])


@dataclass(frozen=True, slots=True, eq=False)
class Drive:
    """State of the controller in the middle of an episode, needed to resume the episode exactly."""

    goal_position: np.ndarray
    """Goal position of the grip site, in metres, (3,)."""
    goal_rotation: np.ndarray
    """Goal orientation of the grip site, (3, 3)."""
    grip: float
    """The gripper's command, from -1 (closed) to 1 (open)."""
    actuators: np.ndarray
    """Actuator commands of the latest substep, (actuators,)."""
    warm_start: np.ndarray
    """Accelerations that warm-start MuJoCo's solver, (nv,)."""


@dataclass(frozen=True, slots=True, eq=False)
class _ArmState:
    """The controller's inputs, as views of MuJoCo's data or copies of them."""

    jacobian: np.ndarray  # (6, nv)
    mass: np.ndarray  # packed
    position: np.ndarray  # (3,)
    rotation: np.ndarray  # (9,)
    q: np.ndarray  # (nq,)
    v: np.ndarray  # (nv,)


class Controller:
    """Converts actions to actuator commands for one simulation."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, home: tuple[float, ...]) -> None:
        names = [f"{ROBOT}torq_j{i + 1}" for i in range(ARM)]
        names += [f"{GRIPPER}gripper_finger_joint{i}" for i in (1, 2)]
        actuators = [model.actuator(i).name for i in range(model.nu)]
        if actuators != names or model.joint(0).name != f"{ROBOT}joint1":
            raise AssetError(
                "the joints of the arm, and the actuators of the arm and fingers, must come first in the model"
            )
        self._model, self._data = model, data
        self._site = model.site(f"{GRIPPER}grip_site").id
        low, high = model.actuator_ctrlrange.T.copy()
        self._low, self._high = low[:ARM], high[:ARM]
        self._finger_middle = ((low + high) / 2)[ARM:].tolist()
        self._finger_half = ((high - low) / 2)[ARM:].tolist()
        # Indices (7, 7) of the arm's mass matrix in MuJoCo's packed one, which stores the lower triangle with rows
        # that run backwards from the diagonal.
        rows, columns = np.indices((ARM, ARM))
        lower, upper = np.maximum(rows, columns), np.minimum(rows, columns)
        self._mass_index = (model.dof_Madr[lower] + (lower - upper)).astype(np.intp)
        self._home = np.array(home)
        self._ctrl, self._bias = data.ctrl, data.qfrc_bias
        self._live = _ArmState(
            jacobian=np.zeros((6, model.nv)),
            mass=data.qM,
            position=data.site_xpos[self._site],
            rotation=data.site_xmat[self._site],
            q=data.qpos,
            v=data.qvel,
        )
        self._linear, self._angular = self._live.jacobian[:3], self._live.jacobian[3:]
        self._arm = self._live
        self._goal_position = np.zeros(3)
        self._goal_rotation = np.eye(3)
        self.grip = 0.0
        """The gripper's command, from -1 (closed) to 1 (open); 0 is the middle of its range."""

    def hold(self) -> None:
        """Set the goal to the current pose."""
        self.update()
        self._goal_position = self._arm.position.copy()
        self._goal_rotation = self._arm.rotation.reshape(3, 3).copy()

    def update(self) -> None:
        """Update the inputs from the current data, whose kinematics must be up to date."""
        mujoco.mj_jacSite(self._model, self._data, self._linear, self._angular, self._site)
        self._arm = self._live

    def freeze(self) -> None:
        """Freeze the inputs at their last update until the next `update`, regardless of changes to the data."""
        if self._arm is self._live:
            fields = _ArmState.__dataclass_fields__
            self._arm = _ArmState(**{name: getattr(self._live, name).copy() for name in fields})

    def drive(self) -> Drive:
        """Return a copy of the controller's current state."""
        return Drive(
            goal_position=self._goal_position.copy(),
            goal_rotation=self._goal_rotation.copy(),
            grip=self.grip,
            actuators=self._ctrl.copy(),
            warm_start=self._data.qacc_warmstart.copy(),
        )

    def resume(self, drive: Drive) -> None:
        """Restore a state. The data must already hold the matching simulation state, with up-to-date kinematics."""
        self.update()
        self._goal_position, self._goal_rotation = drive.goal_position.copy(), drive.goal_rotation.copy()
        self.grip = drive.grip
        self._ctrl[:] = drive.actuators
        self._data.qacc_warmstart[:] = drive.warm_start

    @property
    def last_pose(self) -> tuple[np.ndarray, np.ndarray]:
        """Position (3,), in metres, and orientation (3, 3) of the grip site at the last update."""
        return self._arm.position.copy(), self._arm.rotation.reshape(3, 3).copy()

    def aim(self, action: np.ndarray, *, absolute: bool = False) -> None:
        """Set the goal from an action (7,), relative to the pose at the last update.

        ``absolute``: the action is the goal itself, a position in metres and a rotation vector in radians in the
        world frame.
        """
        delta = action[:6].copy() if absolute else np.clip(action[:6], -1.0, 1.0) * SCALE
        self._goal_position = delta[:3] if absolute else self._arm.position + delta[:3]
        vector = delta[3:]
        angle = math.sqrt(float(vector @ vector))
        if angle != 0.0:
            rotation = single_precision_matrix(
                np.array([math.cos(angle / 2), *(vector / angle * math.sin(angle / 2))], dtype=np.float32)
            )
            self._goal_rotation = rotation if absolute else rotation @ self._arm.rotation.reshape(3, 3)
        elif absolute:
            self._goal_rotation = np.eye(3)
        # As in LIBERO, a relative action without rotation keeps the previous goal orientation and so does not drift.

    def command(self, gripper: float) -> None:
        """Write the actuator commands for one substep; positive ``gripper`` values close it, negative ones open it."""
        arm, ctrl = self._arm, self._ctrl
        arm_torque(
            arm.jacobian,
            arm.mass,
            self._mass_index,
            arm.position,
            arm.rotation,
            arm.q,
            arm.v,
            self._goal_position,
            self._goal_rotation,
            self._home,
            self._bias,
            self._low,
            self._high,
            ctrl,
        )
        if gripper != 0.0:
            self.grip = min(max(self.grip - math.copysign(GRIPPER_SPEED, gripper), -1.0), 1.0)
        ctrl[ARM] = self._finger_middle[0] + self._finger_half[0] * self.grip
        ctrl[ARM + 1] = self._finger_middle[1] - self._finger_half[1] * self.grip


def single_precision_matrix(quaternion: np.ndarray) -> np.ndarray:
    """Return the matrix (3, 3) of a quaternion (w, x, y, z), rounded to single precision where robosuite rounds."""
    q = np.asarray(quaternion, dtype=np.float32)
    q = (q.astype(np.float64) * math.sqrt(2.0 / float(q @ q))).astype(np.float32)
    p = np.outer(q, q)
    return np.array(
        [
            [1.0 - float(p[2, 2]) - float(p[3, 3]), p[1, 2] - p[3, 0], p[1, 3] + p[2, 0]],
            [p[1, 2] + p[3, 0], 1.0 - float(p[1, 1]) - float(p[3, 3]), p[2, 3] - p[1, 0]],
            [p[1, 3] - p[2, 0], p[2, 3] + p[1, 0], 1.0 - float(p[1, 1]) - float(p[2, 2])],
        ]
    )
