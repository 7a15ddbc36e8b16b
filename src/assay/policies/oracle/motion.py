"""Moving the hand: closed-loop motions as generators of actions.

A motion is a generator: it yields an action (7,) and goes on when the world has done it. It returns whether
it got where it wanted to be, and never runs longer than it was allowed to.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from assay.policies.oracle.sight import Sight
from assay.sim.controller import SCALE

Motion = Generator[np.ndarray, None, bool]

OPEN, CLOSED = -1.0, 1.0
"""What the gripper is told."""

GAIN = 1.6
"""How much of an error one action asks to undo."""
NEAR = 0.008
"""Distance that counts as being there, metres."""
STALL = 10
"""After how many steps without getting nearer a motion gives up."""
WRIST = 0.785
"""Where the last joint is at ease, radians; its range is -2.9 to 2.9."""
TURNED = 0.06
"""Angle that counts as being turned, radians."""

DOWN = np.array([0.0, 0.0, -1.0])
AROUND = tuple(np.array([np.cos(angle), np.sin(angle), 0.0]) for angle in np.arange(8) * np.pi / 4)
"""Eight level directions."""
FLIPPED = np.diag([-1.0, -1.0, 1.0])
"""The hand's own half turn, which exchanges the fingers."""


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The cross product of two vectors (3,); numpy's takes ten times as long."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def facing(approach: np.ndarray, opening: np.ndarray) -> np.ndarray:
    """The hand's rotation (3, 3) that points along ``approach`` and opens along ``opening``."""
    z = approach / np.linalg.norm(approach)
    x = opening - z * (opening @ z)
    x /= np.linalg.norm(x)
    return np.array([x, cross(z, x), z]).T


def about_vertical(angle: float) -> np.ndarray:
    """The rotation (3, 3) about the world's z axis by an angle in radians."""
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])


def tilting(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The shortest rotation (3, 3) that takes one direction (3,) to another."""
    axis, cosine = cross(start, end), float(start @ end)
    if cosine < -0.9999:  # opposite: about any axis across
        axis = cross(start, np.eye(3)[int(np.argmin(np.abs(start)))])
        axis /= np.linalg.norm(axis)
        return np.asarray(2 * np.outer(axis, axis) - np.eye(3))
    skew = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return np.asarray(np.eye(3) + skew + skew @ skew / (1 + cosine))


def nearest_turn(sight: Sight, rotation: np.ndarray) -> np.ndarray:
    """The same grasp, with the fingers exchanged if that is easier for the wrist, (3, 3)."""
    _, now = sight.hand()

    def strain(goal: np.ndarray) -> float:
        way = turn(now, goal)
        wrist = sight.wrist() + float(now[:, 2] @ way)
        return float(np.linalg.norm(way)) + 0.7 * abs(wrist - WRIST) + 10 * max(0.0, abs(wrist) - 2.7)

    return min((rotation, rotation @ FLIPPED), key=strain)


def turn(current: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The rotation vector (3,) in the world that takes ``current`` (3, 3) to ``goal`` (3, 3)."""
    relative = goal @ current.T
    sine = 0.5 * np.array(
        [relative[2, 1] - relative[1, 2], relative[0, 2] - relative[2, 0], relative[1, 0] - relative[0, 1]]
    )
    norm = float(np.linalg.norm(sine))
    angle = float(np.arctan2(norm, (np.trace(relative) - 1) / 2))
    if norm < 1e-9:
        if angle < 1.0:
            return np.zeros(3)
        outer = (relative + np.eye(3)) / 2
        axis = outer[:, int(np.argmax(np.diag(outer)))]
        return np.asarray(axis / np.linalg.norm(axis) * angle)
    return np.asarray(sine / norm * angle)


def action_towards(
    sight: Sight, position: np.ndarray, rotation: np.ndarray | None, gripper: float, speed: float = 1.0
) -> np.ndarray:
    """One action towards a pose, (7,)."""
    here, now = sight.hand()
    action = np.zeros(7)
    wish = GAIN * (position - here) / SCALE[:3]
    length = float(np.abs(wish).max())
    action[:3] = wish * min(1.0, speed / length) if length > 0 else 0.0
    if rotation is not None:
        spin = GAIN * turn(now, rotation) / SCALE[3:]
        length = float(np.abs(spin).max())
        action[3:6] = spin * min(1.0, 0.6 / length) if length > 0 else 0.0
    action[6] = gripper
    return action


def move(
    sight: Sight,
    position: np.ndarray,
    rotation: np.ndarray | None,
    gripper: float,
    *,
    steps: int = 60,
    near: float = NEAR,
    turned: float = TURNED,
    speed: float = 1.0,
) -> Motion:
    """Go to a pose in a straight line; gives up when it no longer gets nearer."""
    past: list[float] = []
    for _ in range(steps):
        here, now = sight.hand()
        lag = 0.0 if rotation is None else 0.1 * float(np.linalg.norm(turn(now, rotation)))
        past.append(float(np.linalg.norm(position - here)) + lag)
        if len(past) > STALL and past[-STALL] - past[-1] < 0.001:
            return False
        arrived = np.linalg.norm(position - here) < near
        if arrived and (rotation is None or np.linalg.norm(turn(now, rotation)) < turned):
            return True
        yield action_towards(sight, position, rotation, gripper, speed)
    return False


def grip(sight: Sight, gripper: float, *, steps: int) -> Motion:
    """Open or close the fingers where the hand is."""
    position, rotation = sight.hand()
    for _ in range(steps):
        yield action_towards(sight, position, rotation, gripper)
    return True


def travel(
    sight: Sight,
    position: np.ndarray,
    rotation: np.ndarray | None,
    gripper: float,
    *,
    clearance: float,
    steps: int = 100,
) -> Motion:
    """Go to a pose above or beside things: first up to the height ``clearance``, then across, then down."""
    here, _ = sight.hand()
    top = max(clearance, position[2])
    if here[2] < top - NEAR:
        yield from move(sight, np.array([here[0], here[1], top]), None, gripper, steps=steps, near=0.03)
    across = np.array([position[0], position[1], top])
    yield from move(sight, across, rotation, gripper, steps=steps, near=0.015)
    return (yield from move(sight, position, rotation, gripper, steps=steps))
