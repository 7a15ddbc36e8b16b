"""Moving what is hinged or slides: drawers, doors and knobs, by their joints' own geometry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from assay.policies.oracle.grasps import TIP, hand_points, obstacles, of_piece, palm_points, piece_of
from assay.policies.oracle.motion import (
    CLOSED,
    DOWN,
    OPEN,
    Motion,
    about_vertical,
    action_towards,
    cross,
    facing,
    grip,
    move,
    nearest_turn,
    travel,
    turn,
)
from assay.policies.oracle.reach import OPENED, SHUT, Reach
from assay.policies.oracle.sight import Sight
from assay.sim.bare_mujoco import mujoco
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
AJAR = 0.45
"""How far a door is drawn by its handle before it is pushed, radians."""
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
    """Draw a drawer or a door to ``value`` by its handle: held, or hooked where the palm has no room."""
    sense = np.sign(value - sight.joint(joint))
    slides = sight.model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE

    def way() -> np.ndarray:
        """Where the handle goes next, (3,)."""
        if slides:
            return np.asarray(sight.axis(joint) * sense)
        tangent = cross(sight.axis(joint), sight.data.geom_xpos[handle] - sight.anchor(joint)) * sense
        return np.asarray(tangent / np.linalg.norm(tangent))

    handle = _handle(sight, entity, joint, sense)
    for hold in sorted(_holds(sight, handle, way()), key=lambda hold: hold.touching):
        start = sight.joint(joint)
        before = hold.position - hold.rotation[:, 2] * 0.09
        rotation, _ = Reach(sight, entity).easier(before, hold.rotation, OPENED)
        here, _ = sight.hand()
        clearance = max(before[2], sight.highest_between(here[:2], before[:2], entity)) + 0.04
        yield from travel(sight, before, rotation, hold.gripper, clearance=clearance)
        yield from move(sight, hold.position, rotation, hold.gripper, steps=30, near=0.006)
        yield from grip(sight, CLOSED, steps=10 if hold.gripper == OPEN else 1)
        last = sight.joint(joint)
        for step in range(70):
            if (sight.joint(joint) - value) * sense >= 0:
                break
            here, _ = sight.hand()
            goal = here + way() * 0.03
            if hold.gripper == CLOSED:
                goal = hold.position + way() * (abs(sight.joint(joint) - start) + 0.03)
            yield action_towards(sight, goal, rotation, CLOSED)
            if step % 12 == 11:
                if abs(sight.joint(joint) - last) < (0.004 if slides else 0.02):
                    break
                last = sight.joint(joint)
        yield from grip(sight, OPEN, steps=6)
        here, rotation = sight.hand()
        yield from move(sight, here - rotation[:, 2] * 0.08, rotation, OPEN, steps=14, near=0.02)
        if (sight.joint(joint) - value) * sense >= -0.003:
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


def _holds(sight: Sight, handle: int, outward: np.ndarray) -> Iterator[_Hold]:
    """Ways to draw a handle, a geom, outward (3,)."""
    around = obstacles(sight, sight.solid_geoms)
    box = sight.geom_box(handle)
    upright = int(np.argmax(box.size)) == 2
    across = cross(outward, DOWN)
    for tilt in TILTS:
        approach = -outward * np.cos(tilt) + DOWN * np.sin(tilt)
        rotation = facing(approach, cross(approach, DOWN if upright else across))
        position = box.centre + approach * 0.006
        yield _Hold(position, rotation, OPEN, around.contain(palm_points(position, rotation)))
    for tilt in () if upright else HOOK_TILTS:
        approach = -outward * np.cos(tilt) + DOWN * np.sin(tilt)
        rotation = facing(approach, across)
        lowest = (
            approach * TIP - cross(across, approach) * FINGER / 2
        )  # of the fingertips, seen from the site
        behind = box.centre - outward * (np.abs(outward) @ box.size / 2 + HOOK)
        behind[2] = box.high[2] - HOOK
        position = behind - lowest
        yield _Hold(position, rotation, CLOSED, around.contain(palm_points(position, rotation)))


def _push(sight: Sight, entity: EntityIndex, joint: int, value: float) -> Motion:
    """Push a drawer shut with the closed hand."""
    inward = sight.axis(joint) * np.sign(value - sight.joint(joint))
    approach = DOWN * np.cos(SLANT) + inward * np.sin(SLANT)
    handle = sight.geom_box(_handle(sight, entity, joint, np.sign(sight.joint(joint) - value)))
    start = handle.centre - inward * (BEHIND + 0.01)
    rotation, _ = Reach(sight, entity).easier(start, facing(approach, cross(inward, DOWN)), SHUT)
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
        tangent = cross(axis, arm) * sense
        point = anchor + arm * 1.6 + tangent / np.linalg.norm(tangent) * ahead
        point[2] = sight.geom_box(panel).high[2] - 0.022
        return np.asarray(point)

    rotation = nearest_turn(sight, facing(DOWN, outwards()))
    start = push_point(-BEHIND)
    body = sight.model.jnt_bodyid[joint]
    frame = obstacles(sight, (geom for geom in entity.geoms if sight.model.geom_bodyid[geom] != body))
    if frame.contain(hand_points(start, rotation)):  # no room behind it
        yield from _pull(sight, entity, joint, sight.joint(joint) + sense * AJAR)
        rotation = nearest_turn(sight, facing(DOWN, outwards()))
        start = push_point(-BEHIND)
        here, _ = sight.hand()
        over = np.array([here[0], here[1], start[2] + 0.12])
        yield from move(sight, over, rotation, CLOSED, steps=40, near=0.02, turned=0.2)
    yield from travel(sight, start, rotation, CLOSED, clearance=start[2] + 0.1, steps=40)
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
    return bool(2 * sight.model.geom_aabb[sight.geoms_of(entity, joint), 3:].max() < 0.12)


def _handle(sight: Sight, entity: EntityIndex, joint: int, sense: float) -> int:
    """The piece of a moving part that sticks out furthest where the joint takes it with a sense, 1 or -1."""
    parts = sight.geoms_of(entity, joint)
    outward = sight.axis(joint) * sense
    if sight.model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_SLIDE:
        middle = np.mean([sight.data.geom_xpos[geom] for geom in parts], axis=0)
        outward = cross(outward, middle - sight.anchor(joint))
    return max(parts, key=lambda geom: float(sight.geom_box(geom).centre @ outward))
