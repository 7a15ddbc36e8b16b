"""Skills that act on one object: pick and place, lift, slide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count, islice

import numpy as np

from assay.policies.oracle import grasps, motion
from assay.policies.oracle.grasps import Grasp, Obstacles, Reach
from assay.policies.oracle.motion import Motion
from assay.policies.oracle.placing import CARRY_CLEARANCE_M, PlacementSpot, place, put_back
from assay.policies.oracle.scene_state import SceneState
from assay.sim.compile import EntityIndex

PREGRASP_M = 0.09
"""Distance from the grasp pose, in metres, at which the gripper stops before its final approach."""
MIN_LIFT_M = 0.025
"""Minimum rise, in metres, for an object to count as lifted."""
STILL_SPEED = 0.02
"""Speed, in metres per second, below which an object is at rest."""
MAX_ATTEMPTS = 4
"""Maximum number of grasps that are tried."""
MAX_CANDIDATES = 40
"""Maximum number of grasps that are compared for one attempt."""
MAX_REACH_CHECKS = 40
"""Maximum number of poses that are checked by inverse kinematics."""
REPEAT_COST = 0.15
"""Additional cost of a grasp that is similar to a failed one."""
SIMILAR_DISTANCE_M, SIMILAR_COSINE = 0.012, 0.97
"""Maximum distance (in metres) and minimum cosine between the approach directions of two similar grasps."""
MAX_GRASP_ERROR_M = 0.03
"""Maximum distance from the grasp pose, in metres, at which the gripper is closed."""
CROWDING_COST = 0.005
"""Cost per gripper point that touches an obstacle when the object is at its spot."""
LOW_OBJECT_M = 0.05
"""Maximum height, in metres, of an object that is slid to a free area if the gripper has no space around it."""
MIN_CONTACTS = 8
"""Minimum number of gripper points touching obstacles at which an object is slid to a free area."""
SLIDE_DISTANCE_M = 0.08
"""Distance, in metres, by which an object is slid to a free area."""
PRESS_DEPTH_M = 0.008
"""Target depth, in metres, of the fingertips below the top of an object that is slid."""
OVERHANG_MARGIN_M = 0.02
"""Distance from an overhang, in metres, at which an object is lifted."""
SIDE_APPROACHES_M = (0.03, 0.06, 0.09, 0.12)
"""Horizontal distances, in metres, at which the gripper may descend beside an overhang."""
FINGERTIP_GAP_M = 0.008
"""Distance of the fingertips above the object, in metres, when they approach from the side."""
EXTRA_CLOSING_STEPS = 8
"""Maximum number of additional closing steps for thin objects, until both fingers touch the object."""


RelativeGrasp = tuple[np.ndarray, np.ndarray]
"""Position (3,) and approach direction (3,) of a grasp in the frame of its object."""


def _relative_grasp(scene: SceneState, entity: EntityIndex, grasp: Grasp) -> RelativeGrasp:
    origin, frame = scene.pose(entity)
    return (grasp.position - origin) @ frame, grasp.rotation[:, 2] @ frame


def pick_and_place(
    scene: SceneState,
    entity: EntityIndex,
    spots: Callable[[], Sequence[PlacementSpot]],
    failures: list[RelativeGrasp],
) -> Motion:
    """Move an object to the best spot returned by ``spots``; try other grasps if one fails.

    Grasps are added to ``failures``, so that later attempts try different ones first.
    """
    for attempt in range(MAX_ATTEMPTS):
        yield from _settle(scene, entity)
        choice = _choose_grasp_and_spot(scene, entity, spots(), failures)
        if choice is None:
            return False
        open_position = _find_open_position(scene, entity, choice[0]) if attempt == 0 else None
        if open_position is not None:
            yield from slide(scene, entity, open_position, near=SLIDE_DISTANCE_M / 3)
            choice = _choose_grasp_and_spot(scene, entity, spots(), failures) or choice
        grasp, spot = choice
        failures.append(_relative_grasp(scene, entity, grasp))
        origin, standing = scene.pose(entity)
        if (yield from _grasp_and_lift(scene, entity, grasp)):
            if (yield from place(scene, entity, spot, standing)):
                return True
            if scene.fingers.count(entity):
                yield from put_back(scene, entity, origin, standing)
        yield from motion.grip(scene, motion.OPEN, steps=4)
        here, rotation = scene.gripper_pose()
        yield from motion.move(scene, here + (0.0, 0.0, 0.06), rotation, motion.OPEN, steps=10, near=0.02)
    return False


def _find_open_position(scene: SceneState, entity: EntityIndex, grasp: Grasp) -> np.ndarray | None:
    """Return a nearby position (2,) where the gripper has space around a low object; None if no move is needed."""
    if _side_offset(scene, entity, grasp).any():
        return None
    obstacles = Obstacles(scene, scene.solid_geoms - entity.geoms)

    def count_contacts(offset: np.ndarray) -> int:
        return obstacles.count_contacts(grasp.position + offset, grasp.rotation)

    if scene.box(entity).size[2] > LOW_OBJECT_M or count_contacts(np.zeros(3)) < MIN_CONTACTS:
        return None
    best = min((SLIDE_DISTANCE_M * way for way in motion.LEVEL_DIRECTIONS), key=count_contacts)
    return np.asarray((scene.pose(entity)[0] + best)[:2]) if count_contacts(best) < MIN_CONTACTS else None


def lift(scene: SceneState, entity: EntityIndex, height: float) -> Motion:
    """Grasp an object and lift it until its origin is above a given height in world coordinates, in metres."""
    for attempt in range(MAX_ATTEMPTS):
        yield from _settle(scene, entity)
        grasp = next(islice(grasps.ranked_grasps(scene, entity), attempt, None), None)
        if grasp is None:
            return False
        rotation, _ = Reach(scene, entity).easier(grasp.position, grasp.rotation, grasps.OPEN_WIDTH_M)
        if (yield from _grasp_and_lift(scene, entity, replace(grasp, rotation=rotation))):
            here, rotation = scene.gripper_pose()
            remaining = height + 0.02 - scene.pose(entity)[0][2]
            yield from motion.move(scene, here + (0.0, 0.0, max(remaining, 0.0)), rotation, motion.CLOSED)
        if scene.pose(entity)[0][2] >= height:
            return True
        yield from motion.grip(scene, motion.OPEN, steps=4)
    return False


def _settle(scene: SceneState, entity: EntityIndex) -> Motion:
    """Wait, for at least one step, until an object is at rest; in the initial state it may be in the air."""
    for _ in range(15):
        yield from motion.grip(scene, motion.OPEN, steps=1)
        if np.linalg.norm(scene.data.cvel[entity.body][3:]) < STILL_SPEED:
            return True
    return False


def _choose_grasp_and_spot(
    scene: SceneState, entity: EntityIndex, spots: Sequence[PlacementSpot], failures: Sequence[RelativeGrasp]
) -> tuple[Grasp, PlacementSpot] | None:
    """Return the grasp and the spot with the lowest total cost.

    Best-first search: obstacles and reachability, which are expensive, are computed only for pairs that may be best.
    """
    obstacles = Obstacles(scene, scene.solid_geoms - entity.geoms)
    reach = Reach(scene, entity)
    origin, _ = scene.pose(entity)
    candidates = islice(grasps.ranked_grasps(scene, entity), MAX_CANDIDATES)
    candidate = next(candidates, None)
    flips: dict[Grasp, tuple[Grasp, float]] = {}
    number = count()  # breaks ties in the queue
    queue: list[tuple[float, int, int, Grasp, PlacementSpot]] = []
    while queue or candidate is not None:
        if candidate is not None and (not queue or candidate.cost <= queue[0][0]):
            position, approach = _relative_grasp(scene, entity, candidate)
            similar = [
                np.linalg.norm(position - failed_position) < SIMILAR_DISTANCE_M
                and approach @ failed_approach > SIMILAR_COSINE
                for failed_position, failed_approach in failures
            ]
            for spot in spots:
                cost = candidate.cost + REPEAT_COST * sum(map(bool, similar)) + spot.cost
                heappush(queue, (cost, next(number), 0, candidate, spot))
            candidate = next(candidates, None)
            continue
        cost, _, stage, grasp, spot = heappop(queue)
        if stage == 3 or reach.checks > MAX_REACH_CHECKS:
            return grasp, spot
        pose = spot.position + spot.rotation @ (grasp.position - origin), spot.rotation @ grasp.rotation
        if stage == 0:
            cost += CROWDING_COST * obstacles.count_contacts(*pose)
        elif stage == 1:
            if grasp not in flips:
                rotation, strain = reach.easier(grasp.position, grasp.rotation, grasps.OPEN_WIDTH_M)
                flips[grasp] = replace(grasp, rotation=rotation), strain
            grasp, strain = flips[grasp]
            cost += strain
        else:
            strain = reach.cost(*pose, grasp.width)
            if spot.outward is not None:  # the gripper also has to reach the pose in front of the spot
                before = pose[0] + spot.outward * spot.threshold + (0.0, 0.0, spot.lift)
                strain = max(strain, reach.cost(before, pose[1], grasp.width))
            cost += strain
        heappush(queue, (cost, next(number), stage + 1, grasp, spot))
    return None


def _grasp_and_lift(scene: SceneState, entity: EntityIndex, grasp: Grasp) -> Motion:
    """Grasp an object and lift it slightly, out from under an overhang."""
    here, _ = scene.gripper_pose()
    rotation = grasp.rotation
    side = _side_offset(scene, entity, grasp)
    before = grasp.position + side - rotation[:, 2] * PREGRASP_M
    clearance = scene.highest_between(here[:2], before[:2], entity) + CARRY_CLEARANCE_M
    yield from motion.travel(scene, before, rotation, motion.OPEN, clearance=max(before[2], clearance))
    if side.any():
        over = _position_above(scene, entity, grasp)
        yield from motion.move(scene, over + side, rotation, motion.OPEN, steps=30, near=0.01)
        yield from motion.move(scene, over, rotation, motion.OPEN, steps=30, near=0.005)
    yield from motion.move(scene, grasp.position, rotation, motion.OPEN, steps=30, near=0.005)
    if np.linalg.norm(scene.gripper_pose()[0] - grasp.position) > MAX_GRASP_ERROR_M:
        return False
    yield from motion.grip(scene, motion.CLOSED, steps=9)
    for _ in range(EXTRA_CLOSING_STEPS):
        if scene.fingers.count(entity) == 2:
            yield from motion.grip(scene, motion.CLOSED, steps=2)
            break
        yield from motion.grip(scene, motion.CLOSED, steps=1)
    aside = _offset_from_under_overhang(scene, entity)
    if not aside.any():
        aside = side
    if aside.any():
        here, _ = scene.gripper_pose()
        yield from motion.move(scene, here + (0.0, 0.0, 0.02), rotation, motion.CLOSED, steps=8, near=0.01)
        yield from motion.move(
            scene, here + aside + (0.0, 0.0, 0.02), rotation, motion.CLOSED, steps=30, near=0.01
        )
    others = [other for other in scene.movable_objects if other is not entity]
    start, lying = scene.pose(entity)[0][2], [scene.pose(other)[0][2] for other in others]
    here, _ = scene.gripper_pose()
    yield from motion.move(scene, here + (0.0, 0.0, 0.07), rotation, motion.CLOSED, steps=16, near=0.02)
    if any(  # another object, which was lower, was lifted as well
        height < start and scene.pose(other)[0][2] - height > MIN_LIFT_M / 2
        for other, height in zip(others, lying, strict=True)
    ):
        yield from motion.move(scene, here, rotation, motion.CLOSED, steps=16, near=0.01)
        return False
    return bool(scene.pose(entity)[0][2] - start > MIN_LIFT_M)


def _side_offset(scene: SceneState, entity: EntityIndex, grasp: Grasp) -> np.ndarray:
    """Return the shortest horizontal offset (3,) at which the gripper can descend beside an overhang.

    Return zero if there is no overhang above the grasp, or no free offset.
    """
    obstacles = Obstacles(scene, scene.solid_geoms - entity.geoms)
    over, rotation = _position_above(scene, entity, grasp), grasp.rotation
    blocked, wrist_blocked = (
        obstacles.count_contacts(over, rotation, part)
        for part in (grasps.OPEN_GRIPPER, grasps.GRIPPER_AND_WRIST)
    )
    if not blocked or wrist_blocked:
        return np.zeros(3)
    ways = (length * way for length in SIDE_APPROACHES_M for way in motion.LEVEL_DIRECTIONS)
    free = (way for way in ways if not obstacles.count_contacts(over + way, rotation))
    return np.asarray(next(free, np.zeros(3)))


def _position_above(scene: SceneState, entity: EntityIndex, grasp: Grasp) -> np.ndarray:
    """Return the position (3,) on the axis of a grasp at which the object just fits below the fingers."""
    approach = grasp.rotation[:, 2]
    tips = float((grasp.position + approach * grasps.FINGERTIP_M)[2])
    back = max(0.0, float(scene.box(entity).high[2]) + FINGERTIP_GAP_M - tips) / max(-float(approach[2]), 0.5)
    return np.asarray(grasp.position - approach * back)


def _offset_from_under_overhang(scene: SceneState, entity: EntityIndex) -> np.ndarray:
    """Return the shortest horizontal offset (3,) out from under an overhang, or zero."""
    mine = scene.box(entity)
    boxes = (scene.box(geom) for geom in scene.solid_geoms - entity.geoms)
    over = [
        box
        for box in boxes
        if box.low[2] > mine.high[2]
        and np.all(
            (box.low < mine.high + OVERHANG_MARGIN_M)[:2] & (box.high > mine.low - OVERHANG_MARGIN_M)[:2]
        )
    ]
    if not over:
        return np.zeros(3)
    low, high = np.min([box.low for box in over], axis=0), np.max([box.high for box in over], axis=0)
    ways = [(axis, high[axis] + OVERHANG_MARGIN_M - mine.low[axis]) for axis in (0, 1)]
    ways += [(axis, low[axis] - OVERHANG_MARGIN_M - mine.high[axis]) for axis in (0, 1)]
    axis, shift = min(ways, key=lambda way: abs(way[1]))
    aside = np.zeros(3)
    aside[axis] = shift
    return aside


def slide(scene: SceneState, entity: EntityIndex, target: np.ndarray, near: float = 0.012) -> Motion:
    """Slide a flat object across the table with the fingers until its origin is close to ``target`` (2,)."""
    obstacles = Obstacles(scene, scene.solid_geoms - entity.geoms)
    above = scene.box(entity).centre + (0.0, 0.0, 0.02)
    rotations = [
        motion.easier_flip(scene, motion.facing(motion.DOWN, axis)) for axis in (np.eye(3)[1], np.eye(3)[0])
    ]
    rotation = min(rotations, key=lambda candidate: obstacles.count_contacts(above, candidate))
    for _ in range(3):
        origin, _ = scene.pose(entity)
        if np.linalg.norm(target - origin[:2]) < near:
            break
        box = scene.box(entity)
        ahead = (target - origin[:2]) / np.linalg.norm(target - origin[:2])
        middle = box.centre[:2] + ahead * min(0.02, 0.2 * float(box.size[:2].min()))
        pressing = max(box.low[2] + 0.012, box.high[2] - PRESS_DEPTH_M)
        start = np.append(middle, pressing + 0.002)
        yield from motion.travel(
            scene, start + (0.0, 0.0, PREGRASP_M), rotation, motion.CLOSED, clearance=box.high[2] + PREGRASP_M
        )
        yield from motion.move(scene, start, rotation, motion.CLOSED, steps=30, near=0.006)
        pressed = scene.gripper_pose()[0] - origin
        for _ in range(70):
            origin, _ = scene.pose(entity)
            remaining = target - origin[:2]
            if (
                np.linalg.norm(remaining) < 0.008
                or np.linalg.norm(scene.gripper_pose()[0] - origin - pressed) > 0.05
            ):
                break
            here, _ = scene.gripper_pose()
            step = remaining / np.linalg.norm(remaining) * min(0.03, np.linalg.norm(remaining) + 0.008)
            goal = np.array([here[0] + step[0], here[1] + step[1], pressing])
            yield from motion.move(scene, goal, rotation, motion.CLOSED, steps=1, near=0.0)
        here, _ = scene.gripper_pose()
        yield from motion.move(scene, here + (0.0, 0.0, 0.1), rotation, motion.CLOSED, steps=12, near=0.02)
    return True
