"""The arm's operational-space controller and the gripper's law, as LIBERO runs them.

With J = [Jp; Jr] the Jacobian of the grip site, M the arm's mass matrix, q and v its joints::

    F   = kp (x* - x) - kd Jp v              force per unit of operational-space inertia
    T   = kp e(R*, R) - kd Jr v              torque, likewise
    tau = Jp^T (Jp M^-1 Jp^T)^-1 F + Jr^T (Jr M^-1 Jr^T)^-1 T + bias + N^T M (kn (q0 - q) - 2 sqrt(kn) v)

and N^T M a = M a - J^T (J M^-1 J^T)^-1 J a, which keeps the null-space term free of the hand's pose.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
from scipy.linalg.lapack import dposv

from assay.sim.compose import GRIPPER, ROBOT
from assay.sim.layout import HOME

Array = np.ndarray

ARM = 7
"""Joints of the arm; they come first in every model."""

KP = 150.0
KD = 2.0 * math.sqrt(KP)
KN = 10.0
NULL_KD = 2.0 * math.sqrt(KN)
SCALE = np.array([0.05, 0.05, 0.05, 0.5, 0.5, 0.5])
"""What an action of 1 means: metres, then radians."""
GRIPPER_SPEED = 0.01
"""How far the gripper's command moves in one substep, of a range of -1 to 1."""


class Controller:
    """Turns actions into actuator commands for one model."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model
        self._site = model.site(f"{GRIPPER}grip_site").id
        joints = [model.joint(f"{ROBOT}joint{i + 1}") for i in range(ARM)]
        if [int(joint.dofadr[0]) for joint in joints] != list(range(ARM)):
            raise ValueError("the arm's joints must come first in the model")
        self._arm = [model.actuator(f"{ROBOT}torq_j{i + 1}").id for i in range(ARM)]
        self._fingers = [model.actuator(f"{GRIPPER}gripper_finger_joint{i}").id for i in (1, 2)]
        limits = model.actuator_ctrlrange
        self._torque_min, self._torque_max = limits[self._arm].T.copy()
        self._finger_middle = limits[self._fingers].mean(axis=1)
        self._finger_half = np.diff(limits[self._fingers], axis=1)[:, 0] / 2
        self._mass_index = _arm_mass_index(model)
        self._jacobian_full = np.zeros((6, model.nv))
        self._home = np.array(HOME)
        # What the controller last saw of the arm.
        self._position = np.zeros(3)
        self._rotation = np.eye(3)
        self._jacobian = np.zeros((6, ARM))
        self._mass = np.eye(ARM)
        self._q = np.zeros(ARM)
        self._v = np.zeros(ARM)
        self._goal_position = np.zeros(3)
        self._goal_rotation = np.eye(3)
        self._grip = np.zeros(2)

    def reset(self, data: mujoco.MjData) -> None:
        """Look at the arm and make its present pose the goal; the gripper's command starts in the middle."""
        self.look(data)
        self._goal_position = self._position.copy()
        self._goal_rotation = self._rotation.copy()
        self._grip = np.zeros(2)

    def look(self, data: mujoco.MjData) -> None:
        """Take in the arm's pose, velocity, Jacobian and mass matrix; ``data``'s kinematics must be fresh."""
        mujoco.mj_jacSite(self._model, data, self._jacobian_full[:3], self._jacobian_full[3:], self._site)
        self._position = data.site_xpos[self._site].copy()
        self._rotation = data.site_xmat[self._site].reshape(3, 3).copy()
        self._jacobian = self._jacobian_full[:, :ARM].copy()
        self._mass = data.qM[self._mass_index]
        self._q = data.qpos[:ARM].copy()
        self._v = data.qvel[:ARM].copy()

    def aim(self, action: Array) -> None:
        """Set the goal from an action (7,) relative to the pose last looked at."""
        delta = np.clip(action[:6], -1.0, 1.0) * SCALE
        self._goal_position = self._position + delta[:3]
        if delta[3:].any():
            self._goal_rotation = _rotation(delta[3:]) @ self._rotation

    def command(self, data: mujoco.MjData, gripper: float) -> None:
        """Write the actuator commands of one substep; ``gripper`` above 0 closes, below 0 opens."""
        data.ctrl[self._arm] = np.clip(self._torque(data), self._torque_min, self._torque_max)
        step = GRIPPER_SPEED * np.sign(gripper)
        self._grip = np.clip(self._grip + (-step, step), -1.0, 1.0)
        data.ctrl[self._fingers] = self._finger_middle + self._finger_half * self._grip

    def _torque(self, data: mujoco.MjData) -> Array:
        jacobian, mass = self._jacobian, self._mass
        twist = jacobian @ self._v
        wish = np.empty(6)
        wish[:3] = KP * (self._goal_position - self._position) - KD * twist[:3]
        wish[3:] = KP * _orientation_error(self._goal_rotation, self._rotation) - KD * twist[3:]
        null = KN * (self._home - self._q) - NULL_KD * self._v

        flexibility = jacobian @ dposv(mass, jacobian.T)[1]  # J M^-1 J^T, (6, 6)
        wrench = np.empty(6)
        wrench[:3] = dposv(flexibility[:3, :3], wish[:3])[1]
        wrench[3:] = dposv(flexibility[3:, 3:], wish[3:])[1]
        wrench -= dposv(flexibility, jacobian @ null)[1]
        torque: Array = jacobian.T @ wrench + mass @ null + data.qfrc_bias[:ARM]
        return torque


def _arm_mass_index(model: mujoco.MjModel) -> Array:
    """Where the arm's mass matrix (7, 7) lies in MuJoCo's packed one, whose rows run backwards."""
    index = np.empty((ARM, ARM), dtype=np.intp)
    for i in range(ARM):
        for j in range(i + 1):
            index[i, j] = index[j, i] = model.dof_Madr[i] + (i - j)
    return index


def _orientation_error(goal: Array, current: Array) -> Array:
    """Half the sum of the cross products of matching columns, (3,)."""
    skew = goal @ current.T
    return 0.5 * np.array([skew[2, 1] - skew[1, 2], skew[0, 2] - skew[2, 0], skew[1, 0] - skew[0, 1]])


def _rotation(vector: Array) -> Array:
    """The matrix of a rotation vector, through a single-precision quaternion as LIBERO has it."""
    angle = math.sqrt(float(vector @ vector))
    q = np.array([math.cos(angle / 2), *(vector / angle * math.sin(angle / 2))], dtype=np.float32)
    q = (q.astype(np.float64) * math.sqrt(2.0 / float(q @ q))).astype(np.float32)
    p = np.outer(q, q)  # single precision too
    return np.array(
        [
            [1.0 - float(p[2, 2]) - float(p[3, 3]), p[1, 2] - p[3, 0], p[1, 3] + p[2, 0]],
            [p[1, 2] + p[3, 0], 1.0 - float(p[1, 1]) - float(p[3, 3]), p[2, 3] - p[1, 0]],
            [p[1, 3] - p[2, 0], p[2, 3] + p[1, 0], 1.0 - float(p[1, 1]) - float(p[2, 2])],
        ]
    )
