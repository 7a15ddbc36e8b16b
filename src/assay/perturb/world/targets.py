"""Perturbations that change the category or appearance of targets and adapt the instruction: LIBERO-X's level 4.

These perturbations change names in the instruction but keep its form. Rewordings can therefore be combined with
them, and ``example`` returns an instruction of the same form without sampling a scene.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import permutations, product

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.errors import PerturbationError
from assay.perturb.world.ground import Ground, add_entity, fresh_name, movable
from assay.perturb.world.kinds import sort_of, unseen
from assay.perturb.world.objects import NEW_COLOURS, Replace, with_entity
from assay.perturb.world.spoken import Spoken, named_colours
from assay.sim.footprints import footprint
from assay.sim.packs.registry import planning_pack
from assay.sim.portraits import COLOUR, PATTERN, SIZE, difference, portrait
from assay.tasks import Entity, Instruction, Predicate, Task
from assay.tasks.language.lexicon import COLOURS, lexicon
from assay.tasks.language.meaning import rename_moved
from assay.tasks.scene import Colour, Finish, Pattern

NEW_PATTERNS = {"striped": Pattern.STRIPES, "checkered": Pattern.CHECKER, "speckled": Pattern.SPECKLES}
"""Patterns to choose from, by adjective."""
NEW_SIZES = {"small": 0.75, "large": 1.25}
"""Factors by which lengths are scaled, by adjective."""
OTHER_COLOUR = 2 * COLOUR
"""Minimum CIELAB distance between two mean colours for a colour name to distinguish the objects."""
MIN_COLOURED_FRACTION, MAX_GREY_DISTANCE, MIN_HUE_COSINE = 0.2, 0.08, 0.85
"""Minimum fraction of an object's pixels with the hue of a colour for the colour's name to describe it; maximum
distance from grey (red, green, blue, 0 to 1) of a pixel without hue; minimum cosine between similar hues.
"""
NARROW = 0.056
"""Maximum width of an object that may be enlarged, in metres; the gripper opens by 0.08."""
MAX_DRAWER_HEIGHT_M = 0.055
"""Maximum height, in metres, of an object that fits into a drawer and does not roll on a wine rack."""
_PLACES = 20
"""Number of positions that are tried for a look-alike, which no other expression in the instruction may fit."""


@perturbation
class UnseenTargets(Perturbation):
    """Replaces every object to be moved with one of an unseen category, and names it in the instruction.

    Unseen categories occur in no built-in task. The new object has the position of the old one and its name in the
    goal. The instruction identifies it by its noun alone.
    """

    kind = "world/unseen_targets"
    effects = frozenset({Effect.PHYSICS, Effect.WORDS})
    change = f"{Change.NAMES}+{Change.OBJECT}"

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Choose a category for each object. Raises PerturbationError if nothing is moved or no category fits."""
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
                    f"{self.kind}: no unseen category fits in view where {thing.name} starts and ends"
                )

        return replace(changed, instruction=_rename_objects(task, new))

    def example(self, task: Task) -> Task:
        """Return a task whose instruction has the same form; no scene is sampled. Raises PerturbationError."""
        things = moved_things(task, self.kind)
        if len(things) > len(new_names()):
            raise PerturbationError(
                f"{self.kind}: only {len(new_names())} unseen categories exist, but {len(things)} are needed"
            )
        new: dict[str, list[str]] = {}
        for thing, name in zip(things, new_names().values(), strict=False):
            new.setdefault(thing.category, []).append(name)
        return replace(task, instruction=_rename_objects(task, new))


def new_names() -> Mapping[str, str]:
    """Map unseen categories to their nouns in the lexicon; singular nouns only, as instructions may say "it"."""
    nouns = {
        category: noun
        for noun in lexicon().nouns.values()
        for category in noun.things
        if noun.number == "singular"
    }
    return {category: nouns[category].name for category in unseen() if category in nouns}


def _rename_objects(task: Task, names: Mapping[str, Sequence[str]]) -> Instruction:
    """Return a task's instruction with new names for its objects; ``names`` lists them by category, in order."""

    def rename(category: str, noun: str, plural: bool) -> str:
        listing = " and the ".join(names[category])
        return f"the {listing}" if plural else listing

    return Instruction(rename_moved(task.instruction.text, names, rename))


class Attribute(StrEnum):
    """Property by which the instruction identifies an object among others of its category."""

    COLOUR = "colour"
    PATTERN = "pattern"
    SIZE = "size"


@perturbation
class VariedTarget(Perturbation):
    """Changes the colour, pattern or size of the first object to be moved, and adds look-alikes.

    There are two look-alikes: one with the old appearance, and one that differs only in the attribute (another
    colour, another pattern in the same colour, or the default size in the same new colour). The instruction
    identifies the object by the attribute alone, not by its location.
    """

    kind = "world/varied_target"
    effects = frozenset({Effect.PHYSICS, Effect.LOOKS, Effect.WORDS})
    change = f"{Change.WORDING}+{Change.APPEARANCE}+{Change.OBJECT}+{Change.CLUTTER}"

    attribute: Attribute
    """Attribute that changes; if it is the size, the colour also changes."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Choose an appearance at random, then add the look-alikes at free positions."""
        original, look, changed = self._vary(task, rng)
        there = {(obj.category, obj.finish, obj.size) for obj in changed.scene.objects}
        for finish in (original.finish, look.other):
            if (original.category, finish, original.size) not in there:
                name = fresh_name(changed.scene, f"{original.name}_look_alike")
                changed = self._with(changed, replace(original, name=name, finish=finish), rng)
        return changed

    def example(self, task: Task) -> Task:
        """Return a task whose instruction has the same form; no scene is sampled. Raises PerturbationError."""
        words = {Attribute.PATTERN: next(iter(NEW_PATTERNS)), Attribute.COLOUR: NEW_COLOURS[0]}
        words[Attribute.SIZE] = f"{next(iter(NEW_SIZES))} {NEW_COLOURS[0]}"
        return replace(task, instruction=self._describe_target(task, words[self.attribute]))

    def _vary(self, task: Task, rng: np.random.Generator) -> tuple[Entity, _Look, Task]:
        """Return the original object, its new appearance, and the task with this appearance."""
        things = moved_things(task, self.kind)
        first = things[0]
        # Colour names that may already describe the object or another one with the same noun.
        nouns = {noun.name for noun in lexicon().of_category(first.category)}
        categories = {category for name in nouns for category in lexicon().nouns[name].things}
        kind = [obj for obj in task.scene.objects if obj.category in categories]
        written = {word for obj in kind for word in obj.category.split("_")} | set(" ".join(nouns).split())
        seen = {name for name in NEW_COLOURS if any(_is_partly(obj, COLOURS[name]) for obj in kind)}
        look = _look(self.attribute, first, {*written, *named_colours(task, first), *seen}, rng)
        changed = replace(task, instruction=self._describe_target(task, look.words))
        for thing in things:
            if thing.category == first.category:
                changed = with_entity(
                    changed, replace(thing, finish=look.finish, size=thing.size * look.size)
                )
        if not Ground(task.scene).in_view(changed.scene):
            raise PerturbationError(
                f"{self.kind}: {first.name} would not fit in view at {look.size:g} times its size"
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
        """Add an object where all spatial expressions in the instruction remain true."""
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
    """Return the objects that must be moved to reach a task's goal, in its order. Raises PerturbationError."""
    objects = {obj.name: obj for obj in task.scene.objects}
    named = (atom.arguments[0] for atom in task.goal.atoms if len(atom.arguments) > 1)
    targets = tuple(objects[name] for name in dict.fromkeys(named) if name in objects)
    if not targets:
        raise PerturbationError(
            f"{kind}: '{task.instruction.text}' does not require a movable object to be moved"
        )
    places = {name for atom in task.goal.atoms for name in atom.arguments[1:]}
    both = [entity.name for entity in targets if entity.name in places]
    if both:
        raise PerturbationError(f"{kind}: {both[0]} is moved, but is also a destination")
    return targets


@dataclass(frozen=True, slots=True)
class _Look:
    """New appearance of an object, and the appearance of a look-alike that differs only in the attribute."""

    words: str
    """Adjectives that distinguish the object from its look-alikes."""
    finish: Finish
    size: float
    """Factor on the object's lengths."""
    other: Finish
    """Finish of the look-alike, which has the default size."""


def _look(attribute: Attribute, thing: Entity, taken: Collection[str], rng: np.random.Generator) -> _Look:
    """Choose a random appearance that differs in the attribute from those of the original and the look-alike.

    It has none of the colours in ``taken``. Raises PerturbationError if there is no such appearance.
    """
    # The gripper can hold an enlarged object only if it is narrow.
    holdable = ["small", *(["large"] if 2 * min(footprint(thing.category).half) <= NARROW else [])]
    free = [colour for colour in NEW_COLOURS if colour not in taken]
    colours, patterns, sizes = (
        list(map(str, rng.permutation(names))) for names in (free, list(NEW_PATTERNS), holdable)
    )
    looks: dict[Attribute, Iterator[_Look]] = {
        Attribute.COLOUR: (
            _Look(one, Finish(COLOURS[one]), 1.0, Finish(COLOURS[another]))
            for one, another in permutations(colours, 2)
        ),
        Attribute.PATTERN: (
            _Look(
                one,
                Finish(COLOURS[colour], NEW_PATTERNS[one]),
                1.0,
                Finish(COLOURS[colour], NEW_PATTERNS[another]),
            )
            for (one, another), colour in product(permutations(patterns, 2), colours)
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
    raise PerturbationError(f"no new {attribute} would distinguish {thing.name} from its look-alikes")


def _is_partly(thing: Entity, colour: Colour) -> bool:
    """Whether a colour's name may describe an object, because a large part of the object has about this hue."""
    seen = portrait(replace(thing, name=""), planning_pack())
    pixels = seen.colour[seen.cover > 0.5] / seen.cover[seen.cover > 0.5][:, None]
    vivid, wanted = (values - values.mean(axis=-1, keepdims=True) for values in (pixels, np.array(colour)))
    length = np.linalg.norm(vivid, axis=-1)
    alike = vivid @ wanted > MIN_HUE_COSINE * length * np.linalg.norm(wanted)
    return bool((alike & (length > MAX_GREY_DISTANCE)).mean() > MIN_COLOURED_FRACTION)


def _fits(task: Task, thing: Entity, category: str) -> bool:
    """Whether objects of a category can replace an object: be grasped in its position and put at the destination.

    Only low objects fit into a drawer or onto a rack. Inside another object, only objects that protrude from it can
    be grasped.
    """
    scene, categories = task.scene, task.scene.categories
    height = footprint(category).height
    for atom in (*task.goal.atoms, *scene.initial):
        if atom.arguments[0] != thing.name or len(atom.arguments) < 2:
            continue
        place = scene.owner(atom.arguments[1])
        sort = sort_of(categories.get(place, ""))
        shallow = sort.endswith("rack") or (sort == "cabinet" and atom.predicate is Predicate.IN)
        if shallow and height > MAX_DRAWER_HEIGHT_M:
            return False
        if atom in scene.initial and place in movable(task) and height <= footprint(categories[place]).height:
            return False
    return True
