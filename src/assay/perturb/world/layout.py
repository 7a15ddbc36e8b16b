"""Perturbations that add objects to the workspace: distractors, doubles of the target, obstacles."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation, within
from assay.errors import PerturbationError
from assay.perturb.world.ground import Ground, add_entity, carrier, fresh_name, movable_entity, target
from assay.perturb.world.kinds import check_category, small, sort_of
from assay.perturb.world.spoken import Spoken, matches_colour, named_colours
from assay.sim.footprints import footprint
from assay.tasks import Entity, Task
from assay.tasks.language.lexicon import mentions, names_of
from assay.tasks.scene import Colour, Finish

_PLACES = 20
"""Number of positions that are tried for a double that differs from the original only in location."""


@perturbation
class Distractors(Perturbation):
    """Adds distractors: objects of sorts that the goal does not involve and the instruction does not name."""

    kind = "world/distractors"
    effects = frozenset({Effect.PHYSICS})
    change = Change.CLUTTER

    count: int = within(1, 8)
    """Number of objects."""
    categories: tuple[str, ...] = ()
    """Categories to choose from; if empty, all small objects that are not in the scene."""

    def __post_init__(self) -> None:
        Perturbation.__post_init__(self)
        for category in self.categories:
            check_category(category, movable=True)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Add the objects one by one, each at a free position."""
        scene = task.scene
        present = {entity.category for entity in scene.entities}
        about = set(task.goal_entities)
        taken = {sort_of(entity.category) for entity in scene.entities if entity.name in about}
        pool = sorted(
            category
            for category in self.categories or small() - present
            if sort_of(category) not in taken
            and not any(mentions(task.instruction.text, name) for name in names_of(category))
        )
        if not pool:
            raise PerturbationError(
                f"{self.kind}: '{task.instruction.text}' already names every object that could be added"
            )
        for number in range(1, self.count + 1):
            drawn = str(pool[int(rng.integers(len(pool)))])
            smaller = sorted(
                (category for category in pool if _area(category) < _area(drawn)), key=_area, reverse=True
            )
            for snug, category in product((False, True), (drawn, *smaller)):
                entity = Entity(fresh_name(scene, f"distractor_{category}"), category)
                spot = Ground(scene, task.goal, snug=snug).anywhere(rng, entity)
                if spot is not None:
                    scene = add_entity(scene, entity, spot)
                    break
            else:
                which = f"object {number} of {self.count}"
                raise PerturbationError(
                    f"{self.kind}: no room in view for {drawn} or a smaller object ({which})"
                )
        return replace(task, scene=scene)


@perturbation
class Confound(Perturbation):
    """Adds a double of the target: an object of the same category, optionally in another colour.

    The instruction must distinguish original and double, by location or by a colour that the double lacks.
    """

    kind = "world/confound"
    effects = frozenset({Effect.PHYSICS})
    change = Change.CLUTTER

    colour: Colour | None = within(0.0, 1.0, default=None)
    """Colour of the double (red, green, blue); the original's colour if None."""
    thing: str = ""
    """Name of the object to double; the target if empty."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Add the double at a free position."""
        original = movable_entity(task, self.thing, self.kind, "be doubled")
        finish = original.finish if self.colour is None else Finish(self.colour)
        double = replace(original, name=fresh_name(task.scene, f"{original.name}_double"), finish=finish)
        ground, spoken = Ground(task.scene, task.goal), Spoken(task)
        by_colour = self.colour is not None and not matches_colour(named_colours(task, original), self.colour)
        relations = [
            replace(relation, lookalikes=(*relation.lookalikes, double.name))
            for relation in spoken.about(carrier(task.scene, original.name))
        ]
        if not by_colour and not relations:
            raise PerturbationError(
                f"{self.kind}: '{task.instruction.text}' does not distinguish {original.name} from its double"
            )
        for _ in range(_PLACES):
            spot = ground.anywhere(rng, double)
            if spot is None:
                break
            spots = {**spoken.spots, double.name: spot}
            if by_colour or any(relation.identifies(spots) for relation in relations):
                return replace(task, scene=add_entity(task.scene, double, spot))
        reason = f"{self.kind}: no room in view for a second {original.category}"
        raise PerturbationError(reason if by_colour else reason + spoken.condition)


@perturbation
class Obstacle(Perturbation):
    """Puts a tall object between the target and its destination."""

    kind = "world/obstacle"
    effects = frozenset({Effect.PHYSICS})
    change = Change.CLUTTER

    category: str = "milk"
    """Category of the obstacle."""

    def __post_init__(self) -> None:
        check_category(self.category)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Put the obstacle at the free position closest to the midpoint between target and destination."""
        ground = Ground(task.scene, task.goal)
        name = target(task)
        goal = next((a for a in task.goal.atoms if len(a.arguments) > 1 and a.arguments[0] == name), None)
        if goal is None:
            raise PerturbationError(
                f"{self.kind}: no object is carried in this task, so there is no path to obstruct"
            )
        owner = task.scene.owner(goal.arguments[-1])
        if name not in ground.spots or owner not in ground.spots:
            raise PerturbationError(f"{self.kind}: {name} or its destination is not within the workspace")
        here, there = ground.spots[name], ground.spots[owner]
        middle = np.array([here.x + there.x, here.y + there.y]) / 2
        half = footprint(self.category).half
        entity = Entity(fresh_name(task.scene, f"obstacle_{self.category}"), self.category)
        for radius in np.linspace(0.0, 0.1, 21):
            for angle in rng.uniform(0, 2 * np.pi, size=8):
                x, y = middle + radius * np.array([np.cos(angle), np.sin(angle)])
                spot = replace(here, x=float(x), y=float(y), half_x=half[0], half_y=half[1])
                scene = add_entity(task.scene, entity, spot)
                if ground.free(spot) and ground.in_view(scene):
                    return replace(task, scene=scene)
        raise PerturbationError(f"{self.kind}: no room in view between {name} and {owner}")


def _area(category: str) -> float:
    half_x, half_y = footprint(category).half
    return half_x * half_y
