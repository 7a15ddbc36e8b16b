"""Skills for drawers, doors and knobs, derived from the geometry of their joints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.policies.oracle import grasps, motion
from assay.policies.oracle.grasps import Grasp, Obstacles, Reach
from assay.policies.oracle.motion import Motion
from assay.policies.oracle.scene_state import SceneState
from assay.sim.bare_mujoco import mujoco
from assay.sim.compile import EntityIndex

HANDLE_TILTS = np.radians([20.0, 35.0, 5.0])
"""Downward tilts of the approach to a handle, in radians, in the order of attempts."""
PUSH_TILT = np.radians(35.0)
"""Gripper tilt from the vertical when pushing a drawer, in radians; only the fingers come near the drawer."""
HOOK_TILTS = np.radians([50.0, 40.0])
"""Gripper tilts for hooking a handle, in radians, in the order of attempts."""
HOOK_DEPTH_M = 0.008
"""Depth of the fingertips behind a handle and below its top, in metres."""
FINGER_WIDTH_M = 0.022
"""Width of a finger, in metres."""
AJAR_RAD = 0.45
"""Angle, in radians, to which a door is pulled by its handle; from there on, it is pushed."""
MAX_KNOB_WIDTH_M = 0.12
"""Maximum width, in metres, of a knob that the gripper can grasp and turn."""
PUSH_START_M = 0.05
"""Distance in front of a surface at which a push starts, in metres."""


def set_joint(scene: SceneState, entity: EntityIndex, joint: int, value: float) -> Motion:
    """Move a joint to a value by pulling, pushing, turning or swinging, depending on its type."""
    if scene.model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE:
        skill = _pull if abs(value) > abs(scene.joint(joint)) else _push
    else:
        width = 2 * scene.model.geom_aabb[scene.geoms_of(entity, joint), 3:].max()
        is_knob = abs(scene.axis(joint)[2]) > 0.9 and width < MAX_KNOB_WIDTH_M
        skill = _turn if is_knob else _swing
    return skill(scene, entity, joint, value)


def _pull(scene: SceneState, entity: EntityIndex, joint: int, value: float) -> Motion:
    """Pull a drawer or door to ``value`` by grasping its handle, or hooking it where the palm has no free space."""
    sense = np.sign(value - scene.joint(joint))
    slides = scene.model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE

    def pull_direction() -> np.ndarray:
        if slides:
            return np.asarray(scene.axis(joint) * sense)
        tangent = motion.cross(scene.axis(joint), scene.data.geom_xpos[handle] - scene.anchor(joint)) * sense
        return np.asarray(tangent / np.linalg.norm(tangent))

    handle = _handle(scene, entity, joint, sense)
    for hold in sorted(_handle_grips(scene, handle, pull_direction()), key=lambda hold: hold.cost):
        gripper = motion.OPEN if hold.width == grasps.OPEN_WIDTH_M else motion.CLOSED
        start = scene.joint(joint)
        before = hold.position - hold.rotation[:, 2] * 0.09
        rotation, _ = Reach(scene, entity).easier(before, hold.rotation, grasps.OPEN_WIDTH_M)
        here, _ = scene.gripper_pose()
        clearance = max(before[2], scene.highest_between(here[:2], before[:2], entity)) + 0.04
        yield from motion.travel(scene, before, rotation, gripper, clearance=clearance)
        yield from motion.move(scene, hold.position, rotation, gripper, steps=30, near=0.006)
        yield from motion.grip(scene, motion.CLOSED, steps=10 if gripper == motion.OPEN else 1)
        last = scene.joint(joint)
        for step in range(70):
            if (scene.joint(joint) - value) * sense >= 0:
                break
            here, _ = scene.gripper_pose()
            goal = here + pull_direction() * 0.03
            if gripper == motion.CLOSED:
                goal = hold.position + pull_direction() * (abs(scene.joint(joint) - start) + 0.03)
            yield motion.action_towards(scene, goal, rotation, motion.CLOSED)
            if step % 12 == 11:
                if abs(scene.joint(joint) - last) < (0.004 if slides else 0.02):
                    break
                last = scene.joint(joint)
        yield from motion.grip(scene, motion.OPEN, steps=6)
        here, rotation = scene.gripper_pose()
        yield from motion.move(
            scene, here - rotation[:, 2] * 0.08, rotation, motion.OPEN, steps=14, near=0.02
        )
        if (scene.joint(joint) - value) * sense >= -0.003:
            return True
    return False


def _handle_grips(scene: SceneState, handle: int, outward: np.ndarray) -> Iterator[Grasp]:
    """Yield grasps of a handle with open fingers, and with closed fingers that hook it, for pulling along ``outward``
    (3,).

    ``handle``: geom id. The cost is the number of palm points inside obstacles.
    """
    obstacles = Obstacles(scene, scene.solid_geoms)
    box = scene.box(handle)
    is_vertical = int(np.argmax(box.size)) == 2
    across = motion.cross(outward, motion.DOWN)
    for tilt in HANDLE_TILTS:
        approach = -outward * np.cos(tilt) + motion.DOWN * np.sin(tilt)
        rotation = motion.facing(approach, motion.cross(approach, motion.DOWN if is_vertical else across))
        position = box.centre + approach * 0.006
        cost = obstacles.count_contacts(position, rotation, grasps.PALM)
        yield Grasp(position, rotation, grasps.OPEN_WIDTH_M, cost)
    for tilt in () if is_vertical else HOOK_TILTS:
        approach = -outward * np.cos(tilt) + motion.DOWN * np.sin(tilt)
        rotation = motion.facing(approach, across)
        # Lowest point of the fingertips, relative to the grip site.
        lowest = approach * grasps.FINGERTIP_M - motion.cross(across, approach) * FINGER_WIDTH_M / 2
        behind = box.centre - outward * (np.abs(outward) @ box.size / 2 + HOOK_DEPTH_M)
        behind[2] = box.high[2] - HOOK_DEPTH_M
        position = behind - lowest
        cost = obstacles.count_contacts(position, rotation, grasps.PALM)
        yield Grasp(position, rotation, grasps.CLOSED_WIDTH_M, cost)


def _push(scene: SceneState, entity: EntityIndex, joint: int, value: float) -> Motion:
    """Push a drawer closed with the closed gripper."""
    inward = scene.axis(joint) * np.sign(value - scene.joint(joint))
    approach = motion.DOWN * np.cos(PUSH_TILT) + inward * np.sin(PUSH_TILT)
    handle = scene.box(_handle(scene, entity, joint, np.sign(scene.joint(joint) - value)))
    start = handle.centre - inward * (PUSH_START_M + 0.01)
    rotation, _ = Reach(scene, entity).easier(
        start, motion.facing(approach, motion.cross(inward, motion.DOWN)), grasps.CLOSED_WIDTH_M
    )
    yield from motion.travel(scene, start, rotation, motion.CLOSED, clearance=start[2] + 0.2)
    for _ in range(80):
        if (value - scene.joint(joint)) * np.sign(value or 1.0) <= 0:
            break
        here, _ = scene.gripper_pose()
        goal = handle.centre + inward * ((here - handle.centre) @ inward + 0.04)
        goal[2] = start[2]
        yield motion.action_towards(scene, goal, rotation, motion.CLOSED)
    here, _ = scene.gripper_pose()
    yield from motion.move(scene, here - inward * 0.06, rotation, motion.CLOSED, steps=12, near=0.02)
    return bool((value - scene.joint(joint)) * np.sign(value or 1.0) <= 0.003)


def _turn(scene: SceneState, entity: EntityIndex, joint: int, value: float) -> Motion:
    """Grasp a knob across its fin and turn it."""
    anchor = scene.anchor(joint)
    for attempt in range(3):
        fin = max(scene.geoms_of(entity, joint), key=lambda geom: scene.box(geom).high[2])
        choices = sorted(
            grasps.grasps_of_piece(scene, grasps.geom_piece(scene, fin), anchor), key=lambda grasp: grasp.cost
        )
        if not choices:
            return False
        height = scene.box(fin).high[2] - 0.012 - 0.004 * attempt
        position = np.array([anchor[0], anchor[1], height])
        rotation = motion.easier_flip(scene, choices[0].rotation)
        above = position + (0.0, 0.0, 0.09)
        yield from motion.travel(scene, above, rotation, motion.OPEN, clearance=above[2] + 0.03)
        yield from motion.move(scene, position, rotation, motion.OPEN, steps=30, near=0.005)
        yield from motion.grip(scene, motion.CLOSED, steps=10)
        for _ in range(40):
            remaining = value - scene.joint(joint)
            if abs(remaining) < 0.05:
                break
            _, now = scene.gripper_pose()
            turned = motion.rotation_about_z(float(np.clip(remaining, -0.5, 0.5))) @ now
            yield motion.action_towards(scene, position, turned, motion.CLOSED)
        yield from motion.grip(scene, motion.OPEN, steps=6)
        here, now = scene.gripper_pose()
        yield from motion.move(scene, here + (0.0, 0.0, 0.1), now, motion.OPEN, steps=14, near=0.02)
        if abs(value - scene.joint(joint)) < 0.15:
            return True
    return False


def _swing(scene: SceneState, entity: EntityIndex, joint: int, value: float) -> Motion:
    """Push a door along its arc with the closed gripper."""
    anchor, axis = scene.anchor(joint), scene.axis(joint)
    sense = np.sign(value - scene.joint(joint))
    panel = max(scene.geoms_of(entity, joint), key=lambda geom: float(np.prod(scene.box(geom).size)))

    def outwards() -> np.ndarray:
        arm = scene.data.geom_xpos[panel] - anchor
        return np.asarray(arm - axis * (arm @ axis))

    def push_point(ahead: float) -> np.ndarray:
        arm = outwards()
        tangent = motion.cross(axis, arm) * sense
        point = anchor + arm * 1.6 + tangent / np.linalg.norm(tangent) * ahead
        point[2] = scene.box(panel).high[2] - 0.022
        return np.asarray(point)

    rotation = motion.easier_flip(scene, motion.facing(motion.DOWN, outwards()))
    start = push_point(-PUSH_START_M)
    body = scene.model.jnt_bodyid[joint]
    frame = Obstacles(scene, (geom for geom in entity.geoms if scene.model.geom_bodyid[geom] != body))
    if frame.count_contacts(start, rotation):  # no room behind the door: pull it ajar first
        yield from _pull(scene, entity, joint, scene.joint(joint) + sense * AJAR_RAD)
        rotation = motion.easier_flip(scene, motion.facing(motion.DOWN, outwards()))
        start = push_point(-PUSH_START_M)
        here, _ = scene.gripper_pose()
        over = np.array([here[0], here[1], start[2] + 0.12])
        yield from motion.move(scene, over, rotation, motion.CLOSED, steps=40, near=0.02, angle_tolerance=0.2)
    yield from motion.travel(scene, start, rotation, motion.CLOSED, clearance=start[2] + 0.1, steps=40)
    for _ in range(160):
        if (value - scene.joint(joint)) * sense <= 0.0:
            break
        rotation = min(
            (motion.facing(motion.DOWN, outwards()), motion.facing(motion.DOWN, -outwards())),
            key=lambda candidate: float(
                np.linalg.norm(motion.rotation_between(scene.gripper_pose()[1], candidate))
            ),
        )
        yield motion.action_towards(scene, push_point(0.06), rotation, motion.CLOSED)
    yield from motion.move(scene, push_point(-0.12), rotation, motion.CLOSED, steps=14, near=0.03)
    return bool((value - scene.joint(joint)) * sense <= 0.05)


def _handle(scene: SceneState, entity: EntityIndex, joint: int, sense: float) -> int:
    """Return the moving part's geom that protrudes furthest in the direction of motion; ``sense``: its sign."""
    parts = scene.geoms_of(entity, joint)
    outward = scene.axis(joint) * sense
    if scene.model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_SLIDE:
        middle = np.mean([scene.data.geom_xpos[geom] for geom in parts], axis=0)
        outward = motion.cross(outward, middle - scene.anchor(joint))
    return max(parts, key=lambda geom: float(scene.box(geom).centre @ outward))
