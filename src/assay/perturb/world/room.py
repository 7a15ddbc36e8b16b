"""Another room, other surfaces, other light, other cameras, another start of the robot."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.errors import PerturbationError, did_you_mean
from assay.perturb.base import perturbation
from assay.perturb.world.objects import HUES
from assay.sim.render import CAMERAS
from assay.tasks import Arena, Atom, Region, Scene, Task
from assay.tasks.staging import (
    CameraChange,
    Colour,
    Finish,
    Lighting,
    Pattern,
    RobotStart,
    Surface,
    Vector3,
)

LIFTS = {Arena.STUDY: 0.018, Arena.FLOOR: 0.02}
"""How much higher fixtures must stand in rooms where LIBERO never puts one, metres."""
LARGEST_TURN = 0.6
"""Radians."""


@perturbation
@dataclass(frozen=True, slots=True)
class Room:
    """The same things in another arena."""

    kind: ClassVar[str] = "world/room"
    rebuilds: ClassVar[bool] = True

    arena: Arena

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Renames what belongs to the old workspace."""
        if task.scene.arena is self.arena:
            raise PerturbationError(f"{self.kind}: {task.id} is in the {self.arena} already")
        old, new = task.scene.arena.workspace, self.arena.workspace

        def renamed(name: str) -> str:
            region = task.scene.region(name)
            on_workspace = name == old or (region is not None and region.target == old)
            return new + name.removeprefix(old) if on_workspace else name

        def atom(each: Atom) -> Atom:
            return Atom(each.predicate, tuple(renamed(name) for name in each.arguments))

        def region(each: Region) -> Region:
            return replace(each, target=new) if each.target == old else each

        scene = replace(
            task.scene,
            arena=self.arena,
            staging=replace(task.scene.staging, lift=LIFTS.get(self.arena, 0.0)),
            style="",
            regions=tuple(map(region, task.scene.regions)),
            initial=tuple(map(atom, task.scene.initial)),
        )
        goal = replace(task.goal, atoms=tuple(map(atom, task.goal.atoms)))
        return replace(task, scene=scene, goal=goal, of_interest=tuple(map(renamed, task.of_interest)))


@perturbation
@dataclass(frozen=True, slots=True)
class Repaint:
    """A surface of the room looks different."""

    kind: ClassVar[str] = "world/repaint"
    rebuilds: ClassVar[bool] = True

    surface: Surface
    colour: Colour | None = None
    """Drawn if there is none."""
    pattern: Pattern | None = None

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Adds a finish to the staging."""
        colour = self.colour or HUES[int(rng.integers(len(HUES)))]
        others = tuple(each for each in task.scene.staging.surfaces if each[0] is not self.surface)
        surfaces = (*others, (self.surface, Finish(colour, self.pattern)))
        return _staged(task, surfaces=surfaces)


@perturbation
@dataclass(frozen=True, slots=True)
class Relight:
    """Other light: brighter or darker, coloured, from another side, with or without shadows."""

    kind: ClassVar[str] = "world/light"
    rebuilds: ClassVar[bool] = True

    intensity: float = 1.0
    colour: Colour = (1.0, 1.0, 1.0)
    tilt: tuple[float, float] = (0.0, 0.0)
    shadows: bool | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.intensity <= 3.0:
            raise PerturbationError(f"{self.kind}: intensity={self.intensity:g}; valid: 0 to 3")
        if not all(0.0 <= value <= 2.0 for value in self.colour):
            raise PerturbationError(f"{self.kind}: colour={self.colour}; valid: three factors from 0 to 2")
        if max(map(abs, self.tilt)) > 1.2:
            raise PerturbationError(f"{self.kind}: tilt={self.tilt}; valid: up to 1.2 radians")

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Changes the staging."""
        lighting = Lighting(self.intensity, self.colour, self.tilt, self.shadows)
        return _staged(task, lighting=lighting)


@perturbation
@dataclass(frozen=True, slots=True)
class MoveCamera:
    """A camera stands, looks or zooms differently."""

    kind: ClassVar[str] = "world/camera"
    rebuilds: ClassVar[bool] = True

    camera: str = "agentview"
    shift: Vector3 = (0.0, 0.0, 0.0)
    """Metres."""
    turn: Vector3 = (0.0, 0.0, 0.0)
    """Radians: up and down, left and right, roll."""
    zoom: float = 1.0
    """Factor on the field of view."""

    def __post_init__(self) -> None:
        if self.camera not in CAMERAS:
            raise PerturbationError(
                f"{self.kind}: there is no camera '{self.camera}': {did_you_mean(self.camera, CAMERAS)}"
            )
        if max(map(abs, self.shift)) > 1.0 or max(map(abs, self.turn)) > LARGEST_TURN:
            raise PerturbationError(
                f"{self.kind}: valid: shifts up to 1 m, turns up to {LARGEST_TURN:g} radians"
            )
        if not 0.5 <= self.zoom <= 1.8:
            raise PerturbationError(f"{self.kind}: zoom={self.zoom:g}; valid: 0.5 to 1.8")

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Changes the staging."""
        change = CameraChange(self.camera, self.shift, self.turn, self.zoom)
        others = tuple(each for each in task.scene.staging.cameras if each.name != self.camera)
        return _staged(task, cameras=(*others, change))


@perturbation
@dataclass(frozen=True, slots=True)
class StartPose:
    """The arm starts with other joint angles, or stands elsewhere."""

    kind: ClassVar[str] = "world/robot"
    rebuilds: ClassVar[bool] = True

    joints: float = 0.0
    """How far each joint is off at most, radians; drawn."""
    base: tuple[float, float] = (0.0, 0.0)
    """How far the base is off, metres."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.joints <= 0.5:
            raise PerturbationError(f"{self.kind}: joints={self.joints:g}; valid: 0 to 0.5 radians")
        if max(map(abs, self.base)) > 0.15:
            raise PerturbationError(f"{self.kind}: base={self.base}; valid: up to 0.15 m")

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Changes the staging."""
        angles = rng.uniform(-self.joints, self.joints, size=7) if self.joints else np.zeros(7)
        a, b, c, d, e, f, g = map(float, angles)
        return _staged(task, robot=RobotStart((a, b, c, d, e, f, g), self.base))


def _staged(task: Task, **changes: object) -> Task:
    scene: Scene = replace(task.scene, staging=replace(task.scene.staging, **changes))  # type: ignore[arg-type]
    return replace(task, scene=scene)
