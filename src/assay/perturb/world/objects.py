"""Things look different, are of another size or kind, or are gone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from assay.errors import PerturbationError, did_you_mean
from assay.perturb.base import perturbation
from assay.perturb.world.ground import Ground, added, fresh_name, named_entity, target
from assay.sim.footprints import footprint
from assay.sim.packs.primitives import PrimitivesPack
from assay.tasks import Entity, Scene, Task
from assay.tasks.staging import Colour, Finish, Pattern

HUES = (
    (0.85, 0.15, 0.15),
    (0.15, 0.45, 0.85),
    (0.2, 0.65, 0.25),
    (0.95, 0.8, 0.2),
    (0.6, 0.3, 0.7),
    (0.95, 0.5, 0.1),
)
"""What a colour is drawn from: red, blue, green, yellow, purple, orange."""


@perturbation
@dataclass(frozen=True, slots=True)
class Recolour:
    """A thing has another colour, or a pattern."""

    kind: ClassVar[str] = "world/recolour"
    rebuilds: ClassVar[bool] = True

    colour: Colour | None = None
    """Red, green, blue from 0 to 1; drawn if there is none."""
    pattern: Pattern | None = None
    thing: str = ""
    """What the task is about first, if empty."""

    def __post_init__(self) -> None:
        if self.colour is not None and not all(0.0 <= value <= 1.0 for value in self.colour):
            raise PerturbationError(f"{self.kind}: colour={self.colour}; valid: three numbers from 0 to 1")

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Changes the finish of one entity."""
        entity = named_entity(task.scene, self.thing or target(task))
        colour = self.colour or HUES[int(rng.integers(len(HUES)))]
        return _with(task, replace(entity, finish=Finish(colour, self.pattern)))


@perturbation
@dataclass(frozen=True, slots=True)
class Resize:
    """A thing is larger or smaller, by a factor."""

    kind: ClassVar[str] = "world/resize"
    rebuilds: ClassVar[bool] = True

    factor: float
    thing: str = ""

    def __post_init__(self) -> None:
        if not 0.5 <= self.factor <= 1.5:
            raise PerturbationError(f"{self.kind}: factor={self.factor:g}; valid: 0.5 to 1.5")

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Changes the size of one movable entity."""
        entity = named_entity(task.scene, self.thing or target(task))
        if entity in task.scene.fixtures:
            raise PerturbationError(
                f"{self.kind}: {entity.name} is a fixture; only movable things change size"
            )
        return _with(task, replace(entity, size=entity.size * self.factor))


@perturbation
@dataclass(frozen=True, slots=True)
class Replace:
    """A thing is of another category, under its old name: the goal is about the new thing."""

    kind: ClassVar[str] = "world/replace"
    rebuilds: ClassVar[bool] = True

    category: str
    thing: str = ""

    def __post_init__(self) -> None:
        _known(self.category)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Changes the category of one movable entity."""
        entity = named_entity(task.scene, self.thing or target(task))
        if entity in task.scene.fixtures:
            raise PerturbationError(
                f"{self.kind}: {entity.name} is a fixture; only movable things are replaced"
            )
        for region in task.scene.regions:
            if region.target == entity.name:
                raise PerturbationError(
                    f"{self.kind}: {entity.name} has a region that {self.category} would not have"
                )
        changed = _with(task, replace(entity, category=self.category))
        ground = Ground(changed.scene)
        spot = ground.spots.get(entity.name)
        if spot is not None and not ground.free(spot, without=(entity.name,)):
            raise PerturbationError(f"{self.kind}: {self.category} has no room where {entity.name} stands")
        return changed


@perturbation
@dataclass(frozen=True, slots=True)
class Remove:
    """The thing a task is about is gone. Implausible: nobody can do the task."""

    kind: ClassVar[str] = "world/remove"
    rebuilds: ClassVar[bool] = True
    plausible: ClassVar[bool] = False

    thing: str = ""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Takes the thing out of the scene; the goal still names it, and cannot be reached."""
        entity = named_entity(task.scene, self.thing or target(task))
        return replace(task, scene=without(task.scene, entity))


@perturbation
@dataclass(frozen=True, slots=True)
class Distractors:
    """More things on the workspace that the task is not about."""

    kind: ClassVar[str] = "world/distractors"
    rebuilds: ClassVar[bool] = True

    count: int
    categories: tuple[str, ...] = ()
    """What they are drawn from; anything small that the scene does not have, if empty."""

    def __post_init__(self) -> None:
        if not 1 <= self.count <= 8:
            raise PerturbationError(f"{self.kind}: count={self.count}; valid: 1 to 8")
        for category in self.categories:
            _known(category)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Adds them one after the other, each to a free place."""
        scene = task.scene
        present = {entity.category for entity in scene.entities}
        pool = sorted(self.categories or set(SMALL) - present)
        for number in range(self.count):
            category = str(pool[int(rng.integers(len(pool)))])
            entity = Entity(fresh_name(scene, f"distractor_{category}"), category)
            spot = Ground(scene).anywhere(rng, entity)
            if spot is None:
                raise PerturbationError(f"{self.kind}: no room for {category}, the number {number + 1}")
            scene = added(scene, entity, spot)
        return replace(task, scene=scene)


@perturbation
@dataclass(frozen=True, slots=True)
class Confound:
    """Another thing that looks like the one a task is about: of the same kind, perhaps in another colour."""

    kind: ClassVar[str] = "world/confound"
    rebuilds: ClassVar[bool] = True

    colour: Colour | None = None
    """Of the double; as the original if there is none."""
    thing: str = ""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Adds a double to a free place."""
        original = named_entity(task.scene, self.thing or target(task))
        finish = original.finish if self.colour is None else Finish(self.colour)
        double = replace(original, name=fresh_name(task.scene, f"{original.name}_double"), finish=finish)
        spot = Ground(task.scene).anywhere(rng, double)
        if spot is None:
            raise PerturbationError(f"{self.kind}: no room for a second {original.category}")
        return replace(task, scene=added(task.scene, double, spot))


@perturbation
@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something tall stands between the thing a task is about and where it goes."""

    kind: ClassVar[str] = "world/obstacle"
    rebuilds: ClassVar[bool] = True

    category: str = "milk"

    def __post_init__(self) -> None:
        _known(self.category)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Puts it as near to the middle of the way as there is room."""
        ground = Ground(task.scene)
        name = target(task)
        goal = next(atom for atom in task.goal.atoms if atom.arguments[0] == name)
        region = task.scene.region(goal.arguments[-1])
        owner = region.target if region is not None else goal.arguments[-1]
        if name not in ground.spots or owner not in ground.spots:
            raise PerturbationError(f"{self.kind}: {name} or its goal does not stand on the workspace")
        here, there = ground.spots[name], ground.spots[owner]
        middle = np.array([here.x + there.x, here.y + there.y]) / 2
        half = footprint(self.category).half
        for radius in np.linspace(0.0, 0.1, 21):
            for angle in rng.uniform(0, 2 * np.pi, size=8):
                x, y = middle + radius * np.array([np.cos(angle), np.sin(angle)])
                spot = replace(here, x=float(x), y=float(y), half_x=half[0], half_y=half[1])
                if ground.free(spot):
                    entity = Entity(fresh_name(task.scene, f"obstacle_{self.category}"), self.category)
                    return replace(task, scene=added(task.scene, entity, spot))
        raise PerturbationError(f"{self.kind}: no room between {name} and {owner}")


SMALL = (
    "alphabet_soup", "bbq_sauce", "butter", "chocolate_pudding", "cookies", "cream_cheese", "ketchup", "milk",
    "orange_juice", "porcelain_mug", "red_coffee_mug", "salad_dressing", "tomato_sauce", "wine_bottle",
)  # fmt: skip
"""Categories that serve as distractors."""


def without(scene: Scene, entity: Entity) -> Scene:
    """A scene that lacks a movable thing; what stood on it goes too."""
    gone = {entity.name}
    while True:
        resting = {
            atom.arguments[0]
            for atom in scene.initial
            if len(atom.arguments) == 2
            and (
                atom.arguments[1] in gone
                or ((region := scene.region(atom.arguments[1])) is not None and region.target in gone)
            )
        }
        if resting <= gone:
            break
        gone |= resting
    return replace(
        scene,
        objects=tuple(each for each in scene.objects if each.name not in gone),
        absent=(*scene.absent, *sorted(gone)),
        initial=tuple(atom for atom in scene.initial if atom.arguments[0] not in gone),
    )


def _with(task: Task, changed: Entity) -> Task:
    """A task with one entity changed."""

    def exchanged(entities: tuple[Entity, ...]) -> tuple[Entity, ...]:
        return tuple(changed if each.name == changed.name else each for each in entities)

    scene = replace(
        task.scene, objects=exchanged(task.scene.objects), fixtures=exchanged(task.scene.fixtures)
    )
    return replace(task, scene=scene)


def _known(category: str) -> None:
    known = PrimitivesPack().categories
    if category not in known:
        raise PerturbationError(f"there is no category '{category}': {did_you_mean(category, known)}")
