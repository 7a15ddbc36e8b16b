"""Changes that other benchmarks' releases make to a task, where no perturbation of Assay is exactly the same.

LIBERO-PRO draws one alternative for each object of a task, and applies all of them together. The alternatives are
fields of the perturbation; the draw depends on task and seed alone, so it is the same in every combination of
dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np
from PIL import Image, ImageFilter

from assay import tasks
from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.episodes.senses import Chance
from assay.errors import PerturbationError, did_you_mean
from assay.perturb.senses.images import Severe
from assay.perturb.words.rewordings.designs import OtherTask
from assay.perturb.words.text import Say
from assay.perturb.world.kinds import is_category, places_of
from assay.perturb.world.staging import Room, with_staging
from assay.sim.layout import HOME, LAYOUTS
from assay.tasks import Arena, Atom, Entity, Predicate, Task
from assay.tasks.scene import CameraChange

PLACING = (Predicate.ON, Predicate.IN)
CAMERA = "agentview"
PIVOT = np.array([0.0, 0.0, 0.8])
"""Point about which a camera orbits, metres in the world frame."""
JOINTS = 7

Alternatives = tuple[tuple[str, tuple[str, ...]], ...]
"""Objects, categories or instructions, each with its alternatives."""
Choice = TypeVar("Choice")


@perturbation
@dataclass(frozen=True, slots=True)
class FromFile(Perturbation):
    """Takes the scene and the goal from a task file; the instruction stays."""

    kind = "release/scene"
    effects = frozenset({Effect.PHYSICS})
    change = Change.WORLD
    file: str
    """Id of the task in the file: its path and digest."""

    @property
    def scene_file(self) -> str:
        """Id of the task whose scene is used."""
        return self.file

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Read the file. Raises TaskError if it is missing or has changed."""
        other = tasks.load(self.file)
        return replace(task, scene=other.scene, goal=other.goal, of_interest=other.of_interest)


@perturbation
@dataclass(frozen=True, slots=True)
class Exchange(Perturbation):
    """Exchanges the initial places of two objects, without any check for collisions."""

    kind = "release/exchange"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION
    first: str
    second: str

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Exchange the places in the initial relations."""
        places = initial_places(task)
        for name in (self.first, self.second):
            if name not in places:
                raise PerturbationError(
                    f"{self.kind}: no initial relation places '{name}': {did_you_mean(name, places)}"
                )
        swapped = {self.first: places[self.second], self.second: places[self.first]}
        initial = tuple(
            Atom(atom.predicate, (atom.arguments[0], swapped[atom.arguments[0]]))
            if atom.predicate in PLACING and atom.arguments[0] in swapped
            else atom
            for atom in task.scene.initial
        )
        return replace(task, scene=replace(task.scene, initial=initial))


@perturbation
@dataclass(frozen=True, slots=True)
class Recategorise(Perturbation):
    """Changes every object of one category to another category; names stay."""

    kind = "release/category"
    effects = frozenset({Effect.PHYSICS})
    change = Change.OBJECT
    old: str
    new: str

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Change objects and fixtures; whether the new category exists is checked by the asset pack.

        Regions that the new category lacks are dropped if the task does not refer to them, as in LIBERO.
        """
        scene = task.scene
        owners = {entity.name for entity in scene.entities if entity.category == self.old}
        if not owners:
            categories = {entity.category for entity in scene.entities}
            raise PerturbationError(
                f"{self.kind}: no '{self.old}' here: {did_you_mean(self.old, categories)}"
            )
        atoms = (*scene.initial, *task.goal.atoms)
        needed = {*task.of_interest, *(name for atom in atoms for name in atom.arguments)}
        regions = tuple(
            region
            for region in scene.regions
            if region.target not in owners
            or region.full_name in needed
            or not is_category(self.new)
            or region.name in places_of(self.new)
        )

        def recategorise(entities: tuple[Entity, ...]) -> tuple[Entity, ...]:
            return tuple(
                replace(entity, category=self.new) if entity.name in owners else entity for entity in entities
            )

        objects, fixtures = recategorise(scene.objects), recategorise(scene.fixtures)
        return replace(task, scene=replace(scene, objects=objects, fixtures=fixtures, regions=regions))


@perturbation
@dataclass(frozen=True, slots=True)
class Unavailable(Perturbation):
    """Placeholder for a missing part of a release: its episodes cannot start."""

    kind = "release/unavailable"
    effects = frozenset({Effect.PHYSICS})
    change = Change.WORLD
    reason: str
    what: str = ""
    """Missing item, such as a file; not part of the reason, so that equal reasons can be counted."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Raise PerturbationError with the reason."""
        raise PerturbationError(f"{self.kind}: {self.reason}")


@perturbation
@dataclass(frozen=True, slots=True)
class ExchangeEach(Perturbation):
    """Exchanges each of several objects with one of its alternatives; no object moves twice."""

    kind = "release/exchange_each"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION
    alternatives: Alternatives
    """Object names, each with the names of possible partners."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draw in a random order, as the release does, among objects that have a place and have not moved yet."""
        free = set(initial_places(task))
        moved = task
        for index in rng.permutation(len(self.alternatives)):
            name, others = self.alternatives[index]
            others = tuple(other for other in others if other in free and other != name)
            if name in free and others:
                other = _draw(others, rng)
                moved = Exchange(name, other).apply(moved, rng)
                free -= {name, other}
        if moved is task:
            names = ", ".join(f"'{name}'" for name, _ in self.alternatives)
            raise PerturbationError(f"{self.kind}: no initial relation places {names}")
        return moved


@perturbation
@dataclass(frozen=True, slots=True)
class RecategoriseEach(Perturbation):
    """Changes every object of several categories to a drawn category; names stay."""

    kind = "release/category_each"
    effects = frozenset({Effect.PHYSICS})
    change = Change.OBJECT
    alternatives: Alternatives
    """Categories, each with its alternatives; categories that are not in the scene are left out."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draw one alternative for each category."""
        present = {entity.category for entity in task.scene.entities}
        changed = task
        for category, others in self.alternatives:
            other = _draw(others, rng)
            if category in present:
                changed = Recategorise(category, other).apply(changed, rng)
        if changed is task:
            names = ", ".join(f"'{name}'" for name, _ in self.alternatives)
            raise PerturbationError(f"{self.kind}: the scene has none of {names}")
        return changed


@perturbation
@dataclass(frozen=True, slots=True)
class AnyRoom(Perturbation):
    """Moves the scene to one of several rooms."""

    kind = "release/any_room"
    effects = frozenset({Effect.PHYSICS})
    change = Change.ROOM
    sets_vocabulary = True
    rooms: tuple[Arena, ...]

    def __post_init__(self) -> None:
        if not self.rooms or not all(isinstance(room, Arena) for room in self.rooms):
            raise PerturbationError(
                f"{self.kind}: rooms={self.rooms}; valid: one or more of {', '.join(Arena)}"
            )

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draw the room."""
        return Room(_draw(self.rooms, rng)).apply(task, rng)


@perturbation
@dataclass(frozen=True, slots=True)
class AnyWording(Perturbation):
    """Replaces the instruction by one of several for the same task."""

    kind = "release/any_wording"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING
    texts: tuple[str, ...]

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draw the instruction."""
        return Say(_draw(self.texts, rng)).apply(task, rng)


@perturbation
@dataclass(frozen=True, slots=True)
class AnyGoal(Perturbation):
    """Replaces the goal by one of several others in the same scene, with its instruction."""

    kind = "release/any_goal"
    effects = frozenset({Effect.WORDS, Effect.GOAL})
    change = Change.TASK
    sets_vocabulary = True
    goals: Alternatives
    """Instructions, each with the atoms of its goal; no atoms if the release's goal cannot be read."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draw the goal. Raises PerturbationError if it cannot be read."""
        text, goal = _draw(self.goals, rng)
        if not goal:
            raise PerturbationError(f"{self.kind}: the release's goal of '{text}' cannot be read")
        return OtherTask(text, goal).apply(task, rng)


@perturbation
@dataclass(frozen=True, slots=True)
class SphereView(Perturbation):
    """Moves the main camera on a sphere around the workspace, or turns it away from the centre."""

    kind = "release/view"
    effects = frozenset({Effect.PHYSICS})
    change = Change.CAMERA
    horizontal: float = 0.0
    """Angle about the vertical, degrees."""
    vertical: float = 0.0
    """Angle upward, degrees."""
    distance: float = 1.0
    """Factor on the distance to the pivot."""
    turn: float = 0.0
    """Subsequent pan of the camera, degrees."""
    tilt: float = 0.0
    """Subsequent tilt of the camera, degrees."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Move and turn the camera."""
        from scipy.spatial.transform import Rotation  # importing it takes a quarter of a second

        usual = LAYOUTS[task.scene.arena].cameras[CAMERA]
        before = Rotation.from_quat(usual.quaternion, scalar_first=True)
        up = Rotation.from_euler("y", -self.vertical, degrees=True)
        around = Rotation.from_euler("z", self.horizontal, degrees=True)
        position = around.apply(up.apply(np.array(usual.position) - PIVOT)) * self.distance + PIVOT
        aside = Rotation.from_euler("z", self.turn, degrees=True)
        aside = Rotation.from_euler("y", -self.tilt, degrees=True) * aside
        a, b, c = (before.inv() * (aside * around * up * before)).as_euler("XYZ").tolist()
        x, y, z = (position - np.array(usual.position)).tolist()
        others = (camera for camera in task.scene.staging.cameras if camera.name != CAMERA)
        return with_staging(task, cameras=(*others, CameraChange(CAMERA, (x, y, z), (a, b, c))))


@perturbation
@dataclass(frozen=True, slots=True)
class StartJoints(Perturbation):
    """Starts the arm with given joint angles."""

    kind = "release/joints"
    effects = frozenset({Effect.PHYSICS})
    change = Change.ROBOT
    angles: tuple[float, ...]
    """Joint angles, radians, (7,)."""

    def __post_init__(self) -> None:
        if len(self.angles) != JOINTS or not np.isfinite(self.angles).all():
            raise PerturbationError(f"{self.kind}: angles={self.angles}; valid: {JOINTS} numbers")

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Set the initial joint angles in the staging."""
        a, b, c, d, e, f, g = (angle - usual for angle, usual in zip(self.angles, HOME, strict=True))
        return with_staging(task, robot=replace(task.scene.staging.robot, joints=(a, b, c, d, e, f, g)))


@perturbation
@dataclass(frozen=True, slots=True)
class GaussianBlur(Severe):
    """Blurs images as if out of focus."""

    kind = "release/gaussian_blur"
    WIDTH: ClassVar[float] = 1 / 256
    """Standard deviation per severity level, as a share of the image height."""

    def alter(self, image: np.ndarray, chance: Chance) -> np.ndarray:
        """Blur the image."""
        radius = self.severity * self.WIDTH * image.shape[0]
        return np.asarray(Image.fromarray(image).filter(ImageFilter.GaussianBlur(radius)))


def initial_places(task: Task) -> dict[str, str]:
    """Map each object to the region or object that an initial relation puts it on or in."""
    return {atom.arguments[0]: atom.arguments[1] for atom in task.scene.initial if atom.predicate in PLACING}


def _draw(choices: Sequence[Choice], rng: np.random.Generator) -> Choice:
    if not choices:
        raise PerturbationError("there is nothing to draw from")
    return choices[int(rng.integers(len(choices)))]
