"""The torque of the operational-space controller, compiled: it runs 500 times a second of simulated time.

With J = [Jp; Jr] the Jacobian of the grip site, M the arm's mass matrix, q and v its joints::

    F   = kp (x* - x) - kd Jp v              force per unit of operational-space inertia
    T   = kp e(R*, R) - kd Jr v              torque, likewise
    tau = Jp^T (Jp M^-1 Jp^T)^-1 F + Jr^T (Jr M^-1 Jr^T)^-1 T + bias + N^T M a
    a   = kn (q0 - q) - 2 sqrt(kn) v

where N^T M a = M a - J^T (J M^-1 J^T)^-1 J a keeps the arm near q0 without moving the hand, and e(R*, R) is
half the sum of the cross products of matching columns. Numbers are LIBERO's.
"""

from __future__ import annotations

import math

import numpy as np

from assay.support.jit import compiled

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
