"""Orientations in the ways the field writes them: rotation vectors (axis times angle), quaternions, Euler angles."""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np


class Rotation(StrEnum):
    """How the hand's orientation goes over the wire.

    A quaternion and its negative are the same orientation, but their rotation vectors differ. LIBERO's hand
    points down, half a turn from the world's axes, so the scalar part is near zero and may have either sign.
    """

    ROBOSUITE = "robosuite"
    """Rotation vector; the quaternion's sign is kept: angles from 0 to 2 pi. What LIBERO's demonstrations hold."""
    SHORTEST = "shortest"
    """Rotation vector of the quaternion, negated where its scalar part is negative: angles from 0 to pi."""
    XYZW = "xyzw"
    """The quaternion, scalar last, its sign kept: robosuite's ``robot0_eef_quat``."""
    WXYZ = "wxyz"
    """The quaternion, scalar first, its sign kept: MuJoCo's."""
    EULER = "euler"
    """Roll, pitch and yaw about the world's fixed x, y and z, radians."""


OF_THREE = (Rotation.ROBOSUITE, Rotation.SHORTEST, Rotation.EULER)
"""Those of three numbers."""


def written(quaternion: np.ndarray, rotation: Rotation) -> np.ndarray:
    """A unit quaternion (w, x, y, z) as it goes over the wire, (3,) or (4,)."""
    match rotation:
        case Rotation.XYZW:
            return np.roll(quaternion, -1)
        case Rotation.WXYZ:
            return quaternion
        case Rotation.EULER:
            return euler_angles(quaternion)
        case _:
            return rotation_vector(quaternion, rotation)


GRIP_SITE = np.array([math.sqrt(0.5), 0.0, 0.0, -math.sqrt(0.5)])
"""The grip site in the frame of the hand, (w, x, y, z): a quarter turn about its axis."""


def of_grip_site(hand: np.ndarray) -> np.ndarray:
    """The grip site's orientation, which the controller knows, from the hand's; both (w, x, y, z)."""
    w, v = hand[0], hand[1:]
    scalar, vector = GRIP_SITE[0], GRIP_SITE[1:]
    return np.concatenate([[w * scalar - v @ vector], w * vector + scalar * v + np.cross(v, vector)])


def euler_angles(quaternion: np.ndarray) -> np.ndarray:
    """Roll, pitch, yaw (3,), radians, about fixed axes, of a unit quaternion (w, x, y, z)."""
    w, x, y, z = map(float, quaternion)
    return np.array(
        [
            math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y)),
            math.asin(min(max(2.0 * (w * y - z * x), -1.0), 1.0)),
            math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)),
        ]
    )


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
