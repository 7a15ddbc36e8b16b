"""LIBERO-PRO's joint draws: one alternative for each thing that a task is about, all of them applied together.

The alternatives are in the perturbation, and which of them are drawn hangs on task and seed alone: a task has one
draw for each seed, the same in every combination of dimensions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.errors import PerturbationError
from assay.perturb.releases.values import Exchange, Recategorise, places
from assay.perturb.words.rewordings.other_task import OtherTask
from assay.perturb.words.say import Say
from assay.perturb.world.room import Room
from assay.tasks import Arena, Task

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
