"""Things stand elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.errors import PerturbationError
from assay.perturb.base import perturbation
from assay.perturb.world.ground import TRIES, Ground, carrier, moved, named_entity, standing_region, target
from assay.tasks import Task

LARGEST = 0.6
"""Metres; a workspace is not larger."""


def _range(kind: str, name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise PerturbationError(f"{kind}: {name}={value:g}; valid: {low:g} to {high:g}")


@perturbation
@dataclass(frozen=True, slots=True)
class Jitter:
    """Every thing on the workspace that has room stands up to ``radius`` metres from where it stood."""

    kind: ClassVar[str] = "world/jitter"
    rebuilds: ClassVar[bool] = True

    radius: float

    def __post_init__(self) -> None:
        _range(self.kind, "radius", self.radius, 0.0, 0.2)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Moves things one after the other, each to a free place near its own."""
        scene, any_moved = task.scene, False
        for entity in task.scene.objects:
            if standing_region(scene, entity.name) is None:
                continue
            ground = Ground(scene)
            here = ground.spots[entity.name]
            for _ in range(TRIES):
                angle, distance = rng.uniform(0, 2 * np.pi), self.radius * np.sqrt(rng.random())
                dx, dy = float(distance * np.cos(angle)), float(distance * np.sin(angle))
                there = replace(here, x=here.x + dx, y=here.y + dy)
                if ground.free(there, without=(entity.name,)):
                    scene, any_moved = moved(scene, entity.name, dx, dy), True
                    break
        if not any_moved:
            raise PerturbationError(f"{self.kind}: nothing can be moved by up to {self.radius:g} m")
        return replace(task, scene=scene)


@perturbation
@dataclass(frozen=True, slots=True)
class Displace:
    """The thing a task is about stands exactly ``distance`` metres away, in a direction that is drawn."""

    kind: ClassVar[str] = "world/displace"
    rebuilds: ClassVar[bool] = True

    distance: float
    thing: str = ""
    """What is moved; what the task is about first, if empty."""

    def __post_init__(self) -> None:
        _range(self.kind, "distance", self.distance, 0.0, LARGEST)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Tries directions until one leads to a free place within reach."""
        name = named_entity(task.scene, self.thing or target(task)).name
        name = carrier(task.scene, name)
        ground = Ground(task.scene)
        here = ground.spots[name]
        for angle in rng.uniform(0, 2 * np.pi, size=TRIES):
            dx, dy = float(self.distance * np.cos(angle)), float(self.distance * np.sin(angle))
            if self.distance == 0 or ground.free(
                replace(here, x=here.x + dx, y=here.y + dy), without=(name,)
            ):
                return replace(task, scene=moved(task.scene, name, dx, dy))
        raise PerturbationError(f"{self.kind}: no free place {self.distance:g} m from {name}")


@perturbation
@dataclass(frozen=True, slots=True)
class Relocate:
    """Every thing on the workspace stands further off than its neighbours allow a jitter to bring it.

    The radius of a thing's move is ``share`` of the distance to its nearest neighbour, as LIBERO-X's second
    level has it (half of it).
    """

    kind: ClassVar[str] = "world/relocate"
    rebuilds: ClassVar[bool] = True

    share: float = 0.5

    def __post_init__(self) -> None:
        _range(self.kind, "share", self.share, 0.05, 2.0)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Moves things one after the other."""
        scene, spots = task.scene, Ground(task.scene).spots
        any_moved = False
        for entity in task.scene.objects:
            if entity.name not in spots:
                continue
            here = spots[entity.name]
            gaps = [here.distance(other) for name, other in spots.items() if name != entity.name]
            radius = self.share * min(gaps, default=0.3)
            ground = Ground(scene)
            for _ in range(TRIES):
                dx, dy = (float(each) for each in rng.uniform(-radius, radius, size=2))
                there = replace(here, x=here.x + dx, y=here.y + dy)
                if ground.free(there, without=(entity.name,)):
                    scene = moved(scene, entity.name, dx, dy)
                    any_moved = True
                    break
        if not any_moved:
            raise PerturbationError(f"{self.kind}: nothing on the workspace could be moved")
        return replace(task, scene=scene)


@perturbation
@dataclass(frozen=True, slots=True)
class Swap:
    """Two things exchange their places: the thing a task is about and another, unless they are named."""

    kind: ClassVar[str] = "world/swap"
    rebuilds: ClassVar[bool] = True

    first: str = ""
    second: str = ""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Tries partners in random order until everybody fits."""
        scene = task.scene
        one = carrier(scene, named_entity(scene, self.first or target(task)).name)
        ground = Ground(scene)
        movable = [each.name for each in scene.objects if each.name in ground.spots and each.name != one]
        partners = [named_entity(scene, self.second).name] if self.second else list(rng.permutation(movable))
        for other in map(str, partners):
            if other not in ground.spots:
                continue
            here, there = ground.spots[one], ground.spots[other]
            fits = [
                ground.free(replace(here, x=there.x, y=there.y), without=(one, other)),
                ground.free(replace(there, x=here.x, y=here.y), without=(one, other)),
            ]
            if all(fits):
                dx, dy = there.x - here.x, there.y - here.y
                return replace(task, scene=moved(moved(scene, one, dx, dy), other, -dx, -dy))
        raise PerturbationError(f"{self.kind}: {one} has nobody it could change places with")


@perturbation
@dataclass(frozen=True, slots=True)
class MoveFixture:
    """A fixture stands elsewhere: up to ``distance`` metres off."""

    kind: ClassVar[str] = "world/move_fixture"
    rebuilds: ClassVar[bool] = True

    distance: float = 0.1
    fixture: str = ""
    """Which one; any that can be moved, if empty."""

    def __post_init__(self) -> None:
        _range(self.kind, "distance", self.distance, 0.02, LARGEST)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Tries fixtures in random order, and places, half the distance off at least."""
        ground = Ground(task.scene)
        fixtures = [each.name for each in task.scene.fixtures if each.name in ground.spots]
        wanted = [named_entity(task.scene, self.fixture).name] if self.fixture else rng.permutation(fixtures)
        for name in (str(each) for each in wanted if each in ground.spots):
            here, others = ground.spots[name], [spot for each, spot in ground.spots.items() if each != name]
            for _ in range(TRIES):
                angle, distance = rng.uniform(0, 2 * np.pi), self.distance * rng.uniform(0.5, 1.0)
                dx, dy = float(distance * np.cos(angle)), float(distance * np.sin(angle))
                there = replace(here, x=here.x + dx, y=here.y + dy)
                if abs(there.y) < 0.5 and not any(there.overlaps(other) for other in others):
                    return replace(task, scene=moved(task.scene, name, dx, dy))
        raise PerturbationError(f"{self.kind}: no fixture can be moved by {self.distance:g} m")
