"""Place a scene's things in its regions by a seed, and let them come to rest.

Every entity has a random stream of its own, so adding or removing one thing does not move the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import cos, sin

import mujoco
import numpy as np

from assay.errors import PlacementError
from assay.sim.categories import OPENING, SWITCHING, resting_pose
from assay.sim.compile import CompiledScene, Extent, RegionIndex, bounding_box
from assay.sim.layout import HOME, HOME_FINGERS, LAYOUTS
from assay.streams import stream
from assay.tasks.scene import Atom, Predicate, Rectangle, Region

ATTEMPTS = 20
"""How often a whole layout is tried."""
TRIES = 500
"""How often one thing is tried within a layout."""
CLEARANCE = 0.002
"""Gap between an object and what is below it before it settles, metres."""
SETTLING = 2.0
"""Most simulated seconds that things get to come to rest."""
AT_REST = 5e-3
"""Speed below which things rest, metres or radians per second."""
EXPLODED = 50.0
"""Speed that nothing reaches unless things were put into each other."""
DEEPEST = 2e-3
"""Deepest interpenetration that a settled layout may have, metres."""
FARTHEST = 0.06
"""Farthest that a thing may move while it settles, metres."""
FAR_ABOVE = 100.0
"""Where things wait that are not placed yet: out of the way of anything that looks down, metres."""
ARM_DOFS = 9

_SOLID = np.array([1, 0, 0, 0, 0, 0], dtype=np.uint8)
_SOLID_OR_DRAWN = np.array([1, 1, 0, 0, 0, 0], dtype=np.uint8)

_MECHANISMS = {
    Predicate.OPEN: (OPENING, True),
    Predicate.CLOSE: (OPENING, False),
    Predicate.TURN_ON: (SWITCHING, True),
    Predicate.TURN_OFF: (SWITCHING, False),
}


@dataclass(slots=True)
class Layout:
    """Where things are put before they settle."""

    poses: dict[str, np.ndarray] = field(default_factory=dict)
    """Position and quaternion (w, x, y, z) of each entity placed so far, (7,)."""
    joints: dict[int, float] = field(default_factory=dict)
    """Values of drawers', doors' and knobs' joints, by joint id."""


def sample(compiled: CompiledScene, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A settled state (1 + nq + nv,) and the fixtures' poses (fixtures, 7), decided by the seed.

    Raises PlacementError if no attempt leaves everything at rest and apart.
    """
    reason = ""
    for attempt in range(ATTEMPTS):
        try:
            layout = _Sampler(compiled, seed, attempt).layout()
            return settle(compiled, layout)
        except PlacementError as error:
            reason = str(error)
    raise PlacementError(f"no valid layout in {ATTEMPTS} attempts with seed {seed}; the last one: {reason}")


def central_fixtures(compiled: CompiledScene) -> np.ndarray:
    """Every fixture in the middle of its region, (fixtures, 7)."""
    sampler = _Sampler(compiled, seed=None, attempt=0)
    poses = []
    for fixture in compiled.scene.fixtures:
        pose = sampler.workspace_pose(fixture.name)
        poses.append(_default_pose(compiled, fixture.name) if pose is None else pose)
    return np.array(poses).reshape(-1, 7)


def settle(compiled: CompiledScene, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Let a layout come to rest with the arm held still; what moves too far or sticks together is refused."""
    model = compiled.model
    data = mujoco.MjData(model)
    fixtures = _apply(compiled, layout, data)
    data.qpos[: len(HOME)] = HOME
    data.qpos[len(HOME) : ARM_DOFS] = HOME_FINGERS
    arm = data.qpos[:ARM_DOFS].copy()
    for _ in range(round(SETTLING / 0.05)):
        for _ in range(25):
            mujoco.mj_step(model, data)
            data.qpos[:ARM_DOFS] = arm
            data.qvel[:ARM_DOFS] = 0.0
        speed = np.abs(data.qvel).max()
        if not speed < EXPLODED:
            raise PlacementError("the scene flies apart")
        if speed < AT_REST:
            break
    data.qvel[:] = 0.0
    mujoco.mj_forward(model, data)
    _refuse_bad_rest(compiled, layout, data)
    return np.concatenate([[0.0], data.qpos, data.qvel]), fixtures


def _apply(compiled: CompiledScene, layout: Layout, data: mujoco.MjData) -> np.ndarray:
    """Write a layout into the model and ``data``; returns the fixtures' poses (fixtures, 7)."""
    model = compiled.model
    for name, pose in layout.poses.items():
        entity = compiled.entities[name]
        if entity.movable:
            start = int(model.jnt_qposadr[entity.joints[-1]])
            data.qpos[start : start + 7] = pose
        else:
            model.body_pos[entity.body], model.body_quat[entity.body] = pose[:3], pose[3:]
    for joint, value in layout.joints.items():
        data.qpos[model.jnt_qposadr[joint]] = value
    bodies = [compiled.entities[each.name].body for each in compiled.scene.fixtures]
    return np.hstack([model.body_pos[bodies], model.body_quat[bodies]])


def _refuse_bad_rest(compiled: CompiledScene, layout: Layout, data: mujoco.MjData) -> None:
    for contact in data.contact[: data.ncon]:
        if contact.dist < -DEEPEST:
            names = [compiled.model.body(compiled.model.geom_bodyid[g]).name for g in contact.geom]
            raise PlacementError(f"{names[0]} and {names[1]} interpenetrate by {-contact.dist * 1e3:.1f} mm")
    for name, pose in layout.poses.items():
        entity = compiled.entities[name]
        if entity.movable:
            moved = float(np.linalg.norm(data.xpos[entity.body] - pose[:3]))
            if moved > FARTHEST:
                raise PlacementError(f"{name} does not stay where it is put: it moves {moved * 100:.0f} cm")


class _Sampler:
    """Draws one layout. With no seed, everything is in the middle of its range."""

    def __init__(self, compiled: CompiledScene, seed: int | None, attempt: int) -> None:
        self._compiled = compiled
        self._scene = compiled.scene
        self._arena = LAYOUTS[compiled.scene.arena]
        self._extents: Mapping[str, Extent] = compiled.extents
        self._streams: dict[str, np.random.Generator] = {}
        self._seed = seed
        self._attempt = attempt
        self._layout = Layout()

    def layout(self) -> Layout:
        """Place everything that an initial relation places: the workspace's first, then what stands on it."""
        waiting = []
        for atom in self._scene.initial:
            if atom.predicate in _MECHANISMS:
                self._set_joints(atom)
            elif not self._place_on_workspace(atom):
                waiting.append(atom)
        while waiting:
            ready = [atom for atom in waiting if self._place_on_entity(atom)]
            if not ready:
                raise PlacementError(f"'{waiting[0]}' rests on something that is not placed")
            waiting = [atom for atom in waiting if atom not in ready]
        return self._layout

    def workspace_pose(self, name: str) -> np.ndarray | None:
        """Where the initial relations put an entity on the workspace, (7,), or None if they do not."""
        for atom in self._scene.initial:
            if atom.predicate is Predicate.ON and atom.arguments[0] == name:
                region = self._scene.region(atom.arguments[1])
                if region is not None and region.target == self._scene.arena.workspace:
                    return self._pose_in(name, region)
        return None

    def _uniform(self, name: str, low: float, high: float) -> float:
        """A number from the entity's stream; low may exceed high, as it may in LIBERO."""
        if self._seed is None:
            return (low + high) / 2
        if name not in self._streams:
            self._streams[name] = stream(self._seed, "layout", name, self._attempt)
        return low + (high - low) * float(self._streams[name].random())

    def _set_joints(self, atom: Atom) -> None:
        table, active = _MECHANISMS[atom.predicate]
        name = atom.arguments[0]
        region = self._compiled.regions.get(name)
        owner = region.parent if region is not None else name
        if owner is None or owner not in self._compiled.entities:
            return
        entity = self._compiled.entities[owner]
        mechanism = table.get(entity.category)
        if mechanism is None:
            return
        low, high = mechanism.active_range if active else mechanism.passive_range
        for joint in region.joints if region is not None else entity.inner_joints:
            self._layout.joints[joint] = self._uniform(owner, low, high)

    def _place_on_workspace(self, atom: Atom) -> bool:
        name, place = atom.arguments
        region = self._scene.region(place)
        if region is None or region.target != self._scene.arena.workspace:
            return False
        self._put(name, lambda: self._pose_in(name, region))
        return True

    def _place_on_entity(self, atom: Atom) -> bool:
        name, place = atom.arguments
        region = self._compiled.regions.get(place)
        support = region.parent if region is not None else place
        if support not in self._layout.poses:
            return False
        if region is None:
            self._put(name, lambda: self._pose_on(name, str(support)), apart=False)
        else:
            inside = atom.predicate in (Predicate.IN, Predicate.EXACT_IN)
            self._put(name, lambda: self._pose_at(name, region, inside=inside), apart=False)
        return True

    def _put(self, name: str, draw: Callable[[], np.ndarray], *, apart: bool = True) -> None:
        """Draw poses until one keeps apart from what is placed."""
        fixed = not self._compiled.entities[name].movable
        for _ in range(TRIES):
            pose = draw()
            if fixed or not apart or self._is_apart(name, pose):
                self._layout.poses[name] = pose
                return
        raise PlacementError(f"there is no room for {name}")

    def _is_apart(self, name: str, pose: np.ndarray) -> bool:
        mine = self._extents[name]
        for other, there in self._layout.poses.items():
            theirs = self._extents[other]
            near = np.linalg.norm(pose[:2] - there[:2]) <= theirs.radius + mine.radius
            if near and pose[2] - there[2] <= theirs.top - mine.bottom:
                return False
        return True

    def _pose_in(self, name: str, region: Region) -> np.ndarray:
        """A pose in a rectangle of the workspace."""
        entity, extent = self._compiled.entities[name], self._extents[name]
        rectangles = region.rectangles or (Rectangle(0.0, 0.0, 0.0, 0.0),)
        box = (
            rectangles[int(self._uniform(name, 0, len(rectangles)))] if len(rectangles) > 1 else rectangles[0]
        )
        margin = extent.radius if self._arena.inside and entity.movable else 0.0
        x = self._uniform(name, box.x_min + margin, box.x_max - margin)
        y = self._uniform(name, box.y_min + margin, box.y_max - margin)
        position = np.array(self._arena.offset) + (x, y, 0.0)
        if entity.movable:
            pose = np.concatenate([position, self._resting_quaternion(name)])
            return self._lowered(name, pose, ceiling=position[2] + 1.0)
        position[2] += self._arena.fixture_height - extent.bottom
        yaw = self._uniform(name, *(region.yaw or (0.0, 0.0)))
        return np.concatenate([position, _yaw(yaw)])

    def _pose_on(self, name: str, support: str) -> np.ndarray:
        """A pose on top of the middle of another object."""
        below = self._layout.poses[support]
        pose = np.concatenate([below[:3], self._resting_quaternion(name)])
        return self._lowered(name, pose, ceiling=below[2] + 1.0)

    def _pose_at(self, name: str, region: RegionIndex, *, inside: bool) -> np.ndarray:
        """A pose on or in a region that an entity brings along."""
        data = self._kinematics()
        half = np.abs(data.site_xmat[region.site].reshape(3, 3) @ region.half)
        centre = data.site_xpos[region.site]
        # LIBERO draws from the middle half of a region's box when something stands on it, and from its
        # centre when something is in it.
        spread = (0.0, 0.0) if inside else np.maximum(half[:2] / 2 - self._extents[name].radius, 0.0)
        x = centre[0] + self._uniform(name, -spread[0], spread[0])
        y = centre[1] + self._uniform(name, -spread[1], spread[1])
        pose = np.concatenate([(x, y, centre[2]), self._resting_quaternion(name)])
        return self._lowered(name, pose, ceiling=centre[2] + half[2] + (0.0 if inside else 0.02))

    def _kinematics(self) -> mujoco.MjData:
        """Data with everything placed so far where it is, and the rest far away."""
        model = self._compiled.model
        data = mujoco.MjData(model)
        for entity in self._compiled.entities.values():
            if entity.movable:
                data.qpos[model.jnt_qposadr[entity.joints[-1]] + 2] = FAR_ABOVE
        _apply(self._compiled, self._layout, data)
        mujoco.mj_kinematics(model, data)
        return data

    def _lowered(self, name: str, pose: np.ndarray, *, ceiling: float) -> np.ndarray:
        """The pose moved vertically until the thing is just above what is below it and ``ceiling``."""
        model, entity = self._compiled.model, self._compiled.entities[name]
        data = self._kinematics()
        start = int(model.jnt_qposadr[entity.joints[-1]])
        data.qpos[start : start + 7] = pose
        mujoco.mj_kinematics(model, data)
        low, high = bounding_box(model, data, entity.geoms)
        centre, half = (low + high)[:2] / 2, (high - low)[:2] / 2
        data.qpos[start + 2] = FAR_ABOVE
        mujoco.mj_kinematics(model, data)
        angles = np.arange(8) * np.pi / 4
        points = np.vstack([centre, centre + 0.9 * half * np.stack([np.cos(angles), np.sin(angles)], axis=1)])
        ground = max(_height_below(model, data, (x, y, ceiling)) for x, y in points)
        if ground == -np.inf:
            raise PlacementError(f"there is nothing below {name}")
        lowered = pose.copy()
        lowered[2] += ground + CLEARANCE - low[2]
        return lowered

    def _resting_quaternion(self, name: str) -> np.ndarray:
        pose = resting_pose(self._compiled.entities[name].category)
        turned = np.empty(4)
        mujoco.mju_mulQuat(turned, _yaw(self._uniform(name, *pose.yaw)), np.array(pose.tilt))
        return turned


def _height_below(model: mujoco.MjModel, data: mujoco.MjData, point: tuple[float, float, float]) -> float:
    """The height of the first solid thing straight below a point; minus infinity if there is none."""
    hit = np.zeros(1, dtype=np.int32)
    down = np.array([0.0, 0.0, -1.0])
    # LIBERO's floor is of the drawn group, though it collides.
    for groups in (_SOLID, _SOLID_OR_DRAWN):
        distance = mujoco.mj_ray(model, data, np.array(point), down, groups, 1, -1, hit)
        if distance >= 0:
            return point[2] - float(distance)
    return -np.inf


def _yaw(angle: float) -> np.ndarray:
    return np.array([cos(angle / 2), 0.0, 0.0, sin(angle / 2)])


def _default_pose(compiled: CompiledScene, name: str) -> np.ndarray:
    body = compiled.entities[name].body
    return np.concatenate([compiled.model.body_pos[body], compiled.model.body_quat[body]])
