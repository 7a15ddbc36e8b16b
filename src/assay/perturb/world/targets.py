"""What a task asks to move is another thing, or looks another way, and the words say so: LIBERO-X's fourth level."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.errors import PerturbationError
from assay.language import COLOURS
from assay.language.moved import plain_name, rename_moved
from assay.perturb.world.ground import Ground, added, fresh_name
from assay.perturb.world.kinds import unseen
from assay.perturb.world.objects import Replace, with_entity
from assay.perturb.world.spoken import Spoken, colours_said
from assay.tasks import Entity, Instruction, Task
from assay.tasks.staging import Finish, Pattern

NEW_COLOURS = ("red", "blue", "green", "yellow", "purple", "orange")
"""What a new colour is drawn from."""
NEW_PATTERNS = {"striped": Pattern.STRIPES, "checkered": Pattern.CHECKER}
"""What a new pattern is drawn from, by the words for them."""
NEW_SIZES = {"small": 0.75}
"""Factors on lengths, by the words for them."""
_PLACES = 20
"""How many places are tried for a look-alike that must not be taken for something else that the words name."""


@perturbation
@dataclass(frozen=True, slots=True)
class UnseenTargets(Perturbation):
    """Everything that a task asks to move is of a category that no built-in task has, and the words name it.

    It stands where the old thing stood, under the old name in the goal. The words tell it by its name alone.
    """

    kind = "world/unseen_targets"
    effects = frozenset({Effect.PHYSICS, Effect.WORDS})
    change = f"{Change.NAMES}+{Change.OBJECT}"
    sets_vocabulary = True

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draws a category for each. Raises PerturbationError where nothing is moved, or too little would fit."""
        things = moved_things(task, self.kind)
        here = {each.category for each in task.scene.entities}
        pool = [str(each) for each in rng.permutation(unseen()) if each not in here]
        new: dict[str, list[str]] = {}
        made = task
        for thing in things:
            for category in pool:
                try:
                    made = Replace(category, thing=thing.name).apply(made, rng)
                except PerturbationError:
                    continue
                pool.remove(category)
                new.setdefault(thing.category, []).append(plain_name(category))
                break
            else:
                raise PerturbationError(f"{self.kind}: no unseen category may take the place of {thing.name}")

        def rename(category: str, noun: str, plural: bool) -> str:
            names = " and the ".join(new[category])
            return f"the {names}" if plural else names

        text = rename_moved(task.instruction.text, new, rename)
        return replace(made, instruction=Instruction(text))


class Attribute(StrEnum):
    """By what a thing is told from others of its kind."""

    COLOUR = "colour"
    PATTERN = "pattern"
    SIZE = "size"


@perturbation
@dataclass(frozen=True, slots=True)
class VariedTarget(Perturbation):
    """What a task asks to move first has a new colour, pattern or size, the words say so, and look-alikes stand about.

    There are two of them: one that looks as the thing did, and one that differs from it by the attribute alone:
    another colour, another pattern in the same colour, the usual size in the same new colour. The words tell the thing
    by the attribute alone, not by where it stands.
    """

    kind = "world/varied_target"
    effects = frozenset({Effect.PHYSICS, Effect.LOOKS, Effect.WORDS})
    sets_vocabulary = True

    attribute: Attribute
    """What is new about it; a thing of another size has a new colour, too."""

    @property
    def change(self) -> str:  # type: ignore[override]
        """Appearance; the object itself, where it is of another size; and always words and clutter."""
        sized = self.attribute is Attribute.SIZE
        return "+".join(
            (Change.WORDING, Change.APPEARANCE, *([Change.OBJECT] if sized else []), Change.CLUTTER)
        )

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draws a look, then adds the look-alikes to free places."""
        usual, look, made = self._varied(task, rng)
        there = {_looks(each) for each in made.scene.objects}
        for finish in (usual.finish, look.other):
            name = fresh_name(made.scene, f"{usual.name}_look_alike")
            alike = replace(usual, name=name, finish=finish)
            if _looks(alike) not in there:
                made = self._with(made, alike, rng)
        return made

    def told(self, task: Task, rng: np.random.Generator) -> Task:
        """A task with the thing and the words varied, and no look-alikes: what is quick to know of it."""
        return self._varied(task, rng)[2]

    def _varied(self, task: Task, rng: np.random.Generator) -> tuple[Entity, _Look, Task]:
        """The thing as it was, its new look, and the task with that."""
        things = moved_things(task, self.kind)
        first = things[0]
        look = _look(self.attribute, first, colours_said(task, first), rng)
        text = rename_moved(
            task.instruction.text,
            (each.category for each in things),
            lambda category, noun, plural: f"{look.words} {noun}" if category == first.category else None,
        )
        made = replace(task, instruction=Instruction(text))
        for each in things:
            if each.category == first.category:
                made = with_entity(made, replace(each, finish=look.finish, size=each.size * look.size))
        return first, look, made

    def _with(self, task: Task, alike: Entity, rng: np.random.Generator) -> Task:
        """A task with one more thing, placed so that whatever else the words tell by its place is still told."""
        told = len(Spoken(task).relations)
        for snug in (False, True):
            for _ in range(_PLACES):
                spot = Ground(task.scene, task.goal, snug=snug).anywhere(rng, alike)
                if spot is None:
                    break
                made = replace(task, scene=added(task.scene, alike, spot))
                if len(Spoken(made).relations) == told:
                    return made
        raise PerturbationError(f"{self.kind}: no room for another {alike.category}{Spoken(task).condition}")


def moved_things(task: Task, kind: str) -> tuple[Entity, ...]:
    """The movable things that a task's goal puts somewhere, in its order. Raises PerturbationError."""
    objects = {each.name: each for each in task.scene.objects}
    named = (atom.arguments[0] for atom in task.goal.atoms if len(atom.arguments) > 1)
    found = tuple(objects[name] for name in dict.fromkeys(named) if name in objects)
    if not found:
        raise PerturbationError(f"{kind}: '{task.instruction.text}' moves nothing but fixtures")
    places = {name for atom in task.goal.atoms for name in atom.arguments[1:]}
    both = [each.name for each in found if each.name in places]
    if both:
        raise PerturbationError(f"{kind}: {both[0]} is moved, and something is put on it")
    return found


@dataclass(frozen=True, slots=True)
class _Look:
    """A new look of a thing, and that of a look-alike which differs by the attribute alone."""

    words: str
    """How the words tell it from the look-alikes."""
    finish: Finish
    size: float
    """Factor on its lengths."""
    other: Finish
    """Of the look-alike, which has the usual size."""


def _look(attribute: Attribute, thing: Entity, said: Collection[str], rng: np.random.Generator) -> _Look:
    """A look that a thing has not: of no colour that it is called by."""
    usual = {*said, *thing.category.split("_"), *plain_name(thing.category).split()}
    one, another = map(str, rng.permutation([each for each in NEW_COLOURS if each not in usual])[:2])
    colour = COLOURS[one]
    match attribute:
        case Attribute.COLOUR:
            return _Look(one, Finish(colour), 1.0, Finish(COLOURS[another]))
        case Attribute.PATTERN:
            word, instead = map(str, rng.permutation(list(NEW_PATTERNS))[:2])
            return _Look(word, Finish(colour, NEW_PATTERNS[word]), 1.0, Finish(colour, NEW_PATTERNS[instead]))
        case Attribute.SIZE:
            word = str(rng.choice(list(NEW_SIZES)))
            return _Look(f"{word} {one}", Finish(colour), NEW_SIZES[word], Finish(colour))


def _looks(thing: Entity) -> tuple[str, Finish, float]:
    return thing.category, thing.finish, thing.size
