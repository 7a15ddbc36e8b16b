"""Left, right, front, behind, next to: as the main camera sees a workspace, which is how LIBERO says it.

Left is towards -y and right towards +y, in front is nearer to the camera (+x) and behind is nearer to the
robot.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from assay.perturb.world.ground import Spot

NEAR = 0.10
"""The widest gap between a thing and what it is said to be beside, metres."""
CLEAR = 0.08
"""By how much one of two things must be further left, nearer to something, ... to be called so, metres."""


class Side(Enum):
    """A side of a landmark, and the words for it."""

    LEFT = ("to the left of", 0.0, -1.0)
    RIGHT = ("to the right of", 0.0, 1.0)
    FRONT = ("in front of", 1.0, 0.0)
    BEHIND = ("behind", -1.0, 0.0)

    @property
    def words(self) -> str:
        """``to the left of``."""
        return self.value[0]

    @property
    def towards(self) -> np.ndarray:
        """The direction, (2,)."""
        return np.array(self.value[1:])


def is_at(thing: Spot, side: Side, landmark: Spot) -> bool:
    """Whether a thing stands on one side of a landmark, close by and squarely."""
    along, across, gap = _seen_from(landmark, thing, side)
    return along > 0 and 0 <= gap <= NEAR and abs(across) < 0.06


def may_be_at(thing: Spot, side: Side, landmark: Spot) -> bool:
    """Whether anybody might say that it does."""
    along, across, gap = _seen_from(landmark, thing, side)
    return along > 0 and abs(across) < along + 0.03 and gap < 2.5 * NEAR


def gap_between(one: Spot, other: Spot) -> float:
    """The air between two things, metres; 0 where they overlap."""
    dx = abs(one.x - other.x) - one.half_x - other.half_x
    dy = abs(one.y - other.y) - one.half_y - other.half_y
    return float(np.hypot(max(dx, 0.0), max(dy, 0.0)))


def _seen_from(landmark: Spot, thing: Spot, side: Side) -> tuple[float, float, float]:
    """How far a thing is along a side and across it, and the air between, metres."""
    delta = np.array([thing.x - landmark.x, thing.y - landmark.y])
    towards = side.towards
    along = float(delta @ towards)
    across = float(delta @ np.array([towards[1], -towards[0]]))
    halves = np.array([landmark.half_x + thing.half_x, landmark.half_y + thing.half_y])
    return along, across, along - float(halves @ np.abs(towards))
