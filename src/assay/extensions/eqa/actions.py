"""Actions at three levels of abstraction, in the frame of the robot's base: X forward, Y left, Z up.

    high   an instruction
    mid    which of 14 labels apply: the signs of the dimensions that exceed their thresholds
    low    the difference of two states

A state is [x, y, z, roll, pitch, yaw, gripper]: metres; degrees about the fixed axes X, Y and Z in that order;
0 (closed) to 1 (open). An action is a difference of states in the same units.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

import numpy as np
from scipy.spatial.transform import Rotation

Turning = Literal["wrapped", "exact"]
"""How the difference of two orientations is computed.

``wrapped``: the difference of each Euler angle. ``exact``: one rotation vector in the base frame.
"""

SIZE = 7
ANGLES = slice(3, 6)
AMBIGUOUS_RANGE = (0.5, 1.05)
"""Changes in this range, as fractions of the threshold, are neither clearly visible nor clearly absent."""
MAX_TURN_DEG = 165.0
"""Maximum angle, in degrees, at which the direction of a rotation is visually unambiguous."""
MAX_PITCH_DEG = 80.0
"""Maximum absolute pitch, in degrees; above it, roll and yaw cannot be distinguished (gimbal lock)."""

_LABELS = (
    ("move along positive X", "move along negative X"),
    ("move along positive Y", "move along negative Y"),
    ("move along positive Z", "move along negative Z"),
    ("tilt clockwise about X", "tilt counterclockwise about X"),
    ("tilt downward about Y", "tilt upward about Y"),
    ("rotate counterclockwise about Z", "rotate clockwise about Z"),
    ("open the gripper", "close the gripper"),
)


class ActionLevel(StrEnum):
    """Abstraction level of an action."""

    HIGH = "high"
    MID = "mid"
    LOW = "low"


def difference(start: np.ndarray, end: np.ndarray, turning: Turning = "wrapped") -> np.ndarray:
    """Return the action (..., 7) that leads from one state (..., 7) to another."""
    start, end = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    action = np.asarray(end - start)
    if turning == "exact":
        first, last = (
            Rotation.from_euler("xyz", state[..., ANGLES].reshape(-1, 3), degrees=True)
            for state in np.broadcast_arrays(start, end)
        )
        vectors = (last * first.inv()).as_rotvec(degrees=True)
        action[..., ANGLES] = vectors.reshape(action[..., ANGLES].shape)
    else:
        action[..., ANGLES] = (action[..., ANGLES] + 180.0) % 360.0 - 180.0
    return action


def signs(action: np.ndarray, thresholds: Sequence[float]) -> np.ndarray:
    """Return the sign (-1, 0 or 1) of each dimension of actions (..., 7); 0 if the threshold is not exceeded."""
    moved = np.abs(action) > np.asarray(thresholds)
    return np.asarray(np.where(moved, np.sign(action), 0.0), dtype=np.int8)


def is_clear(action: np.ndarray, thresholds: Sequence[float]) -> np.ndarray:
    """Return a mask of the actions (..., 7) without an ambiguous change or an ambiguous direction of rotation."""
    units = np.abs(action) / np.asarray(thresholds)
    ambiguous = (units > AMBIGUOUS_RANGE[0]) & (units <= AMBIGUOUS_RANGE[1])
    return np.asarray(~ambiguous.any(axis=-1) & (np.abs(action[..., ANGLES]) < MAX_TURN_DEG).all(axis=-1))


def gaps(one: np.ndarray, other: np.ndarray, thresholds: Sequence[float]) -> np.ndarray:
    """Return the distance between actions (..., 7) in each dimension, in units of that dimension's threshold;
    angles are wrapped."""
    return np.asarray(np.abs(difference(other, one)) / np.asarray(thresholds))


def describe(pattern: Sequence[int], action: np.ndarray | None = None) -> str:
    """Describe a sign pattern (7,) as labels, with amounts if an action (7,) is given."""
    labels = []
    for dimension, sign in enumerate(pattern):
        if sign:
            amount = "" if action is None else f" by {format_amount(dimension, action[dimension])}"
            labels.append(f"{_LABELS[dimension][0 if sign > 0 else 1]}{amount}")
    return ", ".join(labels)


def format_amount(dimension: int, value: float) -> str:
    """Format a change in one dimension, in centimetres, degrees or percent of the gripper's range."""
    scale, unit = ((100.0, "cm"), (1.0, "degrees"), (100.0, "% of its range"))[dimension // 3]
    return f"{abs(float(value)) * scale:.0f} {unit}"


def format_action(action: np.ndarray) -> str:
    """Format an action (7,) as numbers; all such texts have the same length."""
    forms = ["+z.3f"] * 3 + ["+z06.1f"] * 3 + ["+z.2f"]  # z: no negative zero
    return f"[{', '.join(format(float(value), form) for value, form in zip(action, forms, strict=True))}]"
