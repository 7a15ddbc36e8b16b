"""Actions at three levels of abstraction, in the frame of the robot's base: X forward, Y left, Z up.

    high   an instruction
    mid    which of the 14 labels apply: the signs of the dimensions that exceed their thresholds
    low    the difference of two states

A state is [x, y, z, roll, pitch, yaw, gripper]: metres; degrees, turned about the fixed axes X, Y and Z in
that order; 0 closed to 1 open. An action is a difference of states in the same units.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

import numpy as np
from scipy.spatial.transform import Rotation

Turning = Literal["wrapped", "exact"]
"""How rotations are compared: angle by angle, or as one rotation vector about the base's axes (exact)."""
TURNINGS: tuple[Turning, ...] = ("wrapped", "exact")

SIZE = 7
ANGLES = slice(3, 6)
FAINT = (0.5, 1.05)
"""A dimension between these shares of its threshold neither plainly changes nor plainly stays."""
HALF_TURN = 165.0
"""Beyond this many degrees the eye cannot tell one direction from the other."""
UPRIGHT = 80.0
"""Beyond this pitch, degrees, roll and yaw can no longer be told apart."""

_LABELS = (
    ("move along positive X", "move along negative X"),
    ("move along positive Y", "move along negative Y"),
    ("move along positive Z", "move along negative Z"),
    ("tilt clockwise about X", "tilt counterclockwise about X"),
    ("tilt downward about Y", "tilt upward about Y"),
    ("rotate counterclockwise about Z", "rotate clockwise about Z"),
    ("open the gripper", "close the gripper"),
)


_POSITIVE = ("positive", "clockwise", "downward", "counterclockwise")
_NEGATIVE = ("negative", "counterclockwise", "upward", "clockwise")
"""What tells the sign of a motion, and of a turn about X, Y and Z."""


class Level(StrEnum):
    """How abstract an action is."""

    HIGH = "high"
    MID = "mid"
    LOW = "low"


def wrapped(angles: np.ndarray) -> np.ndarray:
    """Angles, degrees, brought into [-180, 180)."""
    return np.asarray((np.asarray(angles, dtype=np.float64) + 180.0) % 360.0 - 180.0)


def difference(start: np.ndarray, end: np.ndarray, turning: Turning = "wrapped") -> np.ndarray:
    """The action between states (..., 7)."""
    start, end = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
    action = np.asarray(end - start)
    if turning == "exact":
        first, last = (
            _rotation(state[..., ANGLES].reshape(-1, 3)) for state in np.broadcast_arrays(start, end)
        )
        vectors = (last * first.inv()).as_rotvec(degrees=True)
        action[..., ANGLES] = vectors.reshape(action[..., ANGLES].shape)
    else:
        action[..., ANGLES] = wrapped(action[..., ANGLES])
    return action


def signs(action: np.ndarray, thresholds: Sequence[float]) -> np.ndarray:
    """-1, 0 or 1 for each dimension of actions (..., 7): 0 where the threshold is not exceeded."""
    moved = np.abs(action) > np.asarray(thresholds)
    return np.asarray(np.where(moved, np.sign(action), 0.0), dtype=np.int8)


def is_clear(action: np.ndarray, thresholds: Sequence[float]) -> np.ndarray:
    """Whether each dimension of actions (..., 7) plainly changes or plainly does not."""
    share = np.abs(action) / np.asarray(thresholds)
    faint = (share > FAINT[0]) & (share <= FAINT[1])
    return np.asarray(~faint.any(axis=-1) & (np.abs(action[..., ANGLES]) < HALF_TURN).all(axis=-1))


def gaps(one: np.ndarray, other: np.ndarray, thresholds: Sequence[float]) -> np.ndarray:
    """How far actions (..., 7) lie apart in each dimension, in thresholds; angles the short way round."""
    return np.asarray(np.abs(difference(other, one)) / np.asarray(thresholds))


def described(pattern: Sequence[int], action: np.ndarray | None = None) -> str:
    """The labels of a pattern of signs (7,); with an action (7,), how far, see `amount`."""
    labels = []
    for dimension, sign in enumerate(pattern):
        if sign:
            label = _LABELS[dimension][0 if sign > 0 else 1]
            labels.append(label if action is None else f"{label} by {amount(dimension, action[dimension])}")
    return ", ".join(labels)


def label_place(label: str) -> tuple[int, int] | None:
    """The dimension and sign of a label, ours or ActionEQA's, with an amount or without; None for no label."""
    words = set(re.findall(r"[a-z]+", label.lower()))
    if "gripper" in words:
        return (6, 1) if "open" in words else (6, -1) if "close" in words else None
    axis = next((place for place, name in enumerate("xyz") if name in words), None)
    if axis is None:
        return None
    for sign, names in ((1, _POSITIVE), (-1, _NEGATIVE)):
        if "move" in words and names[0] in words:
            return axis, sign
        if words & {"tilt", "rotate"} and names[1 + axis] in words:
            return 3 + axis, sign
    return None


def amount(dimension: int, value: float) -> str:
    """How much of a dimension, in centimetres, degrees, or percent of the gripper's range."""
    scale, unit = ((100.0, "cm"), (1.0, "degrees"), (100.0, "% of its range"))[dimension // 3]
    return f"{abs(float(value)) * scale:.0f} {unit}"


def printed(action: np.ndarray) -> str:
    """An action (7,) in figures, all actions in the same number of characters."""
    moved = ", ".join(_figure(value, "+.3f") for value in action[:3])
    turned = ", ".join(_figure(value, "+06.1f") for value in action[ANGLES])
    return f"[{moved}, {turned}, {_figure(action[6], '+.2f')}]"


def _figure(value: float, form: str) -> str:
    text = format(float(value), form)
    return text if float(text) else text.replace("-", "+")  # no negative zero


def _rotation(angles: np.ndarray) -> Rotation:
    return Rotation.from_euler("xyz", angles, degrees=True)
