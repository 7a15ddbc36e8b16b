"""Grasps for a two-finger gripper, derived from an object's shape rather than its name.

Every thin collision geom is a candidate: the body of a can, the rim of a bowl, the handle of a pan. The
fingers and the palm need free space beside the piece and during the approach, and the arm must be able to reach the
pose: `Reach` solves inverse kinematics on a copy of the simulation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import product

import numpy as np

from assay.policies.oracle import motion
from assay.policies.oracle.scene_state import SceneState, contacts
from assay.sim.bare_mujoco import mujoco
from assay.sim.compile import EntityIndex, geom_boxes
from assay.sim.controller import ARM
from assay.support.jit import machine_code

MAX_GRASP_WIDTH_M = 0.074
"""Maximum width of a graspable piece, in metres; the gripper opens to 0.08 m."""
FINGERTIP_M = 0.0115
"""Length of a finger beyond the grip site, in metres."""
MAX_FINGER_DEPTH_M = 0.022
"""Maximum depth to which the fingers enclose a piece, in metres; the palm begins 0.03 m behind the grip site."""
CLEARANCE_M = 0.003
"""Required free space around the gripper, in metres."""
APPROACH_TILTS = tuple(np.radians([-50.0, -30.0, 0.0, 30.0, 50.0]))
"""Approach angles from the vertical, in radians, for objects without free space above them."""
CONTACT_COST = 0.02
"""Cost per gripper point that touches an obstacle during a grasp."""
EASY_REACH_M = 0.7
"""Distance from the robot's base, in metres, up to which the arm can easily reach straight down."""
MAX_SIDE_OFFSET_M = 0.012
"""Maximum sideways offset of the open gripper from a piece, in metres; closing the fingers centres the piece."""
MIN_OFFSET_WIDTH_M = 0.02
"""Minimum width, in metres, of a piece that the gripper may grasp off-centre; rims are narrower."""
MAX_AXIS_SINE = 0.35
"""Maximum sine of the angle between a piece's axis and the horizontal for a grasp across this axis from above."""
MAX_LEANING_SINE = 0.8
"""Maximum sine of the angle between a piece's axis and the horizontal for a grasp tilted by this angle."""


@dataclass(frozen=True, slots=True, eq=False)
class Grasp:
    """A gripper pose in which the gripper can close around an object."""

    position: np.ndarray
    """Position of the grip site, in metres, shape (3,)."""
    rotation: np.ndarray
    """Rotation of the grip site, shape (3, 3): the fingers open along x, and z points away from the gripper."""
    width: float
    """Width of the object between the fingers plus twice the sideways offset, in metres."""
    cost: float
    """Cost of the grasp; smaller is better."""


@dataclass(frozen=True, slots=True, eq=False)
class GraspablePiece:
    """Bounding box of a piece that may be grasped."""

    middle: np.ndarray
    """Centre of the box, in metres, shape (3,)."""
    rotation: np.ndarray
    """Rotation of the box, shape (3, 3)."""
    half: np.ndarray
    """Half-lengths of the box, in metres, shape (3,)."""
    round: bool
    """Whether the width of the piece is the same in all directions."""


def _grid(*axes: Iterable[float]) -> np.ndarray:
    return np.stack(np.meshgrid(*map(np.array, axes), indexing="ij"), axis=-1).reshape(-1, 3)


_FINGER = _grid((0.041, 0.049, 0.056), (-0.011, 0.0, 0.011), np.arange(FINGERTIP_M, -0.05, -0.008))
PALM = _grid(np.linspace(-0.1, 0.1, 13), (-0.034, 0.0, 0.034), np.arange(-0.033, -0.19, -0.012))
OPEN_GRIPPER = np.concatenate([_FINGER, _FINGER * (-1.0, 1.0, 1.0), PALM])
"""Points (p, 3) in the frame of the grip site that sample the open gripper and the volume behind it."""
_WRIST = _grid(np.linspace(-0.045, 0.045, 5), np.linspace(-0.045, 0.045, 5), np.arange(-0.105, -0.19, -0.012))
GRIPPER_AND_WRIST = np.concatenate([OPEN_GRIPPER[OPEN_GRIPPER[:, 2] > -0.1], _WRIST])
"""Points (p, 3) in the frame of the grip site that sample the wrist and gripper, up to 0.1 m behind the site."""


class Obstacles:
    """Oriented bounding boxes of collision geoms, for checking free space."""

    def __init__(self, scene: SceneState, geoms: Iterable[int]) -> None:
        self.boxes = geom_boxes(scene.model, scene.data, geoms)
        wider = replace(self.boxes, half=self.boxes.half + CLEARANCE_M)
        self._arrays = wider.centre, wider.axes, wider.half, *wider.bounds

    def count_contacts(
        self, position: np.ndarray, rotation: np.ndarray, part: np.ndarray = OPEN_GRIPPER
    ) -> int:
        """Return the number of gripper points (p, 3) inside any box, or closer to a box than the clearance."""
        return int(_count_inside(np.asarray(part @ rotation.T + position), *self._arrays))


@machine_code
def _count_inside(points, centres, rotations, halves, low, high):  # type: ignore[no-untyped-def]
    """Return the number of points (p, 3) inside any of n boxes with corners low (n, 3) and high (n, 3)."""
    least, most = points[0].copy(), points[0].copy()
    for p in range(1, len(points)):
        for k in range(3):
            least[k] = min(least[k], points[p, k])
            most[k] = max(most[k], points[p, k])
    near = np.empty(len(centres), np.intp)
    boxes = 0
    for n in range(len(centres)):
        apart = False
        for k in range(3):
            if low[n, k] >= most[k] or high[n, k] <= least[k]:
                apart = True
        if not apart:
            near[boxes] = n
            boxes += 1
    count = 0
    for p in range(len(points)):
        for n in near[:boxes]:
            inside = True
            for axis in range(3):
                along = 0.0
                for k in range(3):
                    along += (points[p, k] - centres[n, k]) * rotations[n, k, axis]
                if abs(along) >= halves[n, axis]:
                    inside = False
                    break
            if inside:
                count += 1
                break
    return count


def ranked_grasps(scene: SceneState, entity: EntityIndex) -> Iterator[Grasp]:
    """Yield grasps from above and tilted grasps, best first; gripper contacts increase the cost.

    The open gripper and its closing fingers need free space. Contacts are computed lazily, in order of cost.
    """
    obstacles = Obstacles(scene, scene.solid_geoms)
    weighed: list[tuple[float, int, Grasp]] = []
    for number, grasp in enumerate(all_grasps(scene, entity)):
        while weighed and weighed[0][0] <= grasp.cost:
            yield heappop(weighed)[2]
        inner = np.arange(grasp.width / 2 + CLEARANCE_M + 0.004, 0.04, 0.006)
        tips = (FINGERTIP_M, FINGERTIP_M - 0.008, FINGERTIP_M - 0.016)
        closing = _grid(np.concatenate([inner, -inner]), (-0.006, 0.006), tips)
        pose = grasp.position, grasp.rotation
        cost = grasp.cost + CONTACT_COST * (
            obstacles.count_contacts(*pose) + obstacles.count_contacts(*pose, closing)
        )
        heappush(weighed, (cost, number, replace(grasp, cost=cost)))
    while weighed:
        yield heappop(weighed)[2]


def all_grasps(scene: SceneState, entity: EntityIndex) -> list[Grasp]:
    """Return all grasps of an entity's geoms and of the entity as a whole, regardless of obstacles, best first."""
    pieces = [geom_piece(scene, geom) for geom in entity.geoms]
    origin, frame = scene.pose(entity)
    middles = np.array([(piece.middle - origin) @ frame for piece in pieces])
    reach = np.array([np.abs(frame.T @ piece.rotation) @ piece.half for piece in pieces])
    low, high = (middles - reach).min(axis=0), (middles + reach).max(axis=0)
    pieces.append(GraspablePiece(origin + frame @ (low + high) / 2, frame, (high - low) / 2, False))
    centre = scene.data.xipos[entity.body]
    grasps = [grasp for piece in pieces for grasp in grasps_of_piece(scene, piece, centre, APPROACH_TILTS)]
    return sorted(grasps, key=lambda grasp: grasp.cost)


def geom_piece(scene: SceneState, geom: int) -> GraspablePiece:
    """Return the graspable piece formed by one collision geom."""
    rotation = scene.data.geom_xmat[geom].reshape(3, 3)
    middle = scene.data.geom_xpos[geom] + rotation @ scene.model.geom_aabb[geom, :3]
    round_ = scene.model.geom_type[geom] in (mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_CAPSULE)
    return GraspablePiece(middle, rotation, scene.model.geom_aabb[geom, 3:], round_)


def grasps_of_piece(
    scene: SceneState, piece: GraspablePiece, centre: np.ndarray, tilts: Iterable[float] = (0.0,)
) -> Iterator[Grasp]:
    """Yield the grasps of one piece, across each of its axes that is horizontal and short enough.

    ``centre`` (3,): centre of mass of the object; ``tilts``: approach angles from the vertical, in radians.
    """
    middle, rotation, half = piece.middle, piece.rotation, piece.half
    _, current = scene.gripper_pose()
    level = [k for k in range(3) if abs(rotation[2, k]) < MAX_LEANING_SINE]
    axes, widths = [rotation[:, k] for k in level], [2 * half[k] for k in level]
    if piece.round:
        axes = [np.array([np.cos(a), np.sin(a), 0.0]) for a in np.arange(0, np.pi, np.pi / 8)]
        widths = [2 * float(np.sort(half)[0])] * len(axes)
    for axis, width in zip(axes, widths, strict=True):
        if width > MAX_GRASP_WIDTH_M:
            continue
        leans = abs(axis[2]) >= MAX_AXIS_SINE
        across = axis if leans else np.array([axis[0], axis[1], 0.0]) / np.hypot(axis[0], axis[1])
        straight = motion.facing(motion.DOWN - across * (motion.DOWN @ across), across)[:, 2]
        along = motion.cross(straight, across)
        spare = max(0.0, float(np.abs(along @ rotation) @ half) - 0.012)
        offsets = (-0.6 * spare, 0.0, 0.6 * spare) if spare > 0.01 else (0.0,)
        for tilt, offset in product((0.0,) if leans else tilts, offsets):
            approach = straight * np.cos(tilt) + along * np.sin(tilt)
            if tilt:
                slant = np.abs(approach @ rotation)
                depth = float((half / np.maximum(slant, 1e-6)).min())
            else:
                depth = float(np.abs(approach @ rotation) @ half)
            rotation_there = motion.facing(approach, across)
            twist = np.arccos(np.clip(abs(current[:, 0] @ rotation_there[:, 0]), 0.0, 1.0))
            shallow = max(0.0, 0.01 - depth) * 4
            deep = min(MAX_FINGER_DEPTH_M - depth, 0.3 * depth)
            room = min(MAX_SIDE_OFFSET_M, MAX_GRASP_WIDTH_M / 2 - width / 2)
            asides = (
                (0.0, room, -room)
                if not tilt and not offset and width > MIN_OFFSET_WIDTH_M and room > CLEARANCE_M
                else (0.0,)
            )
            for back, aside in product({deep, min(deep, depth - FINGERTIP_M - CLEARANCE_M - 0.001)}, asides):
                position = middle + along * offset + approach * back + across * aside
                away = float(np.linalg.norm(position[:2] - centre[:2]))
                far = max(0.0, float(np.linalg.norm(position[:2] - scene.base)) - EASY_REACH_M)
                cost = 2 * far + 1.5 * away + 0.02 * twist + shallow + 0.02 * abs(tilt) + 0.3 * (deep - back)
                cost += 3 * abs(aside) + (0.02 * float(np.arcsin(abs(axis[2]))) if leans else 0.0)
                yield Grasp(position, rotation_there, float(width + 2 * abs(aside)), cost)


IK_ITERATIONS = 40
"""Maximum number of inverse-kinematics iterations."""
IK_DAMPING = 1e-3
MAX_JOINT_STEP_RAD = 0.3
"""Maximum joint change per iteration, in radians."""
IK_TOLERANCE = np.array([0.004, 0.03])
"""Position and rotation errors, in metres and radians, at which the iteration ends."""
MAX_IK_ERROR = np.array([0.015, 0.12])
"""Maximum position and rotation errors, in metres and radians, of a pose that counts as reachable."""
MAX_PENETRATION_M = 0.004
"""Maximum penetration of the robot into other geoms, in metres."""
OPEN_WIDTH_M = 0.079
"""Distance between the fingers of the open gripper, in metres."""
CLOSED_WIDTH_M = 0.0
"""Distance between the fingers of the closed gripper, in metres."""
OUT_OF_REACH_COST = 1.0
"""Cost of a pose that the arm cannot reach."""
JOINT_MARGIN_RAD = 0.15
"""Desired distance of each joint from its limits, in radians."""
JOINT_LIMIT_COST = 0.4
"""Cost of a joint at its limit."""
COLLISION_COST = 0.3
"""Cost of a pose in which the arm collides."""


class Reach:
    """Evaluates the cost of gripper poses by inverse kinematics on a copy of the simulation."""

    def __init__(self, scene: SceneState, held: EntityIndex) -> None:
        self._scene = scene
        self._held = held
        self._data = mujoco.MjData(scene.model)
        self._rest = scene.data.qpos[:ARM].copy()
        self.checks = 0
        """Number of poses evaluated so far."""

    def cost(self, position: np.ndarray, rotation: np.ndarray, width: float) -> float:
        """Return the cost of a pose: 0, or more if the arm cannot reach it or touches anything but the held object.

        ``width``: distance between the fingers, in metres.
        """
        self.checks += 1
        errors = self._solve(position, rotation, width)
        if np.any(errors > MAX_IK_ERROR):
            return OUT_OF_REACH_COST + float(errors[0])
        low, high = self._scene.model.jnt_range[:ARM].T
        arm = self._data.qpos[:ARM]
        spare = float(np.minimum(arm - low, high - arm).min())
        strain = JOINT_LIMIT_COST * max(0.0, 1.0 - spare / JOINT_MARGIN_RAD)
        mujoco.mj_collision(self._scene.model, self._data)
        distances = self._data.contact.dist
        collides = any(
            distances[index] < -MAX_PENETRATION_M and other not in self._held.geoms
            for index, _, other in contacts(self._data, self._scene.robot_geoms)
        )
        return strain + (COLLISION_COST if collides else 0.0)

    def easier(self, position: np.ndarray, rotation: np.ndarray, width: float) -> tuple[np.ndarray, float]:
        """Return the rotation (3, 3), with the fingers swapped if that costs less, and the cost of the pose."""
        best = first = motion.easier_flip(self._scene, rotation)
        least = np.inf
        for candidate in (first, first @ motion.HALF_TURN):
            cost = self.cost(position, candidate, width)
            if cost < least:
                best, least = candidate, cost
            if not cost:
                break
        return best, least

    def _solve(self, position: np.ndarray, rotation: np.ndarray, width: float) -> np.ndarray:
        """Move the copy's gripper as close to a pose as possible; return the errors in metres and radians."""
        model, data = self._scene.model, self._data
        data.qpos[:] = self._scene.data.qpos
        data.qpos[ARM : ARM + 2] = width / 2, -width / 2
        data.mocap_pos[:], data.mocap_quat[:] = self._scene.data.mocap_pos, self._scene.data.mocap_quat
        site = self._scene.site
        low, high = model.jnt_range[:ARM].T
        jacobian = np.zeros((6, model.nv))
        errors = np.full(2, np.inf)
        for _ in range(IK_ITERATIONS):
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            way = np.concatenate(
                [
                    position - data.site_xpos[site],
                    motion.rotation_between(data.site_xmat[site].reshape(3, 3), rotation),
                ]
            )
            errors = np.array([np.linalg.norm(way[:3]), np.linalg.norm(way[3:])])
            if np.all(errors < IK_TOLERANCE):
                break
            mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], site)
            arm = jacobian[:, :ARM]
            inverse = arm.T @ np.linalg.inv(arm @ arm.T + IK_DAMPING * np.eye(6))
            ease = 0.1 * (self._rest - data.qpos[:ARM])
            step = inverse @ way + ease - inverse @ (arm @ ease)
            step *= min(1.0, MAX_JOINT_STEP_RAD / float(np.abs(step).max()))
            data.qpos[:ARM] = np.clip(data.qpos[:ARM] + step, low, high)
        return errors
