"""Closed-loop gripper motions, as generators of actions.

A motion yields an action (7,) and is resumed after the simulation has executed it. It has a step limit, and returns
whether it reached its target.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from assay.policies.oracle.scene_state import SceneState
from assay.sim.controller import ARM, SCALE

Motion = Generator[np.ndarray, None, bool]

OPEN, CLOSED = -1.0, 1.0
"""Gripper component of an action."""

GAIN = 1.6
"""Proportional gain: each action commands this multiple of the remaining error."""
POSITION_TOLERANCE_M = 0.008
"""Tolerance of a target position, in metres."""
STALL_STEPS = 10
"""Number of steps without progress after which a motion is aborted."""
WRIST_REST_RAD = 0.785
"""Neutral angle of the last joint, in radians; the joint's range is -2.9 to 2.9."""
ANGLE_TOLERANCE_RAD = 0.06
"""Tolerance of a target rotation, in radians."""

DOWN = np.array([0.0, 0.0, -1.0])
LEVEL_DIRECTIONS = tuple(np.array([np.cos(angle), np.sin(angle), 0.0]) for angle in np.arange(8) * np.pi / 4)
"""Unit vectors (3,) in eight horizontal directions."""
HALF_TURN = np.diag([-1.0, -1.0, 1.0])
"""Rotation by half a turn about the gripper's axis, which swaps the fingers."""


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the cross product of two vectors (3,); ten times as fast as ``np.cross`` for single vectors."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def facing(approach: np.ndarray, opening: np.ndarray) -> np.ndarray:
    """Return the rotation (3, 3) of a gripper that points along ``approach`` and opens along ``opening``."""
    z = approach / np.linalg.norm(approach)
    x = opening - z * (opening @ z)
    x /= np.linalg.norm(x)
    return np.array([x, cross(z, x), z]).T


def rotation_about_z(angle: float) -> np.ndarray:
    """Return the rotation (3, 3) about the world's z axis by an angle in radians."""
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])


def shortest_rotation(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return the smallest rotation (3, 3) that maps one direction (3,) to another."""
    axis, cosine = cross(start, end), float(start @ end)
    if cosine < -0.9999:  # opposite directions: half a turn about any perpendicular axis
        axis = cross(start, np.eye(3)[int(np.argmin(np.abs(start)))])
        axis /= np.linalg.norm(axis)
        return np.asarray(2 * np.outer(axis, axis) - np.eye(3))
    skew = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return np.asarray(np.eye(3) + skew + skew @ skew / (1 + cosine))


def easier_flip(scene: SceneState, rotation: np.ndarray) -> np.ndarray:
    """Return a grasp's rotation (3, 3), with the fingers swapped if that is easier for the wrist."""
    _, now = scene.gripper_pose()
    strains, flips = [], (rotation, rotation @ HALF_TURN)
    for goal in flips:
        way = rotation_between(now, goal)
        wrist = float(scene.data.qpos[ARM - 1]) + float(now[:, 2] @ way)
        strains.append(
            float(np.linalg.norm(way)) + 0.7 * abs(wrist - WRIST_REST_RAD) + 10 * max(0.0, abs(wrist) - 2.7)
        )
    return flips[strains.index(min(strains))]


def rotation_between(current: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Return the rotation vector (3,), in world coordinates, from ``current`` (3, 3) to ``goal`` (3, 3)."""
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
    scene: SceneState, position: np.ndarray, rotation: np.ndarray | None, gripper: float, speed: float = 1.0
) -> np.ndarray:
    """Return one action (7,) towards a pose; ``rotation`` (3, 3): None keeps the current rotation."""
    here, now = scene.gripper_pose()
    action = np.zeros(7)
    shift = GAIN * (position - here) / SCALE[:3]
    length = float(np.abs(shift).max())
    action[:3] = shift * min(1.0, speed / length) if length > 0 else 0.0
    if rotation is not None:
        spin = GAIN * rotation_between(now, rotation) / SCALE[3:]
        length = float(np.abs(spin).max())
        action[3:6] = spin * min(1.0, 0.6 / length) if length > 0 else 0.0
    action[6] = gripper
    return action


def move(
    scene: SceneState,
    position: np.ndarray,
    rotation: np.ndarray | None,
    gripper: float,
    *,
    steps: int = 60,
    near: float = POSITION_TOLERANCE_M,
    angle_tolerance: float = ANGLE_TOLERANCE_RAD,
    speed: float = 1.0,
) -> Motion:
    """Move to a pose in a straight line; abort if there is no progress.

    ``rotation`` (3, 3): None keeps the current rotation. ``near``: position tolerance, in metres.
    """
    past: list[float] = []
    for _ in range(steps):
        here, now = scene.gripper_pose()
        distance = float(np.linalg.norm(position - here))
        angle = 0.0 if rotation is None else float(np.linalg.norm(rotation_between(now, rotation)))
        past.append(distance + 0.1 * angle)
        if len(past) > STALL_STEPS and past[-STALL_STEPS] - past[-1] < 0.001:
            return False
        if distance < near and angle < angle_tolerance:
            return True
        yield action_towards(scene, position, rotation, gripper, speed)
    return False


def grip(scene: SceneState, gripper: float, *, steps: int) -> Motion:
    """Open or close the fingers in place."""
    position, rotation = scene.gripper_pose()
    for _ in range(steps):
        yield action_towards(scene, position, rotation, gripper)
    return True


def travel(
    scene: SceneState,
    position: np.ndarray,
    rotation: np.ndarray | None,
    gripper: float,
    *,
    clearance: float,
    steps: int = 100,
) -> Motion:
    """Move to a pose over obstacles: up to the height ``clearance``, across, and down."""
    here, _ = scene.gripper_pose()
    top = max(clearance, position[2])
    if here[2] < top - POSITION_TOLERANCE_M:
        yield from move(scene, np.array([here[0], here[1], top]), None, gripper, steps=steps, near=0.03)
    across = np.array([position[0], position[1], top])
    yield from move(scene, across, rotation, gripper, steps=steps, near=0.015)
    return (yield from move(scene, position, rotation, gripper, steps=steps))
