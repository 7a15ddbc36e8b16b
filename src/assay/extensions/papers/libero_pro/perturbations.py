"""Changes that LIBERO-PRO makes to a task and that no other perturbation of Assay reproduces exactly.

The release draws one alternative for each object of a task and applies them all together. The alternatives are
fields of the perturbation; the draw depends only on the task and the seed, so it is the same in every combination of
dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.errors import PerturbationError, did_you_mean
from assay.perturb.words.rewordings.designs import OtherTask
from assay.perturb.words.text import Say
from assay.perturb.world.kinds import is_category, places_of
from assay.perturb.world.staging import Room
from assay.tasks import Arena, Atom, Entity, Predicate, Task

PLACING = (Predicate.ON, Predicate.IN)

Alternatives = tuple[tuple[str, tuple[str, ...]], ...]
"""Objects, categories or instructions, each with its alternatives."""
Choice = TypeVar("Choice")


@perturbation
class Exchange(Perturbation):
    """Exchanges the initial positions of two objects, without checking for collisions."""

    kind = "release/exchange"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION
    first: str
    second: str

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Exchange the objects' positions in the initial relations."""
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
class Recategorise(Perturbation):
    """Replaces every object of one category with an object of another category, keeping the object names."""

    kind = "release/category"
    effects = frozenset({Effect.PHYSICS})
    change = Change.OBJECT
    old: str
    new: str

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Change objects and fixtures; the asset pack checks whether the new category exists.

        Regions that the new category lacks are dropped if the task does not refer to them, as in LIBERO.
        """
        scene = task.scene
        owners = {entity.name for entity in scene.entities if entity.category == self.old}
        if not owners:
            categories = {entity.category for entity in scene.entities}
            raise PerturbationError(
                f"{self.kind}: the scene contains no '{self.old}': {did_you_mean(self.old, categories)}"
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
class ExchangeEach(Perturbation):
    """Swaps the position of each of several objects with that of a random partner; no object is moved twice."""

    kind = "release/exchange_each"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION
    alternatives: Alternatives
    """Object names, each with the names of its possible partners."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draw a partner for each object in random order, as the release does; those already moved are skipped."""
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
class RecategoriseEach(Perturbation):
    """Replaces all objects of several categories with objects of random categories, keeping the object names."""

    kind = "release/category_each"
    effects = frozenset({Effect.PHYSICS})
    change = Change.OBJECT
    alternatives: Alternatives
    """Categories, each with its alternatives; categories that do not occur in the scene are ignored."""

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
            raise PerturbationError(f"{self.kind}: the scene contains none of {names}")
        return changed


@perturbation
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
                f"{self.kind}: rooms={self.rooms}; expected one or more of {', '.join(Arena)}"
            )

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draw a room and move the scene to it."""
        return Room(_draw(self.rooms, rng)).apply(task, rng)


@perturbation
class AnyWording(Perturbation):
    """Replaces the instruction with one of several for the same task."""

    kind = "release/any_wording"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING
    texts: tuple[str, ...]

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draw an instruction and replace the task's with it."""
        return Say(_draw(self.texts, rng)).apply(task, rng)


@perturbation
class AnyGoal(Perturbation):
    """Replaces the goal and the instruction with one of several alternatives for the same scene."""

    kind = "release/any_goal"
    effects = frozenset({Effect.WORDS, Effect.GOAL})
    change = Change.TASK
    sets_vocabulary = True
    goals: Alternatives
    """Instructions, each with the atoms of its goal; the atoms are empty if the release's goal cannot be read."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draw a goal and replace the task's with it. Raises PerturbationError if the goal cannot be read."""
        text, goal = _draw(self.goals, rng)
        if not goal:
            raise PerturbationError(f"{self.kind}: the release's goal for '{text}' cannot be read")
        return OtherTask(text, goal).apply(task, rng)


def initial_places(task: Task) -> dict[str, str]:
    """Map each object to the region or object on or in which an initial relation places it."""
    return {atom.arguments[0]: atom.arguments[1] for atom in task.scene.initial if atom.predicate in PLACING}


def _draw(choices: Sequence[Choice], rng: np.random.Generator) -> Choice:
    if not choices:
        raise PerturbationError("there are no alternatives to draw from")
    return choices[int(rng.integers(len(choices)))]
