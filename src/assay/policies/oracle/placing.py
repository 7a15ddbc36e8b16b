"""Skills for placing a held object: carry it over obstacles, lower it and release it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from assay.policies.oracle import motion
from assay.policies.oracle.motion import Motion
from assay.policies.oracle.scene_state import SceneState, contacts
from assay.sim.compile import EntityIndex

CARRY_CLEARANCE_M = 0.03
"""Clearance between a carried object and the obstacles below it, in metres."""
MAX_DROP_ERROR_M = 0.05
"""Maximum horizontal error, in metres, with which an object is lowered."""
MAX_SLIP_RAD = 0.6
"""Maximum rotation of an object within the gripper, in radians, for which the arm compensates."""
RIM_HEIGHT_M = 0.03
"""Height above its spot, in metres, at which an object at rest is considered to be on a rim rather than inside."""
MAX_FALL_M = 0.12
"""Maximum height above its spot, in metres, from which an object is dropped if only the gripper is blocked."""
MAX_NUDGES = 5
"""Maximum number of attempts to lift an object off a rim and lower it farther away from the rim."""
NUDGE_M = 0.007
"""Horizontal shift of the object per attempt, in metres."""
SLOPED_SINE = 0.4
"""Minimum horizontal component of a contact normal that determines the direction of a shift."""
NUDGE_LIFT_M = 0.025
"""Height, in metres, by which an object is lifted off a rim."""
SINKING_M = 0.002
"""Maximum descent, in metres, during the settling steps of an object that counts as resting."""
SETTLE_STEPS, TIGHT_SETTLE_STEPS = 5, 3
"""Number of settling steps in ordinary and in tight spots, where an object pressed onto a rim tilts in the gripper."""
LOST_CONTACT_STEPS = 3
"""Number of steps for which the fingers may lose contact in tight spots, because they close again."""
BLOCKED_STEPS = 12
"""Number of steps without motion or support after which an object is released, because the gripper is blocked."""
RELEASE_WIDTH_M = 0.012
"""Opening of the gripper beyond the object's width in tight spots, in metres."""
VERTICAL_COSINE = 0.7
"""Minimum vertical component of a contact normal that counts as vertical."""
HOLD_WIDTH = 0.0
"""Gripper component of an action that keeps the distance between the fingers constant."""


@dataclass(frozen=True, slots=True, eq=False)
class PlacementSpot:
    """A target pose for an object."""

    position: np.ndarray
    """Position of the object's origin at rest, in metres, shape (3,)."""
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    """Rotation to apply to the object on the way to the spot, shape (3, 3)."""
    cost: float = 0.0
    """Difference in cost from the best spot, in metres."""
    outward: np.ndarray | None = None
    """Horizontal direction (3,) out of the region; objects are inserted the opposite way. None: from above."""
    threshold: float = 0.0
    """Distance along ``outward``, in metres, at which the object is outside the region."""
    lift: float = 0.0
    """Height above the resting position at which the object is inserted, in metres."""
    tight: bool = False
    """Whether obstacles are closer to the spot than the desired distance."""


def put_back(scene: SceneState, entity: EntityIndex, origin: np.ndarray, standing: np.ndarray) -> Motion:
    """Return the motion that puts a held object back at its original pose, or as close to it as the arm can reach.

    ``origin`` (3,) is the position of the object before it was grasped, and ``standing`` (3, 3) its rotation.
    """
    return place(scene, entity, PlacementSpot(origin, tight=True), standing, max_error=np.inf)


def place(
    scene: SceneState,
    entity: EntityIndex,
    spot: PlacementSpot,
    standing: np.ndarray,
    *,
    max_error: float = MAX_DROP_ERROR_M,
) -> Motion:
    """Carry a held object to a spot, lower it or slide it in, release it and retreat.

    ``standing`` (3, 3): the object's rotation before it was grasped. Returns False if the object was lost, or is more
    than ``max_error`` metres away from the spot before it is lowered; the object may still be held in that case.
    """
    outward = np.zeros(3) if spot.outward is None else spot.outward * spot.threshold
    rotation = spot.rotation @ scene.gripper_pose()[1]
    is_tight = spot.tight and spot.outward is None
    placing = _Placing(scene, entity, spot, rotation, spot.rotation @ standing, is_tight)
    yield from placing.carry(spot.position + outward)
    error = float(np.linalg.norm((spot.position + outward - scene.pose(entity)[0])[:2]))
    if not scene.fingers.count(entity) or (spot.outward is None and error > max_error):
        return False
    if spot.outward is not None:
        for _ in range(2):
            goal = placing.gripper_position(spot.position + outward + (0.0, 0.0, spot.lift))
            yield from motion.move(scene, goal, rotation, motion.CLOSED, steps=50, near=0.008)
        for _ in range(60):
            remaining = spot.position - scene.pose(entity)[0]
            if -remaining @ spot.outward < 0.005 or not scene.fingers.count(entity):
                break
            goal = scene.gripper_pose()[0] + remaining + (0.0, 0.0, spot.lift)
            yield from motion.move(scene, goal, rotation, motion.CLOSED, steps=1, near=0.0, speed=0.6)
        if not scene.fingers.count(entity):
            here, _ = scene.gripper_pose()
            yield from motion.move(scene, here + outward, rotation, motion.OPEN, steps=20, near=0.02)
            return False
    if not (yield from placing.lower_onto_spot()):
        return False
    gripper = motion.OPEN
    if is_tight:
        gripper = HOLD_WIDTH  # a wide-open gripper may get caught between walls and lift them
        wide = scene.opening() + RELEASE_WIDTH_M
        for _ in range(8):
            if scene.opening() > wide:
                break
            yield from motion.grip(scene, motion.OPEN, steps=1)
    else:
        yield from motion.grip(scene, motion.OPEN, steps=8)
    here, rotation = scene.gripper_pose()
    retreat = here + (0.0, 0.0, 0.1) if spot.outward is None else here - rotation[:, 2] * 0.05 + outward
    yield from motion.move(scene, retreat, rotation, gripper, steps=20, near=0.02)
    return True


@dataclass(frozen=True, slots=True, eq=False)
class _Placing:
    """The motions that carry a held object to a spot and lower it."""

    scene: SceneState
    entity: EntityIndex
    spot: PlacementSpot
    rotation: np.ndarray
    """Rotation of the gripper, (3, 3), if the object does not slip."""
    desired: np.ndarray
    """Rotation of the object at the spot, shape (3, 3)."""
    is_tight: bool
    """Whether the object is lowered between nearby obstacles."""

    def gripper_position(self, origin: np.ndarray) -> np.ndarray:
        """Return the position (3,) of the gripper for which the object's origin is at ``origin`` (3,)."""
        return np.asarray(origin + self.scene.gripper_pose()[0] - self.scene.pose(self.entity)[0])

    def corrected_rotation(self) -> np.ndarray:
        """Return the gripper rotation (3, 3) that gives the object the desired rotation despite its slip.

        If the slip is too large to correct, return the rotation without slip.
        """
        corrected = self.desired @ self.scene.pose(self.entity)[1].T @ self.scene.gripper_pose()[1]
        slip = np.linalg.norm(motion.rotation_between(self.rotation, corrected))
        return corrected if slip < MAX_SLIP_RAD else self.rotation

    def carry(self, before: np.ndarray) -> Motion:
        """Lift the object over obstacles and move it above ``before`` (3,); return False if it was lost."""
        scene, entity = self.scene, self.entity
        here, _ = scene.gripper_pose()
        highest = max(before[2], scene.highest_between(here[:2], before[:2], entity))
        origin, _ = scene.pose(entity)
        rotated = scene.rotated_box(entity, self.spot.rotation)
        deepest = min(scene.box(entity).low[2] - origin[2], rotated.low[2])
        height = max(origin[2], highest + CARRY_CLEARANCE_M - deepest)
        yield from motion.move(
            scene, here + (0.0, 0.0, height - origin[2]), None, motion.CLOSED, steps=40, near=0.02
        )
        past: list[float] = []
        for _ in range(70):
            if not scene.fingers.count(entity):
                return False
            goal = self.gripper_position(np.array([before[0], before[1], height]))
            aim = self.corrected_rotation() if self.is_tight else self.rotation
            here, now = scene.gripper_pose()
            remaining = float(np.linalg.norm(goal - here))
            twist = float(np.linalg.norm(motion.rotation_between(now, aim)))
            past.append(remaining + 0.1 * twist)
            stalled = len(past) > motion.STALL_STEPS and past[-motion.STALL_STEPS] - past[-1] < 0.001
            if stalled or (
                remaining < (0.003 if self.spot.tight else 0.01) and twist < motion.ANGLE_TOLERANCE_RAD
            ):
                break
            yield motion.action_towards(scene, goal, aim, motion.CLOSED)
        return True

    def lower_onto_spot(self) -> Motion:
        """Lower the object; if it comes to rest on a rim, lift and shift it. Return False if it remains on the rim."""
        scene, entity, spot = self.scene, self.entity, self.spot
        target, rotation = spot.position, self.rotation
        for nudge in range(MAX_NUDGES):
            if self.is_tight:
                rotation = self.corrected_rotation()
            yield from self.lower(target, rotation)
            above = scene.pose(entity)[0][2] - spot.position[2]
            if not spot.tight or above < RIM_HEIGHT_M or not scene.fingers.count(entity):
                return True
            is_gripper_blocked = any(
                other not in entity.geoms and abs(scene.data.contact.frame[index, 2]) > VERTICAL_COSINE
                for index, _, other in contacts(scene.data, scene.robot_geoms)
            )
            if is_gripper_blocked or not scene.is_resting(entity):
                return bool(above < MAX_FALL_M)
            target = target + _shift_off_rim(scene, entity, nudge % 2)
            here, _ = scene.gripper_pose()
            yield from motion.move(
                scene, here + (0.0, 0.0, NUDGE_LIFT_M), rotation, motion.CLOSED, steps=8, near=0.005
            )
            for _ in range(10):
                rotation = self.corrected_rotation()
                goal = self.gripper_position(np.append(target[:2], scene.pose(entity)[0][2]))
                yield from motion.move(scene, goal, rotation, motion.CLOSED, steps=1, near=0.003)
        return False

    def lower(self, target: np.ndarray, rotation: np.ndarray) -> Motion:
        """Lower the object towards ``target`` (3,) until it comes to rest or the gripper is blocked."""
        scene, entity = self.scene, self.entity
        heights: list[float] = []
        stuck = lost = 0
        steps, slack = (TIGHT_SETTLE_STEPS, LOST_CONTACT_STEPS) if self.spot.tight else (SETTLE_STEPS, 0)
        for _ in range(60):
            origin, _ = scene.pose(entity)
            heights.append(origin[2])
            stuck = stuck + 1 if len(heights) >= steps and heights[-steps] - heights[-1] < SINKING_M else 0
            lost = 0 if scene.fingers.count(entity) else lost + 1
            if (
                (stuck and scene.is_resting(entity) and not lost)
                or stuck > BLOCKED_STEPS
                or lost > slack
                or origin[2] < target[2] - 0.03
            ):
                return True
            remaining = target - origin
            goal = scene.gripper_pose()[0] + (remaining[0], remaining[1], -0.02)
            yield from motion.move(scene, goal, rotation, motion.CLOSED, steps=1, near=0.0)
        return False


def _shift_off_rim(scene: SceneState, entity: EntityIndex, axis: int) -> np.ndarray:
    """Return the horizontal shift (3,), in metres, that moves an object off its support.

    If the support is beside the object, the shift is along the contact normal. If it is under the object's edge,
    the shift is along one of the object's axes: for ``axis`` 0, the one with the nearer edge; for 1, the other.
    """
    point, normal = scene.support(entity)
    slope = float(np.hypot(*normal[:2]))
    if slope > SLOPED_SINE:
        return np.array([normal[0], normal[1], 0.0]) * 2 * NUDGE_M / slope
    frame = scene.pose(entity)[1]
    half = scene.rotated_box(entity, frame.T).size / 2
    away = frame.T @ (scene.box(entity).centre - point) / half
    away[int(np.argmax(np.abs(frame[2])))] = 0.0
    chosen = np.argsort(-np.abs(away))[axis]
    way = frame[:, chosen] * np.sign(away[chosen])
    return NUDGE_M * np.array([way[0], way[1], 0.0])
