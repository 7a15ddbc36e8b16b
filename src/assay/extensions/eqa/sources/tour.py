"""Tours of the hand: from place to place above the table, with turns of the wrist about one of the base's axes.

What an oracle does seldom turns the hand. A tour turns it on purpose, and only about one axis, so that before and
after tell which.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial.transform import Rotation

from assay.policies.oracle.motion import CLOSED, OPEN, Motion, grip, move
from assay.policies.oracle.scene_state import SceneState

AXES = ("X", "Y", "Z")
LEGS = 7
"""So many places follow one another."""
REACH = np.array([0.09, 0.10, 0.055])
"""How far places lie to either side of the middle, metres."""
MIDDLE = np.array([0.14, 0.0, -0.03])
"""The middle of a tour as seen from where the hand starts, metres."""
TURN = np.array([32.0, 28.0, 40.0])
"""How far the hand is turned to either side about X, Y or Z, degrees."""
STEPS = 70
"""The most steps of a leg."""


def tour(scene: SceneState, axis: int, rng: np.random.Generator) -> Motion:
    """Every leg goes to the other side in two or three of: forward, left, up, the turn, the gripper."""
    start, home = scene.gripper_pose()
    for side in _sides(rng):
        place = start + MIDDLE + REACH * side[:3]
        turned = Rotation.from_rotvec(np.eye(3)[axis] * TURN[axis] * side[3], degrees=True).as_matrix()
        gripper = OPEN if side[4] > 0 else CLOSED
        yield from move(scene, place, turned @ home, gripper, steps=STEPS)
        yield from grip(scene, gripper, steps=6)
    return True


def _sides(rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Sides (5,), -1 or 1, of place, turn and gripper: the turn changes on every other leg, or more often."""
    side = rng.choice([-1.0, 1.0], 5)
    yield side
    for leg in range(LEGS - 1):
        count = int(rng.integers(2, 4))
        chosen = rng.choice(5, count, replace=False)
        if leg % 2 == 0 and 3 not in chosen:
            chosen[0] = 3
        side = side.copy()
        side[chosen] *= -1.0
        yield side
