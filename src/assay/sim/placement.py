"""Draw where a scene's things stand from its regions and a seed.

Every entity has a random stream of its own: one more thing in a scene leaves the draws of the others as they
were, and they stand where they stood unless they collide with it.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import cos, sin
from types import MappingProxyType

import mujoco
import numpy as np

from assay.errors import PlacementError
from assay.sim.categories import OPENING, SWITCHING, Mechanism, resting_pose
from assay.sim.compile import CompiledScene, EntityIndex, RegionIndex, bounding_box, put_fixtures
from assay.sim.compose import GRIPPER, MOUNT, ROBOT
from assay.sim.controller import ARM
from assay.sim.layout import HOME_FINGERS
from assay.support.streams import stream
from assay.tasks.scene import Atom, Predicate, Rectangle, Region

ATTEMPTS = 40
"""How often a layout is tried; each time, only one thing that was to blame is drawn again."""
SAME = 20
"""For how many of these attempts the last of several gives way; after them, it is everybody's turn."""
TRIES = 100
"""How often one thing is drawn until it collides with nothing."""

BELOW_THE_ARM = 0.15
"""How far above a surface to look down from: under the arm at its start, metres."""

ON_WORKSPACE = 0.06
"""How far below the workspace's nominal height a thing on it may stand, metres."""

_MECHANISMS: Mapping[Predicate, tuple[Mapping[str, Mechanism], bool]] = MappingProxyType(
    {
        Predicate.OPEN: (OPENING, True),
        Predicate.CLOSE: (OPENING, False),
        Predicate.TURN_ON: (SWITCHING, True),
        Predicate.TURN_OFF: (SWITCHING, False),
    }
)
_INSIDE = (Predicate.IN, Predicate.EXACT_IN)
_UPON = (Predicate.ON, Predicate.UPRIGHT_ON, Predicate.SIDE_ON, Predicate.STACK)


def sample(
    compiled: CompiledScene, seed: int, model: mujoco.MjModel | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """A settled state (1 + nq + nv,) and the fixtures' poses (fixtures, 7), decided by the seed.

    ``model``: a copy of the compiled one to work with, which is left as it was. To copy LIBERO's textures and meshes
    takes longer than to place the things.

    Raises PlacementError if no attempt leaves everything at rest and apart.
    """
    used = copy.copy(compiled.model) if model is None else model
    with _left_as_it_was(used):
        return _sampled(compiled, seed, used)


def _sampled(compiled: CompiledScene, seed: int, model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
    redrawn: Counter[str] = Counter()
    reason = ""
    for attempt in range(ATTEMPTS):
        try:
            return _Draw(compiled, seed, redrawn).settled(model)
        except RefusedError as error:
            reason = str(error)
            blamed = [obj.name for obj in compiled.scene.objects if obj.name in error.blamed]
            blamed = blamed or [
                fixture.name for fixture in compiled.scene.fixtures if fixture.name in error.blamed
            ]
            if not blamed:
                break
            latest = blamed[::-1]
            redrawn[latest[0] if attempt < SAME else min(latest, key=lambda name: redrawn[name])] += 1
    raise PlacementError(f"no valid layout with seed {seed}: {reason}")


@contextmanager
def _left_as_it_was(model: mujoco.MjModel) -> Iterator[None]:
    """Take back what a stage changes of a model."""
    changed = (model.body_pos, model.body_quat, model.geom_group)
    usual = [values.copy() for values in changed]
    try:
        yield
    finally:
        for values, before in zip(changed, usual, strict=True):
            values[:] = before


def central_fixtures(compiled: CompiledScene) -> np.ndarray:
    """Every fixture in the middle of its region, (fixtures, 7)."""
    draw = _Draw(compiled, None, Counter())
    poses = compiled.fixture_poses.copy()
    for index, fixture in enumerate(compiled.scene.fixtures):
        for atom in compiled.scene.initial:
            region = draw.workspace_region(atom)
            if region is not None and atom.arguments[0] == fixture.name:
                poses[index] = draw.fixture_pose(fixture.name, region)
    return poses


class _Draw:
    """One layout. With no seed, everything is in the middle of its range."""

    def __init__(self, compiled: CompiledScene, seed: int | None, redrawn: Counter[str]) -> None:
        self._compiled = compiled
        self._scene = compiled.scene
        self._seed = seed
        self._redrawn = redrawn
        self._streams: dict[tuple[str, str], np.random.Generator] = {}
        self._stage: PlacementScene

    def settled(self, model: mujoco.MjModel) -> tuple[np.ndarray, np.ndarray]:
        """Put everything on a stage of this model, fixtures first, and let it come to rest."""
        self._stage = PlacementScene(self._compiled, model)
        placing = []
        for atom in self._scene.initial:
            if atom.predicate in _MECHANISMS:
                self._set_joints(atom)
            elif atom.predicate in _UPON + _INSIDE:
                placing.append(atom)
            else:
                raise PlacementError(f"'{atom}' does not say where to put anything")
        placing.sort(key=lambda atom: self._compiled.entities[atom.arguments[0]].movable)
        waiting = [atom for atom in placing if not self._place_on_workspace(atom)]
        while waiting:
            placed = [atom for atom in waiting if self._place_on_entity(atom)]
            if not placed:
                raise PlacementError(f"'{waiting[0]}' rests on something that is not placed")
            waiting = [atom for atom in waiting if atom not in placed]
        homeless = [obj.name for obj in self._scene.objects if obj.name not in self._stage.poses]
        if homeless:
            raise PlacementError(f"no initial relation places {', '.join(homeless)}")
        return self._stage.settle()

    def workspace_region(self, atom: Atom) -> Region | None:
        """The rectangle on the workspace that an atom puts something on, if it does."""
        region = self._scene.region(atom.arguments[-1]) if atom.predicate in _UPON else None
        return region if region is not None and region.target == self._scene.arena.workspace else None

    def fixture_pose(self, name: str, region: Region) -> np.ndarray:
        """Where a fixture stands, (7,)."""
        layout = self._compiled.layout
        x, y = self._point(name, region, margin=0.0)
        height = layout.fixture_height - self._compiled.extents[name].bottom
        yaw = self._uniform(name, *(region.yaw or (0.0, 0.0)))
        return np.concatenate([np.array(layout.offset) + (x, y, height), _yaw(yaw)])

    def _uniform(self, name: str, low: float, high: float, kind: str = "layout") -> float:
        """A number from one of the entity's streams; low may exceed high, as it may in LIBERO."""
        if self._seed is None:
            return (low + high) / 2
        if (name, kind) not in self._streams:
            self._streams[name, kind] = stream(self._seed, kind, name, self._redrawn[name])
        return low + (high - low) * float(self._streams[name, kind].random())

    def _set_joints(self, atom: Atom) -> None:
        table, active = _MECHANISMS[atom.predicate]
        name = atom.arguments[0]
        region = self._compiled.regions.get(name)
        owner = name if region is None else region.parent
        entity = self._compiled.entities.get(owner or "")
        mechanism = None if entity is None else table.get(entity.category)
        if entity is None or mechanism is None:
            raise PlacementError(f"'{atom}' asks of {name} what it cannot do")
        low, high = mechanism.active_range if active else mechanism.passive_range
        for joint in entity.inner_joints if region is None else region.joints:
            self._stage.set_joint(joint, self._uniform(entity.name, low, high, "joints"))

    def _place_on_workspace(self, atom: Atom) -> bool:
        """Put something on the workspace, apart from everything else there."""
        region = self.workspace_region(atom)
        if region is None:
            return False
        name = atom.arguments[0]
        if not self._compiled.entities[name].movable:
            self._stage.put(name, self.fixture_pose(name, region))
            return True
        layout = self._compiled.layout
        margin = self._compiled.extents[name].radius if layout.inside else 0.0
        in_the_way: set[str] = set()
        for _ in range(TRIES):
            x, y = self._point(name, region, margin)
            pose = np.concatenate([np.array(layout.offset) + (x, y, 0.0), self._resting_quaternion(name)])
            try:
                pose = self._stage.lowered(name, pose, ceiling=layout.offset[2] + BELOW_THE_ARM, alone=True)
            except RefusedError as error:
                in_the_way |= set(error.blamed) - {name}
                continue
            if self._stage.bottom(name, pose) < layout.offset[2] - ON_WORKSPACE:
                raise PlacementError(f"{region.full_name} puts {name} beside the workspace")
            found = self._stage.collisions(name, pose)
            if not found:
                self._stage.put(name, pose)
                return True
            in_the_way |= found
        raise RefusedError(f"there is no room for {name} in {region.full_name}", *in_the_way)

    def _place_on_entity(self, atom: Atom) -> bool:
        """Put something on or in another thing, once that is placed."""
        name, place = atom.arguments
        region = self._compiled.regions.get(place)
        support = place if region is None else region.parent
        if support not in self._stage.poses:
            return False
        if region is None:
            position, ceiling = self._stage.poses[support][:3], self._stage.poses[support][2] + BELOW_THE_ARM
        else:
            position, ceiling = self._point_at(name, region, inside=atom.predicate in _INSIDE)
        pose = np.concatenate([position, self._resting_quaternion(name)])
        self._stage.put(name, self._stage.lowered(name, pose, ceiling=ceiling, alone=False))
        return True

    def _point(self, name: str, region: Region, margin: float) -> tuple[float, float]:
        """A point in a rectangle of the workspace, ``margin`` away from its edges."""
        rectangles = region.rectangles or (Rectangle(0.0, 0.0, 0.0, 0.0),)
        index = int(self._uniform(name, 0, len(rectangles))) if len(rectangles) > 1 else 0
        box = rectangles[index]
        x = self._uniform(name, box.x_min + margin, box.x_max - margin)
        return x, self._uniform(name, box.y_min + margin, box.y_max - margin)

    def _point_at(self, name: str, region: RegionIndex, *, inside: bool) -> tuple[np.ndarray, float]:
        """A point (3,) on or in a region that an entity brings along, and the height to look down from."""
        centre, half = self._stage.region_box(region.site)
        if inside:
            return centre, centre[2] + half[2]
        # LIBERO draws from the middle half of a region when something stands on it.
        x, y = half[:2] / 2 - self._compiled.extents[name].radius
        offset = (self._uniform(name, -x, x), self._uniform(name, -y, y), 0.0)
        return centre + offset, centre[2] + half[2] + 0.02

    def _resting_quaternion(self, name: str) -> np.ndarray:
        pose = resting_pose(self._compiled.entities[name].category)
        turned = np.empty(4)
        mujoco.mju_mulQuat(turned, _yaw(self._uniform(name, *pose.yaw)), np.array(pose.tilt))
        return turned


def _yaw(angle: float) -> np.ndarray:
    return np.array([cos(angle / 2), 0.0, 0.0, sin(angle / 2)])


CLEARANCE = 0.002
"""Gap between an object and what is below it before it settles, metres."""
LIFT = 0.004
"""How finely a thing is raised until it is free, metres."""
HIGHEST = 0.2
"""How far it is raised at most, metres."""
SETTLING = 40
"""Most control steps of 50 ms that things get to come to rest."""
AT_REST = 5e-3
"""Speed below which things rest, metres or radians per second."""
EXPLODED = 50.0
"""Speed that nothing reaches unless things were put into each other."""
DEEPEST = 2e-3
"""Deepest interpenetration that a settled stage may have, metres."""
FARTHEST = 0.03
"""Farthest that a thing may move while it settles, metres."""
STEEPEST = np.radians(12.0)
"""Most that a thing may tilt while it settles, radians."""

DIVERGED = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)
"""What MuJoCo says of a simulation that became unstable."""

_WINGS = 100.0  # where things wait, metres above the world: nothing looks up
_JOINTS = ARM + 2  # of the robot: the arm's and the fingers'
_UNSEEN = 4  # a group that looking down does not see: things stand on the table and not on the robot
_SUBSTEPS = 25
_SOLID = np.array([1, 0, 0, 0, 0, 0], dtype=np.uint8)
_SOLID_OR_DRAWN = np.array([1, 1, 0, 0, 0, 0], dtype=np.uint8)


class RefusedError(PlacementError):
    """A stage that cannot be: says which things are to blame."""

    def __init__(self, reason: str, *blamed: str) -> None:
        super().__init__(reason)
        self.blamed = blamed


class PlacementScene:
    """Works with a copy of the scene's model, in which it moves fixtures and hides the robot from looks down."""

    def __init__(self, compiled: CompiledScene, model: mujoco.MjModel) -> None:
        self._compiled = compiled
        self.model = model
        self.data = mujoco.MjData(self.model)
        self.data.qpos[: len(compiled.home)] = compiled.home
        self.data.qpos[len(compiled.home) : _JOINTS] = HOME_FINGERS
        self._owner = {geom: name for name, entity in compiled.entities.items() for geom in entity.geoms}
        self.poses: dict[str, np.ndarray] = {}
        """Where things were put: position and quaternion (w, x, y, z), (7,)."""
        self._fixtures = compiled.fixture_poses.copy()
        self._fixtures[:, 2] += _WINGS
        put_fixtures(self.model, compiled, self._fixtures)
        for index, entity in enumerate(compiled.entities.values()):
            if entity.movable:
                # Side by side: things that wait inside each other would cost a contact each time.
                self.data.qpos[self._address(entity)] = 5.0 * (index + 1)
                self.data.qpos[self._address(entity) + 2] = _WINGS
        names = (self.model.body(body).name for body in range(self.model.nbody))
        of_robot = np.array([name.startswith((ROBOT, GRIPPER, MOUNT)) for name in names])
        self.model.geom_group[of_robot[self.model.geom_bodyid]] = _UNSEEN
        self._move()

    def put(self, name: str, pose: np.ndarray) -> None:
        """Put a thing at a pose (7,)."""
        entity = self._compiled.entities[name]
        self._set(entity, pose)
        self.poses[name] = pose
        self._move()

    def set_joint(self, joint: int, value: float) -> None:
        """Move a drawer, door or knob."""
        self.data.qpos[self.model.jnt_qposadr[joint]] = value
        self._move()

    def lowered(self, name: str, pose: np.ndarray, *, ceiling: float, alone: bool) -> np.ndarray:
        """The pose (7,) moved vertically until the thing is just above what is below it and ``ceiling``.

        ``alone``: other movable things do not count, and the thing may not end on top of a fixture.
        """
        entity = self._compiled.entities[name]
        others = [
            placed_movable
            for placed_movable in self._placed_movables()
            if alone and placed_movable.name != name
        ]
        saved = {other.name: self.poses[other.name] for other in others}
        for other in others:
            self._set(other, saved[other.name] + (0.0, 0.0, _WINGS, 0.0, 0.0, 0.0, 0.0))
        try:
            return self._raised(entity, self._over_ground(entity, pose, ceiling), alone=alone)
        finally:
            for other in others:
                self._set(other, saved[other.name])
            self._set(entity, pose + (0.0, 0.0, _WINGS, 0.0, 0.0, 0.0, 0.0))
            self._move()

    def bottom(self, name: str, pose: np.ndarray) -> float:
        """The height of a thing's lowest point at a pose (7,), metres."""
        entity = self._compiled.entities[name]
        self._set(entity, pose)
        self._move()
        return float(bounding_box(self.model, self.data, entity.geoms)[0][2])

    def collisions(self, name: str, pose: np.ndarray) -> set[str]:
        """The things that a thing at a pose (7,) would be inside of; the arena and the robot count as ''."""
        entity = self._compiled.entities[name]
        self._set(entity, pose)
        self._collide()
        found = self._inside(entity)
        self._set(entity, pose + (0.0, 0.0, _WINGS, 0.0, 0.0, 0.0, 0.0))
        return found

    def region_box(self, site: int) -> tuple[np.ndarray, np.ndarray]:
        """Centre (3,) and half-lengths (3,) of a region's box in the world."""
        rotation = self.data.site_xmat[site].reshape(3, 3)
        return self.data.site_xpos[site].copy(), np.abs(rotation) @ self.model.site_size[site]

    def settle(self) -> tuple[np.ndarray, np.ndarray]:
        """Let everything come to rest, the arm held still: a state (1 + nq + nv,) and fixtures' poses.

        Raises RefusedError if something flies off, goes on moving, moves far, tilts, or sticks in another.
        """
        model, data = self.model, self.data
        self._restore_absent_fixtures()
        arm = data.qpos[:_JOINTS].copy()
        movables = self._placed_movables()
        before = {movable.name: data.xmat[movable.body].reshape(3, 3).copy() for movable in movables}
        for _ in range(SETTLING):
            for _ in range(_SUBSTEPS):
                mujoco.mj_step(model, data)
                data.qpos[:_JOINTS] = arm
                data.qvel[:_JOINTS] = 0.0
            speed = float(np.abs(data.qvel).max())
            # MuJoCo answers what diverges by putting everything back to zero, at rest.
            if not speed < EXPLODED or any(data.warning[kind].number for kind in DIVERGED):
                raise RefusedError("the scene flies apart", *(movable.name for movable in movables))
            if speed < AT_REST:
                break
        data.qvel[:] = 0.0
        mujoco.mj_forward(model, data)
        self._refuse_bad_rest(before)
        return np.concatenate([[0.0], data.qpos, data.qvel]), self._fixtures.copy()

    def _refuse_bad_rest(self, before: dict[str, np.ndarray]) -> None:
        for pair, distance in self._contacts():
            if distance < -DEEPEST:
                names = [self._owner.get(geom, "the arena") for geom in pair]
                raise RefusedError(
                    f"{names[0]} and {names[1]} interpenetrate by {-distance * 1e3:.1f} mm", *names
                )
        for entity in self._placed_movables():
            name = entity.name
            moved = float(np.linalg.norm(self.data.xpos[entity.body] - self.poses[name][:3]))
            if moved > FARTHEST:
                raise RefusedError(
                    f"{name} does not stay where it is put: it moves {moved * 100:.0f} cm", name
                )
            up = self.data.xmat[entity.body].reshape(3, 3) @ before[name].T[:, 2]
            tilt = float(np.arccos(np.clip(up[2], -1.0, 1.0)))
            if tilt > STEEPEST:
                raise RefusedError(f"{name} tilts by {np.degrees(tilt):.0f} degrees", name)

    def _over_ground(self, entity: EntityIndex, pose: np.ndarray, ceiling: float) -> np.ndarray:
        """The pose with the thing's lowest point just above the highest solid thing found below it."""
        self._set(entity, pose)
        self._move()
        low, high = bounding_box(self.model, self.data, entity.geoms)
        self._set(entity, pose + (0.0, 0.0, _WINGS, 0.0, 0.0, 0.0, 0.0))
        self._move()
        centre, half = (low + high)[:2] / 2, (high - low)[:2] / 2
        angles = np.arange(8) * np.pi / 4
        rim = centre + 0.9 * half * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        ground = max(self._height_below((x, y, ceiling)) for x, y in (centre, *rim))
        if ground == -np.inf:
            raise RefusedError(f"there is nothing below {entity.name}", entity.name)
        over = pose.copy()
        over[2] += ground + CLEARANCE - low[2]
        return over

    def _raised(self, entity: EntityIndex, pose: np.ndarray, *, alone: bool) -> np.ndarray:
        """The pose, raised until the thing is inside nothing; if it is ``alone``, the fixtures it is inside of are to
        blame."""
        found: set[str] = set()
        for lift in np.arange(0.0, (0.0 if alone else HIGHEST) + LIFT, LIFT):
            raised = pose.copy()
            raised[2] += lift
            self._set(entity, raised)
            self._collide()
            found = self._inside(entity)
            if not found:
                return raised
        raise RefusedError(f"there is no room for {entity.name}", entity.name, *(found if alone else ()))

    def _height_below(self, point: tuple[float, float, float]) -> float:
        """The height of the first solid thing straight below a point; minus infinity if there is none."""
        hit = np.zeros(1, dtype=np.int32)
        down = np.array([0.0, 0.0, -1.0])
        # LIBERO's floor is of the drawn group, though it collides.
        for groups in (_SOLID, _SOLID_OR_DRAWN):
            distance = mujoco.mj_ray(self.model, self.data, np.array(point), down, groups, 1, -1, hit)
            if distance >= 0:
                return point[2] - float(distance)
        return -np.inf

    def _inside(self, entity: EntityIndex) -> set[str]:
        """The things whose geoms overlap with the entity's."""
        found = set()
        count = self.data.ncon
        overlaps = self.data.contact.geom[:count][self.data.contact.dist[:count] < 0]
        for pair in overlaps.tolist():
            mine = [geom for geom in pair if geom in entity.geoms]
            if len(mine) == 1:
                other = pair[0] if pair[1] == mine[0] else pair[1]
                found.add(self._owner.get(other, ""))
        return found

    def _contacts(self) -> Iterable[tuple[tuple[int, ...], float]]:
        contact = self.data.contact
        return zip(
            map(tuple, contact.geom[: self.data.ncon].tolist()),
            contact.dist[: self.data.ncon].tolist(),
            strict=True,
        )

    def _placed_movables(self) -> list[EntityIndex]:
        entities = self._compiled.entities
        return [entities[name] for name in self.poses if entities[name].movable]

    def _address(self, entity: EntityIndex) -> int:
        return int(self.model.jnt_qposadr[entity.joints[-1]])

    def _set(self, entity: EntityIndex, pose: np.ndarray) -> None:
        if entity.movable:
            start = self._address(entity)
            self.data.qpos[start : start + 7] = pose
        else:
            self._fixtures[self._compiled.fixture_bodies.index(entity.body)] = pose
            put_fixtures(self.model, self._compiled, self._fixtures)

    def _restore_absent_fixtures(self) -> None:
        """Bring fixtures that no relation places to where the asset has them."""
        for index, fixture in enumerate(self._compiled.scene.fixtures):
            if fixture.name not in self.poses:
                self._fixtures[index] = self._compiled.fixture_poses[index]
        put_fixtures(self.model, self._compiled, self._fixtures)
        self._move()

    def _move(self) -> None:
        """Let everything be where the joints are; the contacts stay those of before."""
        mujoco.mj_kinematics(self.model, self.data)

    def _collide(self) -> None:
        """The same, and find the contacts there: most of the time that placing takes."""
        self._move()
        mujoco.mj_collision(self.model, self.data)
