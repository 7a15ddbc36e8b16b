"""Changes to the objects of a task: another appearance, size or category, or removal."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation, within
from assay.errors import PerturbationError
from assay.perturb.world.ground import movable_entity, named_entity, target
from assay.perturb.world.kinds import Among, candidates, check_category, places_of
from assay.perturb.world.spoken import matches_colour, named_colours
from assay.sim.categories import OPENING, SWITCHING
from assay.sim.footprints import footprint
from assay.sim.packs.registry import planning_pack
from assay.tasks import Entity, Task
from assay.tasks.language.lexicon import COLOURS
from assay.tasks.scene import Colour, Finish, Pattern

NEW_COLOURS = ("red", "blue", "green", "yellow", "purple", "orange")
"""Names of the colours from which new colours are chosen at random."""
HUES = tuple(COLOURS[name] for name in NEW_COLOURS)
"""The colours of `NEW_COLOURS` as (red, green, blue)."""
DARK_GREY = (0.25, 0.25, 0.25)
"""Colour of patterns on black objects, because a pattern in pure black would be invisible."""
DRAWN_PATTERNS = (Pattern.CHECKER, Pattern.STRIPES, Pattern.SPECKLES, Pattern.GRADIENT)
"""Patterns from which new patterns are chosen at random."""

MAX_SIZE_RATIO = 1.15
"""Maximum size ratio of a replacement model; much smaller or larger objects are hard to grasp."""


@perturbation
class Recolour(Perturbation):
    """Gives an object another colour or a pattern.

    If the instruction names its colour, as in "the black bowl", the object keeps it and gets only a pattern.
    """

    kind = "world/recolour"
    effects = frozenset({Effect.LOOKS})
    change = Change.APPEARANCE

    colour: Colour | None = within(0.0, 1.0, default=None)
    """New colour (red, green, blue); random if None."""
    pattern: Pattern | None = None
    thing: str = ""
    """Name of the object; the target if empty."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Change the colour or pattern of one entity."""
        entity = named_entity(task.scene, self.thing or target(task))
        colour = self._colour(named_colours(task, entity)) or HUES[int(rng.integers(len(HUES)))]
        return with_entity(task, replace(entity, finish=Finish(colour, self.pattern)))

    def finishes(self, task: Task) -> list[Finish]:
        """Return the finishes (colour, pattern) to choose from; empty if all would make the instruction false."""
        entity = named_entity(task.scene, self.thing or target(task))
        try:
            colour = self._colour(named_colours(task, entity))
        except PerturbationError:
            return []
        return [Finish(hue, self.pattern) for hue in ((colour,) if colour is not None else HUES)]

    def _colour(self, named: Collection[str]) -> Colour | None:
        """Return the required colour; None for any. Raises PerturbationError if it contradicts the instruction."""
        if not named:
            return self.colour
        name, *more = sorted(named)
        if self.colour is None and self.pattern is not None and not more:
            return DARK_GREY if name == "black" else COLOURS[name]
        if self.colour is None or more or not matches_colour(named, self.colour):
            raise PerturbationError(
                f"{self.kind}: the instruction names the colour{'s' * bool(more)} {' and '.join(sorted(named))}"
            )
        return self.colour


@perturbation
class Resize(Perturbation):
    """Makes a movable object larger or smaller."""

    kind = "world/resize"
    effects = frozenset({Effect.PHYSICS})
    change = Change.OBJECT
    neutral = MappingProxyType({"factor": 1.0})

    factor: float = within(0.5, 1.5)
    """Scale factor of all lengths."""
    thing: str = ""
    """Name of the object; the target if empty."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Multiply the current size of one movable entity by the factor."""
        entity = movable_entity(task, self.thing, self.kind, "change size")
        both = Resize(entity.size * self.factor, self.thing)
        return with_entity(task, replace(entity, size=both.factor))


@perturbation
class Replace(Perturbation):
    """Replaces an object with one of another category under its old name, so that the goal refers to the new object."""

    kind = "world/replace"
    effects = frozenset({Effect.PHYSICS})
    change = Change.OBJECT
    sets_vocabulary = True

    category: str = ""
    """Category of the new object; random if empty."""
    among: Among = Among.OTHER
    """Set of categories to draw from."""
    thing: str = ""
    """Name of the object; the target if empty."""

    def __post_init__(self) -> None:
        Perturbation.__post_init__(self)
        if self.category:
            check_category(self.category)

    @property
    def plausible(self) -> bool:
        """if the instruction still fits: drawn from the same sort, or a category that you specify"""
        return bool(self.category) or self.among is Among.SAME

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Change the category of one entity. Categories are tried in random order until one is suitable."""
        entity = named_entity(task.scene, self.thing or target(task))
        if self.category:
            return self._recategorise(task, entity, self.category)
        reason = f"{self.kind}: no category in '{self.among}' can replace {entity.name}"
        colours = named_colours(task, entity) if self.among is Among.SAME else ()
        if colours:
            reason += f" and is {' and '.join(sorted(colours))}, as the instruction says"
        possible = _replacements(task, entity, self.among, colours)
        for category in map(str, rng.permutation(possible)):
            try:
                return self._recategorise(task, entity, category)
            except PerturbationError as error:
                reason = str(error)
        raise PerturbationError(reason)

    def models(self, task: Task, entity: Entity) -> list[str]:
        """Return the categories that may replace an entity without contradicting a colour in the instruction."""
        fit = []
        for category in _replacements(task, entity, self.among, named_colours(task, entity)):
            with suppress(PerturbationError):
                self._recategorise(task, entity, category)
                fit.append(category)
        return fit

    def _recategorise(self, task: Task, entity: Entity, category: str) -> Task:
        old, new = (
            (name in planning_pack().fixtures, OPENING.get(name), SWITCHING.get(name))
            for name in (entity.category, category)
        )
        if old != new:
            raise PerturbationError(f"{self.kind}: {category} cannot be used like {entity.name}")
        missing = [
            region.name
            for region in task.scene.regions
            if region.target == entity.name and region.name not in places_of(category)
        ]
        if missing:
            raise PerturbationError(f"{self.kind}: {category} lacks the region {missing[0]} of {entity.name}")
        return with_entity(task, replace(entity, category=category))


@perturbation
class Alter(Perturbation):
    """Changes every object of the goal (target and receptacle): its appearance, its size or its model.

    One of these changes is chosen at random for each category. The instruction remains true: "the black bowl" is
    still black.
    """

    kind = "world/alter"
    effects = frozenset({Effect.PHYSICS, Effect.LOOKS})
    change = f"{Change.APPEARANCE}+{Change.OBJECT}"
    sets_vocabulary = True

    size: float = within(0.05, 0.3, default=0.1)
    """Relative increase in the lengths of an enlarged object."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Change the objects, category by category. Raises PerturbationError if a category cannot be changed."""
        changed = task
        entities = [entity for entity in task.scene.entities if entity.name in task.goal_entities]
        by_category = {entity.category: entity for entity in reversed(entities)}
        for thing in reversed(by_category.values()):
            ways = self._ways(task, thing)
            if not ways:
                raise PerturbationError(
                    f"{self.kind}: {thing.name} cannot be given another appearance, size or model"
                )
            way = ways[int(rng.integers(len(ways)))]
            other = way[int(rng.integers(len(way)))]
            for entity in task.scene.entities:
                if entity.category == thing.category:
                    changed = with_entity(
                        changed, replace(other, name=entity.name, size=entity.size * other.size)
                    )
        return changed

    def _ways(self, task: Task, thing: Entity) -> list[list[Entity]]:
        """Return the possible changes to an object in non-empty groups: new appearances, a larger size, other
        models.
        """
        default = replace(thing, size=1.0)
        looks = [
            replace(default, finish=finish)
            for pattern in (None, *DRAWN_PATTERNS)
            for finish in Recolour(pattern=pattern, thing=thing.name).finishes(task)
        ]
        fixed = thing in task.scene.fixtures
        sizes = [] if fixed else [replace(default, size=1 + self.size)]

        def measure(category: str) -> np.ndarray:
            """Return the half-lengths and the height of a category, in metres."""
            size = footprint(category, fixture=fixed)
            return np.array((*size.half, size.height))

        ratios = {
            model: measure(thing.category) / measure(model)
            for model in Replace(among=Among.SAME).models(task, thing)
        }
        models = [
            replace(default, category=model, finish=Finish())
            for model, ratio in ratios.items()
            if (ratio >= 1 / MAX_SIZE_RATIO).all() and (ratio <= MAX_SIZE_RATIO).all()
        ]
        return [way for way in (looks, sizes, models) if way]


@perturbation
class Remove(Perturbation):
    """Removes the target, so that the task cannot be done."""

    kind = "world/remove"
    effects = frozenset({Effect.PHYSICS})
    change = Change.OBJECT
    sets_vocabulary = True
    plausible = False

    thing: str = ""
    """Name of the object; the target if empty."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Remove the object and the objects on it; the goal still refers to it and cannot be reached."""
        scene = task.scene
        gone, before = {movable_entity(task, self.thing, self.kind, "be removed").name}, set[str]()
        while gone != before:
            before = set(gone)
            placed = (atom.arguments for atom in scene.initial if len(atom.arguments) == 2)
            gone |= {name for name, place in placed if not before.isdisjoint({place, scene.owner(place)})}
        scene = replace(
            scene,
            objects=tuple(obj for obj in scene.objects if obj.name not in gone),
            absent=(*scene.absent, *sorted(gone)),
            initial=tuple(atom for atom in scene.initial if atom.arguments[0] not in gone),
        )
        return replace(task, scene=scene)


def _replacements(task: Task, entity: Entity, among: Among, named: Collection[str]) -> list[str]:
    """Return the possible replacements for an entity that are not in the scene; ``named``: colours that the
    instruction mentions for it.
    """
    here = {
        other.category for other in task.scene.entities
    }  # a second object of a category would be ambiguous
    return [
        candidate
        for candidate in candidates(entity.category, among)
        if candidate not in here and (not named or COLOURS.keys() & candidate.split("_") == named)
    ]


def with_entity(task: Task, changed: Entity) -> Task:
    """Return a task with one entity changed."""

    def exchange(entities: tuple[Entity, ...]) -> tuple[Entity, ...]:
        return tuple(changed if entity.name == changed.name else entity for entity in entities)

    scene = replace(task.scene, objects=exchange(task.scene.objects), fixtures=exchange(task.scene.fixtures))
    return replace(task, scene=scene)
