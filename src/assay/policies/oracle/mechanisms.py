"""Moving what is hinged or slides: drawers, doors and knobs, by their joints' own geometry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from assay.policies.oracle.grasps import TIP, obstacles, of_piece, palm_points, piece_of
from assay.policies.oracle.motion import (
    CLOSED,
    DOWN,
    OPEN,
    Motion,
    about_vertical,
    action_towards,
    facing,
    grip,
    move,
    nearest_turn,
    travel,
    turn,
)
from assay.policies.oracle.sight import Sight
from assay.sim.compile import EntityIndex

TILTS = np.radians([20.0, 35.0, 5.0])
"""How steeply downwards the hand comes at a handle, radians; tried in turn."""
SLANT = np.radians(35.0)
"""How far off the vertical the hand pushes a drawer, radians, so that only the fingers come near."""
HOOK_TILTS = np.radians([50.0, 40.0])
"""The same for hooking it."""
HOOK = 0.008
"""How far behind a handle and below its top the fingertips hook it, metres."""
FINGER = 0.022
"""How wide a finger is, metres."""
BEHIND = 0.05
"""How far in front of a surface the hand starts to push it, metres."""


def set_joint(sight: Sight, entity: EntityIndex, joint: int, value: float) -> Motion:
    """Bring a joint to a value: slide or swing, pull or push, whichever the joint calls for."""
    kind = sight.model.jnt_type[joint]
    if kind == mujoco.mjtJoint.mjJNT_SLIDE:
        outwards = abs(value) > abs(sight.joint(joint))
        if outwards:
            return (yield from _pull(sight, entity, joint, value))
        return (yield from _push(sight, entity, joint, value))
    if abs(sight.axis(joint)[2]) > 0.9 and _is_knob(sight, entity, joint):
        return (yield from _turn(sight, entity, joint, value))
    return (yield from _swing(sight, entity, joint, value))


def _pull(sight: Sight, entity: EntityIndex, joint: int, value: float) -> Motion:
    """Draw a drawer to ``value`` by its handle: held between the fingers, or hooked where the palm has no room."""
    outward = sight.axis(joint) * np.sign(value - sight.joint(joint))
    for hold in sorted(_holds(sight, entity, joint, outward), key=lambda hold: hold.touching):
        rotation = nearest_turn(sight, hold.rotation)
        approach = rotation[:, 2]
        shift = sight.joint(joint)
        before = hold.position - approach * 0.09
        here, _ = sight.hand()
        clearance = max(before[2], sight.highest_between(here[:2], before[:2], entity)) + 0.04
        yield from travel(sight, before, rotation, hold.gripper, clearance=clearance)
        yield from move(sight, hold.position, rotation, hold.gripper, steps=30, near=0.006)
        yield from grip(sight, CLOSED, steps=10 if hold.gripper == OPEN else 1)
        last = sight.joint(joint)
        for step in range(70):
            if abs(sight.joint(joint)) >= abs(value):
                break
            here, _ = sight.hand()
            goal = here + outward * 0.03
            if hold.gripper == CLOSED:
                goal = hold.position + outward * (abs(sight.joint(joint) - shift) + 0.03)
            yield action_towards(sight, goal, rotation, CLOSED)
            if step % 12 == 11:
                if abs(sight.joint(joint) - last) < 0.004:
                    break
                last = sight.joint(joint)
        yield from grip(sight, OPEN, steps=6)
        here, _ = sight.hand()
        away = here - approach * 0.08
        yield from move(sight, away, rotation, OPEN, steps=14, near=0.02)
        if abs(sight.joint(joint)) >= abs(value) - 0.003:
            return True
    return False


@dataclass(frozen=True, slots=True, eq=False)
class _Hold:
    """A way to draw by a handle."""

    position: np.ndarray
    """Of the grip site, (3,)."""
    rotation: np.ndarray
    """Of the grip site, (3, 3)."""
    gripper: float
    """What the gripper is told on the way there: OPEN to hold the handle, CLOSED to hook it."""
    touching: int
    """How many points of the palm would be inside something."""


def _holds(sight: Sight, entity: EntityIndex, joint: int, outward: np.ndarray) -> Iterator[_Hold]:
    """Ways to draw a drawer by its handle."""
    around = obstacles(sight, sight.solid_geoms)
    handle = sight.geom_box(_outermost(sight, entity, joint, outward))
    across = np.cross(outward, DOWN)
    for tilt in TILTS:
        approach = -outward * np.cos(tilt) + DOWN * np.sin(tilt)
        rotation = facing(approach, np.cross(approach, across))
        position = handle.centre + approach * 0.006
        yield _Hold(position, rotation, OPEN, around.contain(palm_points(position, rotation)))
    for tilt in HOOK_TILTS:
        approach = -outward * np.cos(tilt) + DOWN * np.sin(tilt)
        rotation = facing(approach, across)
        lowest = (
            approach * TIP - np.cross(across, approach) * FINGER / 2
        )  # of the fingertips, seen from the site
        behind = handle.centre - outward * (np.abs(outward) @ handle.size / 2 + HOOK)
        behind[2] = handle.high[2] - HOOK
        position = behind - lowest
        yield _Hold(position, rotation, CLOSED, around.contain(palm_points(position, rotation)))


def _push(sight: Sight, entity: EntityIndex, joint: int, value: float) -> Motion:
    """Push a drawer shut with the closed hand."""
    inward = sight.axis(joint) * np.sign(value - sight.joint(joint))
    approach = DOWN * np.cos(SLANT) + inward * np.sin(SLANT)
    rotation = nearest_turn(sight, facing(approach, np.cross(inward, DOWN)))
    handle = sight.geom_box(_outermost(sight, entity, joint, -inward))
    start = handle.centre - inward * (BEHIND + 0.01)
    yield from travel(sight, start, rotation, CLOSED, clearance=start[2] + 0.2)
    for _ in range(80):
        if (value - sight.joint(joint)) * np.sign(value or 1.0) <= 0:
            break
        here, _ = sight.hand()
        goal = handle.centre + inward * ((here - handle.centre) @ inward + 0.04)
        goal[2] = start[2]
        yield action_towards(sight, goal, rotation, CLOSED)
    here, _ = sight.hand()
    yield from move(sight, here - inward * 0.06, rotation, CLOSED, steps=12, near=0.02)
    return bool((value - sight.joint(joint)) * np.sign(value or 1.0) <= 0.003)


def _turn(sight: Sight, entity: EntityIndex, joint: int, value: float) -> Motion:
    """Hold a knob across its fin and turn it."""
    anchor = sight.anchor(joint)
    for attempt in range(3):
        fin = max(sight.geoms_of(entity, joint), key=lambda geom: sight.geom_box(geom).high[2])
        grasps = sorted(of_piece(sight, piece_of(sight, fin), anchor), key=lambda grasp: grasp.cost)
        if not grasps:
            return False
        height = sight.geom_box(fin).high[2] - 0.012 - 0.004 * attempt
        position = np.array([anchor[0], anchor[1], height])
        rotation = nearest_turn(sight, grasps[0].rotation)
        above = position + (0.0, 0.0, 0.09)
        yield from travel(sight, above, rotation, OPEN, clearance=above[2] + 0.03)
        yield from move(sight, position, rotation, OPEN, steps=30, near=0.005)
        yield from grip(sight, CLOSED, steps=10)
        for _ in range(40):
            left = value - sight.joint(joint)
            if abs(left) < 0.05:
                break
            _, now = sight.hand()
            spun = about_vertical(float(np.clip(left, -0.5, 0.5))) @ now
            yield action_towards(sight, position, spun, CLOSED)
        yield from grip(sight, OPEN, steps=6)
        here, now = sight.hand()
        yield from move(sight, here + (0.0, 0.0, 0.1), now, OPEN, steps=14, near=0.02)
        if abs(value - sight.joint(joint)) < 0.15:
            return True
    return False


def _swing(sight: Sight, entity: EntityIndex, joint: int, value: float) -> Motion:
    """Push a door along its arc with the closed hand."""
    anchor, axis = sight.anchor(joint), sight.axis(joint)
    sense = np.sign(value - sight.joint(joint))
    panel = max(sight.geoms_of(entity, joint), key=lambda geom: float(np.prod(sight.geom_box(geom).size)))

    def outwards() -> np.ndarray:
        arm = sight.data.geom_xpos[panel] - anchor
        return np.asarray(arm - axis * (arm @ axis))

    def push_point(ahead: float) -> np.ndarray:
        arm = outwards()
        tangent = np.cross(axis, arm) * sense
        point = anchor + arm * 1.6 + tangent / np.linalg.norm(tangent) * ahead
        point[2] = sight.geom_box(panel).high[2] - 0.04
        return np.asarray(point)

    rotation = nearest_turn(sight, facing(DOWN, outwards()))
    start = push_point(-BEHIND)
    yield from travel(sight, start, rotation, CLOSED, clearance=start[2] + 0.07, steps=40)
    for _ in range(160):
        if (value - sight.joint(joint)) * sense <= 0.0:
            break
        rotation = min(
            (facing(DOWN, outwards()), facing(DOWN, -outwards())),
            key=lambda each: float(np.linalg.norm(turn(sight.hand()[1], each))),
        )
        yield action_towards(sight, push_point(0.06), rotation, CLOSED)
    yield from move(sight, push_point(-0.12), rotation, CLOSED, steps=14, near=0.03)
    return bool((value - sight.joint(joint)) * sense <= 0.05)


def _is_knob(sight: Sight, entity: EntityIndex, joint: int) -> bool:
    """Whether what turns is small enough to hold."""
    boxes = [sight.geom_box(geom) for geom in sight.geoms_of(entity, joint)]
    low = np.min([box.low for box in boxes], axis=0)
    high = np.max([box.high for box in boxes], axis=0)
    return bool((high - low).max() < 0.12)


def _outermost(sight: Sight, entity: EntityIndex, joint: int, outward: np.ndarray) -> int:
    """The piece of a moving part that sticks out furthest: its handle."""
    return max(
        sight.geoms_of(entity, joint),
        key=lambda geom: float(sight.geom_box(geom).centre @ outward),
    )
