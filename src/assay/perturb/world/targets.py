"""What a task asks to move is another object, or looks another way, and the words say so: LIBERO-X's fourth level.

Neither sets the vocabulary of a task: its words keep their form, so that rewordings apply to both, and no scene
needs to be drawn to know it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import permutations, product

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.errors import PerturbationError
from assay.perturb.world.ground import Ground, add_entity, fresh_name, movable, owner
from assay.perturb.world.kinds import sort_of, unseen
from assay.perturb.world.objects import NEW_COLOURS, Replace, with_entity
from assay.perturb.world.spoken import Spoken, colours_said
from assay.sim.footprints import footprint
from assay.sim.packs.registry import planning_pack
from assay.sim.portraits import COLOUR, PATTERN, SIZE, difference, portrait
from assay.tasks import Entity, Instruction, Predicate, Task
from assay.tasks.language import COLOURS, lexicon
from assay.tasks.language.meaning import rename_moved
from assay.tasks.scene import Colour, Finish, Pattern

NEW_PATTERNS = {"striped": Pattern.STRIPES, "checkered": Pattern.CHECKER, "speckled": Pattern.SPECKLES}
"""What a new pattern is drawn from, by the words for them."""
NEW_SIZES = {"small": 0.75, "large": 1.25}
"""Factors on lengths, by the words for them."""
OTHER_COLOUR = 2 * COLOUR
"""How far apart two mean colours must be where a word for one of them is to tell which is meant, CIELAB."""
PARTLY, GREYISH, SAME_HUE = 0.2, 0.08, 0.85
"""An object is partly of a colour if this share of its pixels is. Pixels nearer than that to grey (red, green, blue, 0
to 1) have no hue; two hues whose cosine is larger are about the same."""
NARROW = 0.056
"""How wide an object may be of which there are large ones, metres: the gripper opens by 0.08."""
LOW = 0.055
"""What is higher neither goes into a drawer nor lies still on a wine rack, metres."""
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

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draws a category for each. Raises PerturbationError where nothing is moved, or too little would fit."""
        things = moved_things(task, self.kind)
        here = {entity.category for entity in task.scene.entities}
        pool = [str(category) for category in rng.permutation(list(new_names())) if category not in here]
        new: dict[str, list[str]] = {}
        changed = task
        for thing in things:
            for category in (candidate for candidate in pool if _fits(task, thing, candidate)):
                try:
                    there = Replace(category, thing=thing.name).apply(changed, rng)
                except PerturbationError:
                    continue
                if Ground(task.scene).in_view(there.scene):
                    changed = there
                    pool.remove(category)
                    new.setdefault(thing.category, []).append(new_names()[category])
                    break
            else:
                raise PerturbationError(
                    f"{self.kind}: no unseen category fits, in view, where {thing.name} is and goes"
                )

        return replace(changed, instruction=_rename_objects(task, new))

    def example(self, task: Task) -> Task:
        """Return a task with an instruction of the same form, without a draw. Raises PerturbationError."""
        things = moved_things(task, self.kind)
        if len(things) > len(new_names()):
            raise PerturbationError(
                f"{self.kind}: there are {len(new_names())} unseen categories, not {len(things)}"
            )
        new: dict[str, list[str]] = {}
        for thing, name in zip(things, new_names().values(), strict=False):
            new.setdefault(thing.category, []).append(name)
        return replace(task, instruction=_rename_objects(task, new))


def new_names() -> Mapping[str, str]:
    """The unseen categories that the lexicon has a noun for, and that; not in the plural, which "it" would not fit."""
    nouns = {
        category: noun
        for noun in lexicon().nouns.values()
        for category in noun.things
        if noun.number == "singular"
    }
    return {category: nouns[category].name for category in unseen() if category in nouns}


def _rename_objects(task: Task, names: Mapping[str, Sequence[str]]) -> Instruction:
    """A task's words, with other names for the objects of some categories, in their order."""

    def rename(category: str, noun: str, plural: bool) -> str:
        listing = " and the ".join(names[category])
        return f"the {listing}" if plural else listing

    return Instruction(rename_moved(task.instruction.text, names, rename))


class Attribute(StrEnum):
    """How the instruction identifies an object among others of its kind."""

    COLOUR = "colour"
    PATTERN = "pattern"
    SIZE = "size"


@perturbation
@dataclass(frozen=True, slots=True)
class VariedTarget(Perturbation):
    """The first object to move has a new colour, pattern or size, which the instruction names, among look-alikes.

    There are two look-alikes: one with the old appearance, and one that differs by the attribute alone: another
    colour, another pattern in the same colour, the usual size in the same new colour. The instruction identifies
    the object by the attribute alone, not by its place.
    """

    kind = "world/varied_target"
    effects = frozenset({Effect.PHYSICS, Effect.LOOKS, Effect.WORDS})
    change = f"{Change.WORDING}+{Change.APPEARANCE}+{Change.OBJECT}+{Change.CLUTTER}"

    attribute: Attribute
    """What is new about it; a thing of another size has a new colour, too."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Draws a look, then adds the look-alikes to free places."""
        usual, look, changed = self._vary(task, rng)
        there = {_looks(obj) for obj in changed.scene.objects}
        for finish in (usual.finish, look.other):
            name = fresh_name(changed.scene, f"{usual.name}_look_alike")
            alike = replace(usual, name=name, finish=finish)
            if _looks(alike) not in there:
                changed = self._with(changed, alike, rng)
        return changed

    def example(self, task: Task) -> Task:
        """Return a task with an instruction of the same form, without a draw. Raises PerturbationError."""
        words = {Attribute.PATTERN: next(iter(NEW_PATTERNS)), Attribute.COLOUR: NEW_COLOURS[0]}
        words[Attribute.SIZE] = f"{next(iter(NEW_SIZES))} {NEW_COLOURS[0]}"
        return replace(task, instruction=self._describe_target(task, words[self.attribute]))

    def _vary(self, task: Task, rng: np.random.Generator) -> tuple[Entity, _Look, Task]:
        """The object as it was, its new look, and the task with that."""
        things = moved_things(task, self.kind)
        first = things[0]
        look = _look(self.attribute, first, _colours_of_its_kind(task, first), rng)
        changed = replace(task, instruction=self._describe_target(task, look.words))
        for thing in things:
            if thing.category == first.category:
                changed = with_entity(
                    changed, replace(thing, finish=look.finish, size=thing.size * look.size)
                )
        if not Ground(task.scene).in_view(changed.scene):
            raise PerturbationError(
                f"{self.kind}: nobody would see {first.name} at {look.size:g} times its size"
            )
        return first, look, changed

    def _describe_target(self, task: Task, words: str) -> Instruction:
        """Return the instruction with the new attribute of the first object to move."""
        things = moved_things(task, self.kind)
        varied = things[0].category
        text = rename_moved(
            task.instruction.text,
            (thing.category for thing in things),
            lambda category, noun, plural: f"{words} {noun}" if category == varied else None,
        )
        return Instruction(text)

    def _with(self, task: Task, alike: Entity, rng: np.random.Generator) -> Task:
        """Add an object where all spatial expressions of the instruction stay true."""
        count = len(Spoken(task).relations)
        for snug in (False, True):
            for _ in range(_PLACES):
                spot = Ground(task.scene, task.goal, snug=snug).anywhere(rng, alike)
                if spot is None:
                    break
                changed = replace(task, scene=add_entity(task.scene, alike, spot))
                if len(Spoken(changed).relations) == count:
                    return changed
        raise PerturbationError(
            f"{self.kind}: no room in view for another {alike.category}{Spoken(task).condition}"
        )


def moved_things(task: Task, kind: str) -> tuple[Entity, ...]:
    """The movable objects that a task's goal puts somewhere, in its order. Raises PerturbationError."""
    objects = {obj.name: obj for obj in task.scene.objects}
    named = (atom.arguments[0] for atom in task.goal.atoms if len(atom.arguments) > 1)
    targets = tuple(objects[name] for name in dict.fromkeys(named) if name in objects)
    if not targets:
        raise PerturbationError(f"{kind}: '{task.instruction.text}' moves nothing but fixtures")
    places = {name for atom in task.goal.atoms for name in atom.arguments[1:]}
    both = [entity.name for entity in targets if entity.name in places]
    if both:
        raise PerturbationError(f"{kind}: {both[0]} is moved, and something is put on it")
    return targets


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


def _colours_of_its_kind(task: Task, thing: Entity) -> set[str]:
    """The new colours by which an object, or another that goes by the same noun, might be called as it is."""
    nouns = {noun.name for noun in lexicon().of_category(thing.category)}
    categories = {category for name in nouns for category in lexicon().nouns[name].things}
    kind = [obj for obj in task.scene.objects if obj.category in categories]
    written = {word for obj in kind for word in obj.category.split("_")} | set(" ".join(nouns).split())
    seen = {name for name in NEW_COLOURS if any(_is_partly(obj, COLOURS[name]) for obj in kind)}
    return {*written, *colours_said(task, thing), *seen}


def _look(attribute: Attribute, thing: Entity, taken: Collection[str], rng: np.random.Generator) -> _Look:
    """A look in which a person tells an object from itself as it is, and from the look-alike, by the attribute.

    It has none of the colours that are ``taken``.
    """
    colours = [
        str(colour)
        for colour in rng.permutation([new_colour for new_colour in NEW_COLOURS if new_colour not in taken])
    ]
    patterns = [str(pattern) for pattern in rng.permutation(list(NEW_PATTERNS))]
    sizes = [str(size) for size in rng.permutation(_sizes(thing))]
    looks: dict[Attribute, Iterator[_Look]] = {
        Attribute.COLOUR: (
            _Look(one, Finish(COLOURS[one]), 1.0, Finish(COLOURS[another]))
            for one, another in permutations(colours, 2)
        ),
        Attribute.PATTERN: (
            _Look(
                first,
                Finish(COLOURS[one], NEW_PATTERNS[first]),
                1.0,
                Finish(COLOURS[one], NEW_PATTERNS[second]),
            )
            for (first, second), one in product(permutations(patterns, 2), colours)
        ),
        Attribute.SIZE: (
            _Look(f"{size} {one}", Finish(COLOURS[one]), NEW_SIZES[size], Finish(COLOURS[one]))
            for size, one in product(sizes, colours)
        ),
    }
    for look in looks[attribute]:
        new = replace(thing, finish=look.finish, size=thing.size * look.size)
        before, beside = difference(new, thing), difference(new, replace(thing, finish=look.other))
        is_distinct = {
            Attribute.COLOUR: min(before.colour, beside.colour) >= OTHER_COLOUR,
            Attribute.PATTERN: before.is_distinguishable and beside.pattern >= PATTERN,
            Attribute.SIZE: before.colour >= OTHER_COLOUR and beside.size >= SIZE,
        }
        if is_distinct[attribute]:
            return look
    raise PerturbationError(f"no new {attribute} would tell {thing.name} from what it looks like")


def _is_partly(thing: Entity, colour: Colour) -> bool:
    """Whether a good part of an object has about the hue of a colour, so that the colour's name may describe it."""
    seen = portrait(replace(thing, name=""), planning_pack())
    pixels = seen.colour[seen.cover > 0.5] / seen.cover[seen.cover > 0.5][:, None]
    vivid, wanted = (values - values.mean(axis=-1, keepdims=True) for values in (pixels, np.array(colour)))
    length = np.linalg.norm(vivid, axis=-1)
    alike = vivid @ wanted > SAME_HUE * length * np.linalg.norm(wanted)
    return bool((alike & (length > GREYISH)).mean() > PARTLY)


def _sizes(thing: Entity) -> list[str]:
    """The sizes at which the gripper can hold an object: large ones only if it is narrow."""
    return ["small", *(["large"] if 2 * min(footprint(thing.category).half) <= NARROW else [])]


def _fits(task: Task, thing: Entity, category: str) -> bool:
    """Whether an object of a category can be taken where another stands, and goes where a task puts that.

    Into a drawer and onto a rack go low objects alone; in another object's hollow stand those that look out of it.
    """
    scene, categories = task.scene, {entity.name: entity.category for entity in task.scene.entities}
    height = footprint(category).height
    for atom in (*task.goal.atoms, *scene.initial):
        if atom.arguments[0] != thing.name or len(atom.arguments) < 2:
            continue
        place = owner(scene, atom.arguments[1])
        sort = sort_of(categories.get(place, ""))
        shallow = sort.endswith("rack") or (sort == "cabinet" and atom.predicate is Predicate.IN)
        if shallow and height > LOW:
            return False
        if atom in scene.initial and place in movable(task) and height <= footprint(categories[place]).height:
            return False
    return True


def _looks(thing: Entity) -> tuple[str, Finish, float]:
    return thing.category, thing.finish, thing.size
