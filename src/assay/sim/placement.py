"""Draw where a scene's things stand from its regions and a seed.

Every entity has a random stream of its own: one more thing in a scene leaves the draws of the others as they
were, and they stand where they stood unless they collide with it.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import cos, sin
from types import MappingProxyType

import mujoco
import numpy as np

from assay.errors import PlacementError
from assay.sim.categories import OPENING, SWITCHING, Mechanism, resting_pose
from assay.sim.compile import CompiledScene, RegionIndex
from assay.sim.placement_scene import PlacementScene, RefusedError
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
