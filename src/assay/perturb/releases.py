"""What releases do to a task, where no perturbation of ours does exactly that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from assay.perturb.world.staging import Room
from assay.sim.layout import HOME, LAYOUTS
from assay.tasks import Arena, Atom, Entity, Region, Task
from assay.tasks.scene import CameraChange

PLACING = (tasks.Predicate.ON, tasks.Predicate.IN)


def places(task: Task) -> dict[str, str]:
    """Where each thing starts: its name -> the region, or the thing, that an initial relation puts it on or in."""
    return {atom.arguments[0]: atom.arguments[1] for atom in task.scene.initial if atom.predicate in PLACING}


@perturbation
@dataclass(frozen=True, slots=True)
class FromFile(Perturbation):
    """The scene and the goal of a task file; the instruction stays."""

    kind = "release/scene"
    effects = frozenset({Effect.PHYSICS})
    change = Change.WORLD

    file: str
    """The id of the task in the file: its path and digest."""

    @property
    def scene_file(self) -> str:
        """The id of the task whose scene it brings."""
        return self.file

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Reads the file. Raises TaskError where it is gone, or has changed."""
        other = tasks.load(self.file)
        return replace(task, scene=other.scene, goal=other.goal, of_interest=other.of_interest)


@perturbation
@dataclass(frozen=True, slots=True)
class Exchange(Perturbation):
    """Two things start in each other's place, whatever that leads to."""

    kind = "release/exchange"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION

    first: str
    second: str

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Exchanges the places in the initial relations."""
        found = places(task)
        for name in (self.first, self.second):
            if name not in found:
                raise PerturbationError(
                    f"{self.kind}: no initial relation places '{name}': {did_you_mean(name, found)}"
                )
        there = {self.first: found[self.second], self.second: found[self.first]}
        initial = tuple(
            Atom(atom.predicate, (atom.arguments[0], there[atom.arguments[0]]))
            if atom.predicate in PLACING and atom.arguments[0] in there
            else atom
            for atom in task.scene.initial
        )
        return replace(task, scene=replace(task.scene, initial=initial))


@perturbation
@dataclass(frozen=True, slots=True)
class Recategorise(Perturbation):
    """Everything of one category is of another, under its old name."""

    kind = "release/category"
    effects = frozenset({Effect.PHYSICS})
    change = Change.OBJECT

    old: str
    new: str

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Changes objects and fixtures. Whether the new category can be had is for the asset pack to say.

        A place that the new category does not have is left out where the task does not need it, as in LIBERO.
        """
        scene = task.scene
        if self.old not in {entity.category for entity in scene.entities}:
            known = {entity.category for entity in scene.entities}
            raise PerturbationError(f"{self.kind}: no '{self.old}' here: {did_you_mean(self.old, known)}")

        def changed(entities: tuple[Entity, ...]) -> tuple[Entity, ...]:
            return tuple(
                replace(entity, category=self.new) if entity.category == self.old else entity
                for entity in entities
            )

        objects, fixtures = changed(scene.objects), changed(scene.fixtures)
        regions = tuple(region for region in scene.regions if not self._is_lost(region, task))
        return replace(task, scene=replace(scene, objects=objects, fixtures=fixtures, regions=regions))

    def _is_lost(self, region: Region, task: Task) -> bool:
        """Whether a region is one that the new category does not have, and that nothing refers to."""
        owners = {entity.name for entity in task.scene.entities if entity.category == self.old}
        atoms = (*task.scene.initial, *task.goal.atoms)
        needed = {*task.of_interest, *(name for atom in atoms for name in atom.arguments)}
        if region.target not in owners or region.full_name in needed or not is_category(self.new):
            return False
        return region.name not in places_of(self.new)


@perturbation
@dataclass(frozen=True, slots=True)
class Unavailable(Perturbation):
    """Something that the release needs and that is not there: no episode with it can begin."""

    kind = "release/unavailable"
    effects = frozenset({Effect.PHYSICS})
    change = Change.WORLD

    reason: str
    what: str = ""
    """What cannot begin, such as a file; not said with the reason, so that reasons can be counted."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Raises PerturbationError with the reason."""
        raise PerturbationError(f"{self.kind}: {self.reason}")


Alternatives = tuple[tuple[str, tuple[str, ...]], ...]
"""Each thing, or category, with what may take its place."""
Choice = TypeVar("Choice")


@perturbation
@dataclass(frozen=True, slots=True)
class ExchangeEach(Perturbation):
    """Each of some things changes places with one of its alternatives; nothing moves twice."""

    kind = "release/exchange_each"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION

    alternatives: Alternatives
    """Names of things, each with those it may change places with."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draws in a drawn order, as the release does, among what has a place and has not moved yet."""
        free = set(places(task))
        moved = task
        for index in rng.permutation(len(self.alternatives)):
            name, others = self.alternatives[index]
            others = tuple(each for each in others if each in free and each != name)
            if name in free and others:
                other = _drawn(others, rng)
                moved = Exchange(name, other).apply(moved, rng)
                free -= {name, other}
        if moved is task:
            raise PerturbationError(f"{self.kind}: no initial relation places {_names(self.alternatives)}")
        return moved


@perturbation
@dataclass(frozen=True, slots=True)
class RecategoriseEach(Perturbation):
    """Everything of each of some categories is of another, drawn from its alternatives, under its old name."""

    kind = "release/category_each"
    effects = frozenset({Effect.PHYSICS})
    change = Change.OBJECT

    alternatives: Alternatives
    """Categories, each with those that may take its place; one that the scene does not have is left out."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draws one for each category."""
        present = {entity.category for entity in task.scene.entities}
        changed = task
        for category, others in self.alternatives:
            other = _drawn(others, rng)
            if category in present:
                changed = Recategorise(category, other).apply(changed, rng)
        if changed is task:
            raise PerturbationError(f"{self.kind}: the scene has none of {_names(self.alternatives)}")
        return changed


@perturbation
@dataclass(frozen=True, slots=True)
class AnyRoom(Perturbation):
    """The same things in one of some rooms."""

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
        """Draws the room."""
        return Room(_drawn(self.rooms, rng)).apply(task, rng)


@perturbation
@dataclass(frozen=True, slots=True)
class AnyWording(Perturbation):
    """One of some instructions for the same task."""

    kind = "release/any_wording"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING

    texts: tuple[str, ...]

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draws the instruction."""
        return Say(_drawn(self.texts, rng)).apply(task, rng)


@perturbation
@dataclass(frozen=True, slots=True)
class AnyGoal(Perturbation):
    """One of some other goals in the same scene, with its instruction."""

    kind = "release/any_goal"
    effects = frozenset({Effect.WORDS, Effect.GOAL})
    change = Change.TASK
    sets_vocabulary = True

    goals: Alternatives
    """Instructions, each with the atoms of its goal; none where the release's goal cannot be read."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draws the goal. Raises PerturbationError where it cannot be read."""
        text, goal = _drawn(self.goals, rng)
        if not goal:
            raise PerturbationError(f"{self.kind}: the release's goal of '{text}' cannot be read")
        return OtherTask(text, goal).apply(task, rng)


def _drawn(choices: Sequence[Choice], rng: np.random.Generator) -> Choice:
    if not choices:
        raise PerturbationError("there is nothing to draw from")
    return choices[int(rng.integers(len(choices)))]


def _names(alternatives: Alternatives) -> str:
    names: Iterable[str] = (name for name, _ in alternatives)
    return ", ".join(f"'{name}'" for name in names)


CAMERA = "agentview"
PIVOT = np.array([0.0, 0.0, 0.8])
"""What a view is turned about and moved away from, metres in the world."""
JOINTS = 7


@perturbation
@dataclass(frozen=True, slots=True)
class View(Perturbation):
    """The main camera on another place of a sphere around the workspace, or looking past its middle."""

    kind = "release/view"
    effects = frozenset({Effect.PHYSICS})
    change = Change.CAMERA

    horizontal: float = 0.0
    """Degrees about the vertical."""
    vertical: float = 0.0
    """Degrees upward."""
    distance: float = 1.0
    """Factor on the distance to the pivot."""
    turn: float = 0.0
    """Degrees that it then looks to the side."""
    tilt: float = 0.0
    """Degrees that it then looks up or down."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Moves and turns the camera."""
        from scipy.spatial.transform import Rotation  # a quarter of a second, and few need it

        usual = LAYOUTS[task.scene.arena].cameras[CAMERA]
        w, x, y, z = usual.quaternion
        before = Rotation.from_quat([x, y, z, w])
        up = Rotation.from_euler("y", -self.vertical, degrees=True)
        around = Rotation.from_euler("z", self.horizontal, degrees=True)
        position = around.apply(up.apply(np.array(usual.position) - PIVOT)) * self.distance + PIVOT
        looking = Rotation.from_euler("z", self.turn, degrees=True)
        looking = Rotation.from_euler("y", -self.tilt, degrees=True) * looking
        after = looking * around * up * before
        a, b, c = (before.inv() * after).as_euler("XYZ")
        dx, dy, dz = position - np.array(usual.position)
        change = CameraChange(CAMERA, (float(dx), float(dy), float(dz)), (float(a), float(b), float(c)))
        staging = task.scene.staging
        cameras = (*(camera for camera in staging.cameras if camera.name != CAMERA), change)
        return replace(task, scene=replace(task.scene, staging=replace(staging, cameras=cameras)))


@perturbation
@dataclass(frozen=True, slots=True)
class StartJoints(Perturbation):
    """The arm starts with given joint angles."""

    kind = "release/joints"
    effects = frozenset({Effect.PHYSICS})
    change = Change.ROBOT

    angles: tuple[float, ...]
    """Radians, (7,)."""

    def __post_init__(self) -> None:
        if len(self.angles) != JOINTS or not np.isfinite(self.angles).all():
            raise PerturbationError(f"{self.kind}: angles={self.angles}; valid: {JOINTS} numbers")

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Changes the staging."""
        a, b, c, d, e, f, g = (angle - usual for angle, usual in zip(self.angles, HOME, strict=True))
        staging = task.scene.staging
        robot = replace(staging.robot, joints=(a, b, c, d, e, f, g))
        return replace(task, scene=replace(task.scene, staging=replace(staging, robot=robot)))


@perturbation
@dataclass(frozen=True, slots=True)
class GaussianBlur(Severe):
    """A picture that is out of focus."""

    kind = "release/gaussian_blur"
    WIDTH: ClassVar[float] = 1 / 256
    """The standard deviation at each severity, as a share of the picture's height."""

    def changed(self, picture: np.ndarray, chance: Chance) -> np.ndarray:
        """The blurred picture."""
        radius = self.severity * self.WIDTH * picture.shape[0]
        return np.asarray(Image.fromarray(picture).filter(ImageFilter.GaussianBlur(radius)))
