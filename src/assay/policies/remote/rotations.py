"""Orientations as rotation vectors (axis times angle), in the two ways the field writes them."""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np


class Rotation(StrEnum):
    """Which of the two rotation vectors of an orientation goes over the wire.

    A quaternion and its negative are the same orientation, but their rotation vectors differ. LIBERO's hand
    points down, half a turn from the world's axes, so the scalar part is near zero and may have either sign.
    """

    ROBOSUITE = "robosuite"
    """The quaternion's sign is kept: angles from 0 to 2 pi. What LIBERO's demonstrations hold."""
    SHORTEST = "shortest"
    """The quaternion is negated where its scalar part is negative: angles from 0 to pi."""


def rotation_vector(quaternion: np.ndarray, rotation: Rotation) -> np.ndarray:
    """The rotation vector (3,), radians, of a unit quaternion (w, x, y, z)."""
    scalar, vector = quaternion[0], quaternion[1:]
    if rotation is Rotation.SHORTEST and scalar < 0.0:
        scalar, vector = -scalar, -vector
    scalar = min(max(float(scalar), -1.0), 1.0)
    sine = math.sqrt(1.0 - scalar * scalar)
    if sine == 0.0:
        return np.zeros(3)
    return vector * 2.0 * math.acos(scalar) / sine


def quaternion(vector: np.ndarray) -> np.ndarray:
    """The unit quaternion (w, x, y, z), (4,), of a rotation vector (3,), radians, up to 2 pi long."""
    angle = float(np.linalg.norm(vector))
    if angle < 1e-9:
        return np.array([1.0, 0.0, 0.0, 0.0])
    return np.concatenate([[math.cos(angle / 2.0)], vector / angle * math.sin(angle / 2.0)])
