"""Spatial expressions in an instruction: the bowl next to the plate, the left plate.

A relation is measured as a distance: how far an object is from the location that the expression describes. The
expression identifies an object if this distance is small, and clearly smaller than for all other objects with the
same appearance. Directions are those of the main camera, as in LIBERO: left is towards -y, the front towards +x.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import hypot, inf

import numpy as np

from assay.errors import PerturbationError
from assay.perturb.world.ground import Ground, Spot, carrier, robot_base
from assay.perturb.world.kinds import sort_of
from assay.sim.layout import layout_of
from assay.tasks import Entity, Task
from assay.tasks.language.lexicon import COLOURS, NO_COLOUR, names_of, words
from assay.tasks.language.phrases import positions
from assay.tasks.scene import Colour

CLEAR = 0.08
"""Margin, in metres, by which an expression must fit its object better than others; LIBERO's is at least 0.12."""
OTHER_COLOUR = 0.35
"""Minimum difference in red, green or blue (0 to 1) between two different colours."""

Deviation = Callable[[Spot, Sequence[Spot]], float]
"""Maps an object's spot and the landmarks' spots to the deviation from a spatial relation, in metres."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A spatial expression about an object that is true at the start."""

    text: str
    """The expression, for example ``next to the plate``."""
    thing: str
    """Name of the object on the workspace: the described object, or the object that carries it."""
    lookalikes: tuple[str, ...]
    """Names of the objects on the workspace that look like the described object, or carry an object that does."""
    landmarks: tuple[tuple[str, ...], ...]
    """For each landmark, the names of the objects that its name may refer to."""
    deviation: Deviation
    limit: float
    """Maximum deviation for which the expression is true, in metres."""

    def identifies(self, spots: Mapping[str, Spot], clear: float = CLEAR) -> bool:
        """Whether the expression is true of its object, and fits look-alikes worse by ``clear`` metres or more."""
        here = self._deviation(self.thing, spots)
        return here <= self.limit and all(
            self._deviation(like, spots) >= here + clear for like in self.lookalikes
        )

    def _deviation(self, name: str, spots: Mapping[str, Spot]) -> float:
        choices = product(*([spots[candidate] for candidate in landmark] for landmark in self.landmarks))
        return min(self.deviation(spots[name], marks) for marks in choices)


class Spoken:
    """The spatial expressions in a task's instruction that distinguish objects of its goal from others."""

    def __init__(self, task: Task) -> None:
        self.spots: Mapping[str, Spot] = Ground(task.scene, snug=True).spots
        """Initial footprints of the objects, before any move."""
        self.relations = tuple(
            relation
            for relation in dict.fromkeys(_relations(task))
            if relation.identifies(self.spots, clear=0.0)
        )

    def hold(self, spots: Mapping[str, Spot]) -> bool:
        """Whether every expression still identifies its object when the objects are at the given spots."""
        return all(relation.identifies(spots) for relation in self.relations)

    def about(self, thing: str) -> tuple[Relation, ...]:
        """Return the spatial expressions about one object."""
        return tuple(relation for relation in self.relations if relation.thing == thing)

    @property
    def condition(self) -> str:
        """Suffix for error messages with the expressions that must remain true; empty if none exist."""
        texts = " and ".join(
            f"'{text}'" for text in dict.fromkeys(relation.text for relation in self.relations)
        )
        return f"; these words must remain true of exactly one object: {texts}" if texts else ""


def named_colours(task: Task, entity: Entity) -> set[str]:
    """Return the colours that an instruction mentions for an entity: ``black`` in "the black bowl"."""
    plain = " ".join(words(task.instruction.text)).replace(*NO_COLOUR)
    for names in (names_of(entity.category), (sort_of(entity.category),)):
        forms = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        phrases = re.findall(rf"(?:\b\w+ )?\b(?:{forms})\b", plain)
        if phrases:
            return {word for phrase in phrases for word in phrase.split() if word in COLOURS}
    return set()


def matches_colour(names: Collection[str], colour: Colour) -> bool:
    """Whether a colour is close to one of the named colours; true if no colour is named."""
    deviation = (float(np.abs(np.subtract(colour, COLOURS[name])).max()) for name in names)
    return min(deviation, default=0.0) <= OTHER_COLOUR


def _relations(task: Task) -> Iterator[Relation]:
    """Yield the spatial expressions that precede or follow the names of the goal's objects in the instruction."""
    scene, text = task.scene, " ".join(words(task.instruction.text))
    robot = robot_base(layout_of(scene))
    measures = _MEASURES | {
        "nearest": (lambda here, marks: here.distance(robot), inf),
        "furthest": (lambda here, marks: -here.distance(robot), inf),
    }
    names = {entity.name: names_of(entity.category) for entity in scene.entities}
    named = task.goal_entities
    for entity in (candidate for candidate in scene.entities if candidate.name in named):
        alike = [
            other.name
            for other in scene.entities
            if other != entity and (other.category, other.finish) == (entity.category, entity.finish)
        ]
        for position in (read for form in names[entity.name] for read in positions(text, form, names)):
            landmarks, (deviation, limit) = position.landmarks, measures[position.relation]
            if position.relation == "middle":
                landmarks = tuple((same,) for same in (entity.name, *alike))
            try:
                thing, lookalikes = carrier(scene, entity.name), tuple(carrier(scene, same) for same in alike)
                marks = tuple(tuple(carrier(scene, landmark) for landmark in mark) for mark in landmarks)
            except PerturbationError:
                continue  # an object does not start on the workspace
            yield Relation(position.text, thing, lookalikes, marks, deviation, limit)


def _beside(x: int, y: int, here: Spot, marks: Sequence[Spot]) -> float:
    """Return the distance, in metres, to the position that touches a landmark on its side in direction (x, y)."""
    (mark,) = marks
    ideal_x = mark.x + x * (mark.half_x + here.half_x)
    ideal_y = mark.y + y * (mark.half_y + here.half_y)
    return hypot(here.x - ideal_x, here.y - ideal_y)


def _from_the_mean(here: Spot, marks: Sequence[Spot]) -> float:
    x, y = (sum(getattr(mark, axis) for mark in marks) / len(marks) for axis in "xy")
    return hypot(here.x - x, here.y - y)


_MEASURES: dict[str, tuple[Deviation, float]] = {
    "left": (lambda here, marks: here.y, inf),
    "right": (lambda here, marks: -here.y, inf),
    "front": (lambda here, marks: -here.x, inf),
    "back": (lambda here, marks: here.x, inf),
    "middle": (_from_the_mean, inf),
    "between": (  # the length of the detour via the spot
        lambda here, marks: marks[0].distance(here) + here.distance(marks[1]) - marks[0].distance(marks[1]),
        0.03,
    ),
    "near": (lambda here, marks: max(here.air(marks[0]), 0.0), 0.08),
    "left of": (partial(_beside, 0, -1), 0.12),
    "right of": (partial(_beside, 0, 1), 0.12),
    "in front of": (partial(_beside, 1, 0), 0.12),
    "behind": (partial(_beside, -1, 0), 0.12),
    "centre": (lambda here, marks: hypot(here.x, here.y), 0.12),
}
"""Deviation and its limit in metres, by spatial relation; `_relations` adds two that are relative to the robot."""
