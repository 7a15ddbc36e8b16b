"""Floor plan of a workspace: where entities are, and which positions are free, reachable and in view."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from assay.errors import PerturbationError, did_you_mean
from assay.sim.bare_mujoco import mujoco
from assay.sim.footprints import footprint
from assay.sim.layout import LAYOUTS, ArenaLayout, layout_of
from assay.sim.visibility import newly_hidden
from assay.tasks import Atom, Entity, Goal, Predicate, Rectangle, Region, Scene, Task

UPON = (Predicate.ON, Predicate.IN, Predicate.UPRIGHT_ON, Predicate.SIDE_ON, Predicate.STACK)
OPENED = (Predicate.OPEN, Predicate.CLOSE, Predicate.IN, Predicate.EXACT_IN)
"""Goal predicates that require a fixture to be opened or closed."""
GAP = 0.01
"""Minimum gap between objects, in metres."""
HAND = 0.05
"""Free space that the gripper needs beside an object, in metres."""
NEAREST, FURTHEST = 0.34, 0.80
"""Minimum and maximum distance of reachable objects from the robot's base, in metres."""
X, Y = (-0.36, 0.30), (-0.40, 0.40)
"""Bounds along x and y of the part of a workspace that is used, in metres from its centre."""
IN_VIEW = 0.82
"""Maximum distance of an object's base from the image centre, as a fraction of the distance to the edge."""
TRIES = 200
"""Number of random positions that are tried for an object."""
FIELD = 45.0
"""Field of view of the scene camera, in degrees."""
_BESIDE = re.compile(r"(?P<what>\w+)_(?:left|right|front|back)_region")
NOTHING = Goal(())


@dataclass(frozen=True, slots=True)
class Spot:
    """A rectangle on the workspace; coordinates are in metres from the workspace's centre."""

    x: float
    y: float
    half_x: float
    half_y: float
    over: float = 0.0
    """Height over which an object must be lifted to be placed there, in metres, for example a basket's rim."""

    def overlaps(self, other: Spot, gap: float = GAP) -> bool:
        """Whether the gap between two spots is too small; a spot about as wide as it is long counts as round."""
        if self._round and other._round:
            return self.air(other) < gap
        return (
            abs(self.x - other.x) < self.half_x + other.half_x + gap
            and abs(self.y - other.y) < self.half_y + other.half_y + gap
        )

    def air(self, other: Spot) -> float:
        """Return the gap between two spots, in metres; negative if they overlap."""
        dx = abs(self.x - other.x) - self.half_x - other.half_x
        dy = abs(self.y - other.y) - self.half_y - other.half_y
        if self._round and other._round:
            return self.distance(other) - max(self.half_x, self.half_y) - max(other.half_x, other.half_y)
        return float(np.hypot(dx, dy)) if min(dx, dy) > 0 else max(dx, dy)

    def gap(self, other: Spot) -> float:
        """Return the gap between two spots as rectangles, in metres; 0 if they overlap."""
        dx = abs(self.x - other.x) - self.half_x - other.half_x
        dy = abs(self.y - other.y) - self.half_y - other.half_y
        return float(np.hypot(max(dx, 0.0), max(dy, 0.0)))

    @property
    def _round(self) -> bool:
        return 0.8 < self.half_x / self.half_y < 1.25 and self.half_x < 0.1

    def distance(self, other: Spot) -> float:
        """Return the distance between the centres, in metres."""
        return float(np.hypot(self.x - other.x, self.y - other.y))

    def shift(self, dx: float, dy: float) -> Spot:
        """Return the spot shifted by (dx, dy), in metres."""
        return Spot(self.x + dx, self.y + dy, self.half_x, self.half_y, self.over)


class Ground:
    """Positions of the entities on a scene's workspace, and the areas that must be free for a goal.

    An entity occupies the full range of its initial positions. With ``snug``, it occupies only its footprint at
    the centre of that range; the simulation later resamples initial states in which two objects are too close.
    """

    def __init__(self, scene: Scene, goal: Goal = NOTHING, *, snug: bool = False) -> None:
        self.scene = scene
        self._snug = snug
        self._base = robot_base(layout_of(scene))
        camera, axes = LAYOUTS[scene.arena].cameras["agentview"], np.empty(9)
        mujoco.mju_quat2Mat(axes, np.array(camera.quaternion))
        # Position of the scene camera, (3,), and its axes as columns, (3, 3).
        self._camera = np.array(camera.position), axes.reshape(3, 3)
        standing = {
            entity: region
            for entity in scene.entities
            if (region := standing_region(scene, entity.name)) is not None
        }
        receiving = {scene.owner(atom.arguments[-1]) for atom in goal.atoms if len(atom.arguments) > 1}
        self.spots = {
            entity.name: self._spot(entity, region, receiving=entity.name in receiving)
            for entity, region in standing.items()
        }
        """Footprints, by name, of the entities directly on the workspace."""
        opened = (atom for atom in scene.initial if atom.predicate is Predicate.OPEN)
        used = (atom for atom in goal.atoms if atom.predicate in OPENED)
        doors = {scene.owner(atom.arguments[-1]) for atom in (*opened, *used)}
        self.doorways = {
            entity.name: self._spot(entity, region, swept=True)
            for entity, region in standing.items()
            if entity.name in doors
        }
        """Footprints, by name, of the fixtures that are open or will be opened, with doors and drawers open."""

    def free(
        self, spot: Spot, *, without: Collection[str] = (), gap: float = GAP, after: Spot | None = None
    ) -> bool:
        """Whether a position is reachable and free of all entities and doors, except those in ``without``.

        ``after``: the entity's old position; gaps that were too small there are allowed if they do not shrink.
        """
        return self.reachable(spot) and self.clear(spot, without=without, gap=gap, after=after)

    def clear(
        self, spot: Spot, *, without: Collection[str] = (), gap: float = GAP, after: Spot | None = None
    ) -> bool:
        """Whether a position is free in the sense of `free`, whether or not the robot can reach it."""
        return not any(
            spot.overlaps(other, air) and (after is None or spot.air(other) < after.air(other))
            for others, air in ((self.spots, gap), (self.doorways, 0.0))
            for name, other in others.items()
            if name not in without
        )

    def reachable(self, spot: Spot) -> bool:
        """Whether a position is within the robot's reach, and in view of the scene camera in its default pose."""
        distance = spot.distance(self._base)
        within = X[0] <= spot.x <= X[1] and Y[0] <= spot.y <= Y[1]
        near = NEAREST <= distance <= FURTHEST - spot.over
        place, axes = self._camera
        right, up, back = (np.array(LAYOUTS[self.scene.arena].offset) + (spot.x, spot.y, 0.0) - place) @ axes
        # 0 at the centre of the image, 1 at its edge
        edge = max(abs(right), abs(up)) / (-back * np.tan(np.radians(FIELD / 2)))
        return bool(within and near and edge <= IN_VIEW)

    def anywhere(
        self, rng: np.random.Generator, entity: Entity, *, without: Collection[str] = ()
    ) -> Spot | None:
        """Return a free position in view for an entity, preferably with room for the gripper; None if none exists."""
        half_x, half_y = (half * entity.size for half in footprint(entity.category).half)
        places = rng.uniform((X[0], Y[0]), (X[1], Y[1]), size=(TRIES, 2)).tolist()
        hidden: set[tuple[float, float]] = set()
        for gap, (x, y) in product((HAND, GAP), places):
            spot = Spot(x, y, half_x, half_y)
            if (x, y) not in hidden and self.free(spot, without=without, gap=gap):
                here = self.spots.get(entity.name)
                scene = (
                    add_entity(self.scene, entity, spot)
                    if here is None
                    else move_entity(self.scene, entity.name, spot.x - here.x, spot.y - here.y)
                )
                if self.in_view(scene):
                    return spot
                hidden.add((x, y))
        return None

    def in_view(self, after: Scene) -> bool:
        """Whether all movable objects of a changed scene, including new ones, remain visible to the cameras."""
        return not newly_hidden(self.scene, after)

    def _spot(self, entity: Entity, region: Region, *, receiving: bool = False, swept: bool = False) -> Spot:
        box = region.rectangles[0]
        fixture = entity in self.scene.fixtures
        yaw = sum(region.yaw or (0.0, 0.0)) / 2 if fixture else 0.0
        takes = footprint(entity.category, fixture=fixture, swept=swept)
        half_x, half_y = takes.half
        if abs(abs(np.sin(yaw)) - 1) < 0.05:
            half_x, half_y = half_y, half_x
        elif abs(np.sin(yaw)) > 0.05:
            half_x = half_y = float(np.hypot(half_x, half_y))
        jitter = (0.0, 0.0) if self._snug else ((box.x_max - box.x_min) / 2, (box.y_max - box.y_min) / 2)
        shift = np.array(takes.centre)
        shift = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]]) @ shift * entity.size
        return Spot(
            (box.x_min + box.x_max) / 2 + float(shift[0]),
            (box.y_min + box.y_max) / 2 + float(shift[1]),
            half_x * entity.size + jitter[0],
            half_y * entity.size + jitter[1],
            takes.height if receiving and not fixture else 0.0,
        )


def robot_base(layout: ArenaLayout) -> Spot:
    """Return the centre of the robot's base, as a spot without extent."""
    return Spot(layout.robot[0] - layout.offset[0], layout.robot[1] - layout.offset[1], 0.0, 0.0)


def standing_region(scene: Scene, name: str) -> Region | None:
    """Return the workspace region in which an entity starts; None if it does not start on the workspace."""
    for atom in scene.initial:
        if atom.predicate in UPON and atom.arguments[0] == name:
            region = scene.region(atom.arguments[1])
            if region is not None and region.rectangles and region.target == scene.arena.workspace:
                return region
    return None


def carrier(scene: Scene, name: str) -> str:
    """Return the object on the workspace on or in which an entity starts; usually the entity itself."""
    for _ in range(len(scene.entities)):
        if standing_region(scene, name) is not None:
            return name
        placing = (atom for atom in scene.initial if atom.predicate in UPON and atom.arguments[0] == name)
        atom = next(placing, None)
        if atom is None:
            break
        name = scene.owner(atom.arguments[1])
    raise PerturbationError(f"{name} is not within the workspace")


def move_entity(scene: Scene, name: str, dx: float, dy: float) -> Scene:
    """Move an entity on the workspace, with everything on it.

    The entity gets a new region, so that other objects in its old region do not move. Regions named after it, such as
    "to the right of the plate", move with it.
    """
    region = standing_region(scene, name)
    if region is None:
        raise PerturbationError(f"{name} is not within the workspace")
    new = _shift_region(replace(region, name=f"{name}_moved_region"), dx, dy)
    taken = {atom.arguments[-1] for atom in scene.initial}

    def is_beside(other: Region) -> bool:
        """Whether a workspace region is named after the entity and empty at the start."""
        what = _BESIDE.fullmatch(other.name)
        if what is None or other.target != scene.arena.workspace or other.full_name in taken:
            return False
        alike = (entity for entity in scene.entities if f"_{entity.category}".endswith(f"_{what['what']}"))
        first = next(alike, None)
        return first is not None and first.name == name

    others = tuple(
        _shift_region(other, dx, dy) if is_beside(other) else other
        for other in scene.regions
        if other.full_name != new.full_name
    )
    initial = tuple(
        Atom(atom.predicate, (name, new.full_name))
        if atom.predicate in UPON and atom.arguments == (name, region.full_name)
        else atom
        for atom in scene.initial
    )
    return replace(scene, regions=(*others, new), initial=initial)


def _shift_region(region: Region, dx: float, dy: float) -> Region:
    boxes = (
        Rectangle(box.x_min + dx, box.y_min + dy, box.x_max + dx, box.y_max + dy) for box in region.rectangles
    )
    return replace(region, rectangles=tuple(boxes))


def add_entity(scene: Scene, entity: Entity, spot: Spot, jitter: float = 0.005) -> Scene:
    """Return a scene with an additional movable object."""
    region = Region(
        f"{entity.name}_init_region",
        scene.arena.workspace,
        (Rectangle(spot.x - jitter, spot.y - jitter, spot.x + jitter, spot.y + jitter),),
    )
    return replace(
        scene,
        objects=(*scene.objects, entity),
        regions=(*scene.regions, region),
        initial=(*scene.initial, Atom(Predicate.ON, (entity.name, region.full_name))),
    )


def fresh_name(scene: Scene, stem: str) -> str:
    """Return a name that is not used in the scene: the stem followed by a number."""
    taken = {entity.name for entity in scene.entities}
    return next(name for number in range(1, len(taken) + 2) if (name := f"{stem}_{number}") not in taken)


def named_entity(scene: Scene, name: str) -> Entity:
    """Return the entity with the given name. If there is none, PerturbationError suggests the closest name."""
    for entity in scene.entities:
        if entity.name == name:
            return entity
    names = [entity.name for entity in scene.entities]
    raise PerturbationError(f"there is no '{name}' in the scene: {did_you_mean(name, names)}")


def movable_entity(task: Task, thing: str, kind: str, change: str) -> Entity:
    """Return the movable object named ``thing`` (if empty, the target). Raises PerturbationError for a fixture."""
    entity = named_entity(task.scene, thing or target(task))
    if entity in task.scene.fixtures:
        raise PerturbationError(f"{kind}: {entity.name} is a fixture; only movable objects can {change}")
    return entity


def target(task: Task) -> str:
    """Return the target of a task: the first movable object of its goal or, if it has none, its first fixture."""
    for atom in task.goal.atoms:
        if atom.arguments[0] in movable(task):
            return atom.arguments[0]
    return task.scene.owner(task.goal.atoms[0].arguments[0])


def movable(task: Task) -> frozenset[str]:
    """Return the names of the movable objects."""
    return frozenset(entity.name for entity in task.scene.objects)
