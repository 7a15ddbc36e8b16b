"""Sample initial layouts of a scene from its regions and a seed.

Every entity has a separate random stream, so that adding an object to a scene changes the position of another
object only if the two collide. Objects are placed one after another in a scratch copy of the scene
(`PlacementScene`), lowered until they are just above their support, and then simulated until they are at rest.
"""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, field
from math import cos, sin

import mujoco
import numpy as np

from assay.errors import PlacementError
from assay.sim.categories import MECHANISMS, Pose, resting_pose
from assay.sim.compile import CompiledScene, EntityIndex, bounding_box, put_fixtures
from assay.sim.compose import GRIPPER, MOUNT, ROBOT
from assay.sim.controller import ARM
from assay.sim.layout import HOME_FINGERS
from assay.support.streams import stream
from assay.tasks.scene import INSIDE, UPON, Atom, Rectangle, Region

CLEARANCE = 0.002
"""Gap between an object and its support before it settles, in metres."""
LIFT_STEP = 0.004
"""Increment, in metres, by which an object is raised until it no longer overlaps anything."""
MAX_LIFT = 0.2
"""Maximum height by which an object is raised, in metres."""
MAX_SETTLING_STEPS = 40
"""Maximum number of control steps (50 ms each) in which objects must come to rest."""
REST_SPEED = 5e-3
"""Speed below which objects count as at rest, in metres or radians per second."""
EXPLOSION_SPEED = 50.0
"""Speed that objects reach only if they initially interpenetrate, in metres or radians per second."""
MAX_OVERLAP = 2e-3
"""Largest interpenetration in a settled layout, in metres."""
MAX_SETTLING_MOVE = 0.03
"""Largest displacement of an object while it settles, in metres."""
MAX_SETTLING_TILT = np.radians(12.0)
"""Largest tilt of an object while it settles, in radians."""

DIVERGED = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)
"""MuJoCo's warnings about an unstable simulation."""

_PARKING_HEIGHT = 100.0
"""Height at which entities are parked until they are placed, in metres; downward rays start below it."""
_ROBOT_JOINTS = ARM + 2
_HIDDEN_GROUP = 4
"""Geom group of the robot, which downward rays ignore, so that objects are placed on the table and not on the robot."""
_SUBSTEPS = 25
_PARKED = np.array([0.0, 0.0, _PARKING_HEIGHT, 0.0, 0.0, 0.0, 0.0])
_SOLID = np.array([1, 0, 0, 0, 0, 0], dtype=np.uint8)
_SOLID_OR_DRAWN = np.array([1, 1, 0, 0, 0, 0], dtype=np.uint8)
ATTEMPTS = 40
"""Maximum number of attempts at a layout; after each one, an entity that made the layout invalid is resampled."""
LAST_ENTITY_ATTEMPTS = 20
"""Number of initial attempts after which the last of the entities that made the layout invalid is resampled; after
later attempts, the one of them that has been resampled least often.
"""
OBJECT_ATTEMPTS = 100
"""Maximum number of poses sampled for an object until one without collisions is found."""

CEILING = 0.15
"""Height above a surface at which downward rays start, in metres; below the arm in its initial pose."""

WORKSPACE_TOLERANCE = 0.06
"""Maximum depth of an object below the workspace's nominal height, in metres; deeper objects are off the workspace."""


class RejectedLayoutError(PlacementError):
    """Raised when a layout is invalid; names the entities to resample."""

    def __init__(self, reason: str, *blamed: str) -> None:
        super().__init__(reason)
        self.blamed = blamed


class PlacementScene:
    """A scratch scene in which entities are placed one by one.

    It modifies the model passed to it: fixtures are moved, and the robot is hidden from downward rays.
    """

    def __init__(self, compiled: CompiledScene, model: mujoco.MjModel) -> None:
        self._compiled = compiled
        self.model = model
        self.data = mujoco.MjData(self.model)
        self.data.qpos[: len(compiled.home)] = compiled.home
        self.data.qpos[len(compiled.home) : _ROBOT_JOINTS] = HOME_FINGERS
        self._owner = {geom: name for name, entity in compiled.entities.items() for geom in entity.geoms}
        self.poses: dict[str, np.ndarray] = {}
        """Poses of the placed entities, each (7,): position and quaternion (w, x, y, z)."""
        self._fixtures = compiled.fixture_poses.copy()
        self._fixtures[:, 2] += _PARKING_HEIGHT
        put_fixtures(self.model, compiled, self._fixtures)
        self._address: dict[str, int] = {}
        """Address in qpos of each movable entity's pose."""
        self._movables: dict[str, EntityIndex] = {}
        """The movable entities that have been placed."""
        for index, entity in enumerate(compiled.entities.values()):
            if entity.movable:
                # Side by side, because overlapping objects would cost contacts in every collision check.
                start = self._address[entity.name] = int(model.jnt_qposadr[entity.joints[-1]])
                self.data.qpos[start], self.data.qpos[start + 2] = 5.0 * (index + 1), _PARKING_HEIGHT
        names = (self.model.body(body).name for body in range(self.model.nbody))
        is_robot = np.array([name.startswith((ROBOT, GRIPPER, MOUNT)) for name in names])
        self.model.geom_group[is_robot[self.model.geom_bodyid]] = _HIDDEN_GROUP
        mujoco.mj_kinematics(self.model, self.data)

    def place(self, name: str, pose: np.ndarray) -> None:
        """Place an entity at a pose (7,)."""
        entity = self._compiled.entities[name]
        self._set(entity, pose)
        self.poses[name] = pose
        if entity.movable:
            self._movables[name] = entity
        mujoco.mj_kinematics(self.model, self.data)

    def set_joint(self, joint: int, value: float) -> None:
        """Set the joint value of a drawer, door or knob."""
        self.data.qpos[self.model.jnt_qposadr[joint]] = value
        mujoco.mj_kinematics(self.model, self.data)

    def lower(self, name: str, pose: np.ndarray, *, ceiling: float, alone: bool) -> np.ndarray:
        """Return the pose (7,), shifted vertically so that the object is just above the highest support below
        ``ceiling`` (a height in metres).

        ``alone``: ignore other movable objects, and do not stack the object on a fixture. Raises RejectedLayoutError.
        """
        entity = self._compiled.entities[name]
        others = [other for other in self._movables.values() if alone and other.name != name]
        for other in others:
            self._set(other, self.poses[other.name] + _PARKED)
        try:
            over = self._over_ground(entity, pose, ceiling)
            # Rays miss small features of a support, so an object may have to be raised until it overlaps with nothing.
            overlaps: set[str] = set()
            for lift in np.arange(0.0, (0.0 if alone else MAX_LIFT) + LIFT_STEP, LIFT_STEP):
                higher = over.copy()
                higher[2] += lift
                overlaps = self._overlaps(entity, higher)
                if not overlaps:
                    return higher
            blamed = overlaps if alone else ()
            raise RejectedLayoutError(f"there is no room for {name}", name, *blamed)
        finally:
            for other in others:
                self._set(other, self.poses[other.name])
            self._set(entity, pose + _PARKED)
            mujoco.mj_kinematics(self.model, self.data)

    def try_pose(self, name: str, pose: np.ndarray) -> tuple[float, set[str]]:
        """Return the height of an object's lowest point at a pose (7,), in metres, and the entities that it overlaps
        there.

        The arena and the robot are both named ''.
        """
        entity = self._compiled.entities[name]
        overlaps = self._overlaps(entity, pose)
        low, _ = bounding_box(self.model, self.data, entity.geoms)
        self._set(entity, pose + _PARKED)
        return float(low[2]), overlaps

    def region_box(self, site: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the centre (3,) and half-lengths (3,) of a region's box in the world."""
        rotation = self.data.site_xmat[site].reshape(3, 3)
        return self.data.site_xpos[site].copy(), np.abs(rotation) @ self.model.site_size[site]

    def settle(self) -> tuple[np.ndarray, np.ndarray]:
        """Simulate, with the arm fixed, until all objects are at rest; return the state (1 + nq + nv,) and the
        fixtures' poses.

        Raises RejectedLayoutError if an object flies off, moves far, tilts, or overlaps another.
        """
        model, data = self.model, self.data
        for index, fixture in enumerate(self._compiled.scene.fixtures):
            if fixture.name not in self.poses:  # no relation places it
                self._fixtures[index] = self._compiled.fixture_poses[index]
        put_fixtures(self.model, self._compiled, self._fixtures)
        mujoco.mj_kinematics(model, data)
        arm = data.qpos[:_ROBOT_JOINTS].copy()
        movables = self._movables.values()
        before = {movable.name: data.xmat[movable.body].reshape(3, 3).copy() for movable in movables}
        for _ in range(MAX_SETTLING_STEPS):
            for _ in range(_SUBSTEPS):
                mujoco.mj_step(model, data)
                data.qpos[:_ROBOT_JOINTS] = arm
                data.qvel[:_ROBOT_JOINTS] = 0.0
            speed = float(np.abs(data.qvel).max())
            # MuJoCo resets a diverging simulation to zero, where everything seems to rest: check its warnings, too.
            if not speed < EXPLOSION_SPEED or any(data.warning[kind].number for kind in DIVERGED):
                raise RejectedLayoutError("the objects fly apart", *(movable.name for movable in movables))
            if speed < REST_SPEED:
                break
        data.qvel[:] = 0.0
        mujoco.mj_forward(model, data)
        contact = data.contact
        for pair, distance in zip(contact.geom.tolist(), contact.dist.tolist(), strict=True):
            if distance < -MAX_OVERLAP:
                names = [self._owner.get(geom, "the arena") for geom in pair]
                raise RejectedLayoutError(
                    f"{names[0]} and {names[1]} interpenetrate by {-distance * 1e3:.1f} mm", *names
                )
        for movable in movables:
            name = movable.name
            shift = float(np.linalg.norm(data.xpos[movable.body] - self.poses[name][:3]))
            if shift > MAX_SETTLING_MOVE:
                raise RejectedLayoutError(f"{name} moves by {shift * 100:.0f} cm while it settles", name)
            up = data.xmat[movable.body].reshape(3, 3) @ before[name].T[:, 2]
            tilt = float(np.arccos(np.clip(up[2], -1.0, 1.0)))
            if tilt > MAX_SETTLING_TILT:
                raise RejectedLayoutError(
                    f"{name} tilts by {np.degrees(tilt):.0f} degrees while it settles", name
                )
        return np.concatenate([[0.0], data.qpos, data.qvel]), self._fixtures.copy()

    def _over_ground(self, entity: EntityIndex, pose: np.ndarray, ceiling: float) -> np.ndarray:
        """Return the pose, shifted so that the object is just above the highest surface below its centre and rim."""
        self._set(entity, pose)
        mujoco.mj_kinematics(self.model, self.data)
        low, high = bounding_box(self.model, self.data, entity.geoms)
        self._set(entity, pose + _PARKED)
        mujoco.mj_kinematics(self.model, self.data)
        centre, half = (low + high)[:2] / 2, (high - low)[:2] / 2
        angles = np.arange(8) * np.pi / 4
        rim = centre + 0.9 * half * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        hit, down = np.zeros(1, dtype=np.int32), np.array([0.0, 0.0, -1.0])
        ground = -np.inf
        for x, y in (centre, *rim):
            # LIBERO's floor collides, but is in the group of drawn geoms.
            for groups in (_SOLID, _SOLID_OR_DRAWN):
                start = np.array([x, y, ceiling])
                distance = mujoco.mj_ray(self.model, self.data, start, down, groups, 1, -1, hit)
                if distance >= 0:
                    ground = max(ground, ceiling - float(distance))
                    break
        if ground == -np.inf:
            raise RejectedLayoutError(f"there is nothing below {entity.name}", entity.name)
        over = pose.copy()
        over[2] += ground + CLEARANCE - low[2]
        return over

    def _overlaps(self, entity: EntityIndex, pose: np.ndarray) -> set[str]:
        """Put an entity at a pose (7,) and return the names of the entities whose geoms it overlaps."""
        self._set(entity, pose)
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_collision(self.model, self.data)  # takes most of the time of placement
        owners = set()
        count = self.data.ncon
        pairs = self.data.contact.geom[:count][self.data.contact.dist[:count] < 0]
        for pair in pairs.tolist():
            mine = [geom for geom in pair if geom in entity.geoms]
            if len(mine) == 1:
                other = pair[0] if pair[1] == mine[0] else pair[1]
                owners.add(self._owner.get(other, ""))
        return owners

    def _set(self, entity: EntityIndex, pose: np.ndarray) -> None:
        if entity.movable:
            start = self._address[entity.name]
            self.data.qpos[start : start + 7] = pose
        else:
            self._fixtures[self._compiled.fixture_bodies.index(entity.body)] = pose
            put_fixtures(self.model, self._compiled, self._fixtures)


def sample(
    compiled: CompiledScene, seed: int, model: mujoco.MjModel | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return a settled state (1 + nq + nv,) and the fixtures' poses (fixtures, 7), as determined by the seed.

    ``model`` is a copy of the compiled model that is modified temporarily; by default, a new copy is made. Reusing
    one is faster, because copying LIBERO's textures and meshes takes longer than placing the objects.

    Raises PlacementError if no attempt yields a valid layout.
    """
    model = copy.copy(compiled.model) if model is None else model
    changed = (model.body_pos, model.body_quat, model.geom_group)
    saved = [values.copy() for values in changed]
    resampled: Counter[str] = Counter()
    reason = ""
    try:
        for attempt in range(ATTEMPTS):
            try:
                return _LayoutSampler(compiled, seed, resampled).place_all(model)
            except RejectedLayoutError as error:
                reason = str(error)
                objects, fixtures = (
                    [entity.name for entity in reversed(entities) if entity.name in error.blamed]
                    for entities in (compiled.scene.objects, compiled.scene.fixtures)
                )
                blamed = objects or fixtures
                if not blamed:
                    break
                # Objects are placed in order, so the last one in a conflict is the one that found its place taken.
                # Resampling it keeps the others where an undisturbed scene has them; if that fails, share the changes.
                resampled[
                    blamed[0]
                    if attempt < LAST_ENTITY_ATTEMPTS
                    else min(blamed, key=lambda name: resampled[name])
                ] += 1
    finally:
        for values, before in zip(changed, saved, strict=True):
            values[:] = before
    raise PlacementError(f"no valid layout with seed {seed}: {reason}")


def central_fixtures(compiled: CompiledScene) -> np.ndarray:
    """Return the poses of the fixtures at the centres of their regions, (fixtures, 7)."""
    sampler = _LayoutSampler(compiled)
    poses = compiled.fixture_poses.copy()
    for index, fixture in enumerate(compiled.scene.fixtures):
        for atom in compiled.scene.initial:
            region = sampler.workspace_region(atom)
            if region is not None and atom.arguments[0] == fixture.name:
                poses[index] = sampler.fixture_pose(fixture.name, region)
    return poses


@dataclass
class _LayoutSampler:
    """Sampler of one layout."""

    _compiled: CompiledScene
    _seed: int | None = None
    """Seed of the layout; None to use the middle of every range instead of a random value."""
    _resampled: Counter[str] = field(default_factory=Counter)
    """Number of times that each entity has been resampled."""
    _streams: dict[tuple[str, str], np.random.Generator] = field(default_factory=dict)
    _scratch: PlacementScene = field(init=False)

    def place_all(self, model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
        """Place all entities in a model, fixtures first, and let them settle."""
        self._scratch = PlacementScene(self._compiled, model)
        placing = []
        scene = self._compiled.scene
        for atom in scene.initial:
            if atom.predicate in MECHANISMS:
                part = self._compiled.mechanism(atom.predicate, atom.arguments[0])
                if part is None:
                    raise PlacementError(f"'{atom}': the predicate does not apply to {atom.arguments[0]}")
                entity, joints, mechanism = part
                _, active = MECHANISMS[atom.predicate]
                low, high = mechanism.active_range if active else mechanism.passive_range
                for joint in joints:
                    self._scratch.set_joint(joint, self._uniform(entity.name, low, high, "joints"))
            elif atom.predicate in UPON + INSIDE:
                placing.append(atom)
            else:
                raise PlacementError(f"the initial relation '{atom}' does not place an entity")
        placing.sort(key=lambda atom: self._compiled.entities[atom.arguments[0]].movable)
        waiting = [atom for atom in placing if not self._place_on_workspace(atom)]
        while waiting:
            placed = [atom for atom in waiting if self._place_on_entity(atom)]
            if not placed:
                raise PlacementError(f"'{waiting[0]}': the support has not been placed")
            waiting = [atom for atom in waiting if atom not in placed]
        unplaced = [obj.name for obj in scene.objects if obj.name not in self._scratch.poses]
        if unplaced:
            raise PlacementError(f"no initial relation places {', '.join(unplaced)}")
        return self._scratch.settle()

    def workspace_region(self, atom: Atom) -> Region | None:
        """Return the workspace region in which an atom places an entity; None for other atoms."""
        scene = self._compiled.scene
        region = scene.region(atom.arguments[-1]) if atom.predicate in UPON else None
        return region if region is not None and region.target == scene.arena.workspace else None

    def fixture_pose(self, name: str, region: Region) -> np.ndarray:
        """Sample the pose of a fixture, (7,)."""
        layout = self._compiled.layout
        x, y = self._point(name, region, margin=0.0)
        height = layout.fixture_height - self._compiled.entities[name].bottom
        quaternion = self._quaternion(name, Pose(yaw=region.yaw or (0.0, 0.0)))
        return np.concatenate([np.array(layout.offset) + (x, y, height), quaternion])

    def _uniform(self, name: str, low: float, high: float, kind: str = "layout") -> float:
        """Sample uniformly from one of the entity's random streams; ``low`` may exceed ``high``, as in LIBERO."""
        if self._seed is None:
            return (low + high) / 2
        if (name, kind) not in self._streams:
            self._streams[name, kind] = stream(self._seed, kind, name, self._resampled[name])
        return low + (high - low) * float(self._streams[name, kind].random())

    def _place_on_workspace(self, atom: Atom) -> bool:
        """Place an entity on the workspace without collisions; return False if the atom places nothing there."""
        region = self.workspace_region(atom)
        if region is None:
            return False
        name = atom.arguments[0]
        if not self._compiled.entities[name].movable:
            self._scratch.place(name, self.fixture_pose(name, region))
            return True
        layout = self._compiled.layout
        margin = self._compiled.entities[name].radius if layout.inside else 0.0
        in_the_way: set[str] = set()
        for _ in range(OBJECT_ATTEMPTS):
            x, y = self._point(name, region, margin)
            pose = np.concatenate([np.array(layout.offset) + (x, y, 0.0), self._quaternion(name)])
            try:
                pose = self._scratch.lower(name, pose, ceiling=layout.offset[2] + CEILING, alone=True)
            except RejectedLayoutError as error:
                in_the_way |= set(error.blamed) - {name}
                continue
            lowest, collisions = self._scratch.try_pose(name, pose)
            if lowest < layout.offset[2] - WORKSPACE_TOLERANCE:
                raise PlacementError(f"{region.full_name} places {name} off the workspace")
            if not collisions:
                self._scratch.place(name, pose)
                return True
            in_the_way |= collisions
        raise RejectedLayoutError(f"there is no room for {name} in {region.full_name}", *in_the_way)

    def _place_on_entity(self, atom: Atom) -> bool:
        """Place an object on or in another entity; return False if that entity has not been placed yet."""
        name, place = atom.arguments
        region = self._compiled.regions.get(place)
        support = place if region is None else region.parent
        if support not in self._scratch.poses:
            return False
        if region is None:
            position, ceiling = self._scratch.poses[support][:3], self._scratch.poses[support][2] + CEILING
        else:
            position, half = self._scratch.region_box(region.site)
            ceiling = position[2] + half[2]
            if atom.predicate not in INSIDE:
                # LIBERO samples from the middle half of a region when an object stands on it.
                x, y = half[:2] / 2 - self._compiled.entities[name].radius
                position = position + (self._uniform(name, -x, x), self._uniform(name, -y, y), 0.0)
                ceiling += 0.02
        pose = np.concatenate([position, self._quaternion(name)])
        self._scratch.place(name, self._scratch.lower(name, pose, ceiling=ceiling, alone=False))
        return True

    def _point(self, name: str, region: Region, margin: float) -> tuple[float, float]:
        """Sample a point in a rectangle of the workspace, at least ``margin`` metres from its edges."""
        rectangles = region.rectangles or (Rectangle(0.0, 0.0, 0.0, 0.0),)
        index = int(self._uniform(name, 0, len(rectangles))) if len(rectangles) > 1 else 0
        box = rectangles[index]
        x = self._uniform(name, box.x_min + margin, box.x_max - margin)
        return x, self._uniform(name, box.y_min + margin, box.y_max - margin)

    def _quaternion(self, name: str, pose: Pose | None = None) -> np.ndarray:
        """Sample the orientation of an entity, (4,), by default from the resting poses of its category."""
        pose = pose or resting_pose(self._compiled.entities[name].category)
        half, quaternion = self._uniform(name, *pose.yaw) / 2, np.empty(4)
        mujoco.mju_mulQuat(quaternion, np.array([cos(half), 0.0, 0.0, sin(half)]), np.array(pose.tilt))
        return quaternion
