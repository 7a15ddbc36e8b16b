"""What releases do to a task, where no perturbation of ours does exactly that."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assay import tasks
from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.errors import PerturbationError, did_you_mean
from assay.perturb.world.kinds import is_category, places_of
from assay.tasks import Atom, Entity, Region, Task

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
