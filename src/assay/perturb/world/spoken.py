"""Where the words say that an object stands: the bowl next to the plate, the left plate.

A relation is read as a number: how far off an object is from where the words have it. It picks an object out if
that is little, and clearly less than for all others that look the same. Directions are those of the main
camera, as LIBERO says them: left is towards -y, the front towards +x.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import hypot, inf

import numpy as np

from assay.errors import PerturbationError
from assay.perturb.world.ground import Ground, Spot, carrier, owner
from assay.perturb.world.kinds import sort_of
from assay.sim.layout import layout_of
from assay.tasks import Entity, Scene, Task
from assay.tasks.language.lexicon import COLOURS, NO_COLOUR, names_of, words
from assay.tasks.language.phrases import positions
from assay.tasks.scene import Colour

CLEAR = 0.08
"""By how much all others must be further off, metres; LIBERO's own do so by 0.12 at least."""
OTHER_COLOUR = 0.35
"""By how much red, green or blue must be off to make another colour."""

Off = Callable[[Spot, Sequence[Spot]], float]
"""How far off a spot is, given those of the landmarks, metres."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Words about where a thing stands, which hold at the start."""

    text: str
    """``next to the plate``."""
    thing: str
    """What stands on the workspace there: what is spoken of, or what carries it."""
    likes: tuple[str, ...]
    """What stands on the workspace and is or carries another that looks the same."""
    landmarks: tuple[tuple[str, ...], ...]
    """For every landmark, what may be meant by its name."""
    off: Off
    limit: float
    """How far off it may be, metres."""

    def picks_out(self, spots: Mapping[str, Spot], clear: float = CLEAR) -> bool:
        """Whether the words are true of the object, and of no other by as much as ``clear`` metres."""
        here = self._off(self.thing, spots)
        return here <= self.limit and all(self._off(like, spots) >= here + clear for like in self.likes)

    def _off(self, name: str, spots: Mapping[str, Spot]) -> float:
        choices = product(*([spots[candidate] for candidate in landmark] for landmark in self.landmarks))
        return min(self.off(spots[name], marks) for marks in choices)


class Spoken:
    """The relations in a task's instruction that tell things of its goal from others."""

    def __init__(self, task: Task) -> None:
        self.spots: Mapping[str, Spot] = Ground(task.scene, snug=True).spots
        """Where objects stand before anything is moved."""
        self.relations = tuple(
            name for name in dict.fromkeys(_relations(task)) if name.picks_out(self.spots, clear=0.0)
        )

    def hold(self, spots: Mapping[str, Spot]) -> bool:
        """Whether every relation still picks out what it did, with objects at these spots."""
        return all(relation.picks_out(spots) for relation in self.relations)

    def about(self, thing: str) -> tuple[Relation, ...]:
        """What is said about where one object stands."""
        return tuple(relation for relation in self.relations if relation.thing == thing)

    def tell(self, thing: str, double: str, spot: Spot) -> bool:
        """Whether the words say where an object stands, and that is not where its double does."""
        spots = {**self.spots, double: spot}
        return any(
            replace(relation, likes=(*relation.likes, double)).picks_out(spots)
            for relation in self.about(thing)
        )

    @property
    def condition(self) -> str:
        """What must stay true, for the end of a reason; empty if the words do not say where objects stand."""
        texts = " and ".join(
            f"'{text}'" for text in dict.fromkeys(relation.text for relation in self.relations)
        )
        return f"; the words must stay true of one thing alone: {texts}" if texts else ""


def colours_of(text: str, names: Iterable[str]) -> set[str] | None:
    """The colours that precede any of these names in a text; None if it does not name it."""
    plain = " ".join(words(text)).replace(*NO_COLOUR)
    forms = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    called = re.findall(rf"(?:\b\w+ )?\b(?:{forms})\b", plain)
    return {word for phrase in called for word in phrase.split() if word in COLOURS} if called else None


def colours_said(task: Task, entity: Entity) -> set[str]:
    """The colours by which an instruction calls an entity: ``black`` in "the black bowl"."""
    for names in (names_of(entity.category), (sort_of(entity.category),)):
        colours = colours_of(task.instruction.text, names)
        if colours is not None:
            return colours
    return set()


def true_to(said: Collection[str], colour: Colour) -> bool:
    """Whether a colour is about one of those that are said, or none is."""
    off = (float(np.abs(np.subtract(colour, COLOURS[name])).max()) for name in said)
    return min(off, default=0.0) <= OTHER_COLOUR


def _relations(task: Task) -> Iterator[Relation]:
    """What the words after and before the names of the goal's objects may say about where they stand."""
    scene, text = task.scene, " ".join(words(task.instruction.text))
    robot = _robot(scene)
    measures = _MEASURES | {
        "nearest": (partial(_from_the_robot, robot, 1), inf),
        "furthest": (partial(_from_the_robot, robot, -1), inf),
    }
    names = {entity.name: names_of(entity.category) for entity in scene.entities}
    named = dict.fromkeys(owner(scene, name) for atom in task.goal.atoms for name in atom.arguments)
    for entity in (candidate for candidate in scene.entities if candidate.name in named):
        alike = [
            other.name
            for other in scene.entities
            if other != entity and (other.category, other.finish) == (entity.category, entity.finish)
        ]
        for position in (read for form in names[entity.name] for read in positions(text, form, names)):
            landmarks, (off, limit) = position.landmarks, measures[position.relation]
            if position.relation == "middle":
                landmarks = tuple((same,) for same in (entity.name, *alike))
            try:
                thing, likes = carrier(scene, entity.name), tuple(carrier(scene, same) for same in alike)
                marks = tuple(tuple(carrier(scene, landmark) for landmark in mark) for mark in landmarks)
            except PerturbationError:
                continue  # something hangs in the air
            yield Relation(position.text, thing, likes, marks, off, limit)


def _robot(scene: Scene) -> Spot:
    layout = layout_of(scene)
    x, y = (a - b for a, b in zip(layout.robot[:2], layout.offset[:2], strict=True))
    return Spot(x, y, 0.0, 0.0)


def _between(here: Spot, marks: Sequence[Spot]) -> float:
    """The detour from one landmark to the other by way of a spot."""
    one, other = marks
    return one.distance(here) + here.distance(other) - one.distance(other)


def _gap(here: Spot, marks: Sequence[Spot]) -> float:
    """The air to a landmark."""
    (mark,) = marks
    return max(here.air(mark), 0.0)


def _beside(x: int, y: int, here: Spot, marks: Sequence[Spot]) -> float:
    """How far from the place that touches a landmark on the side of (x, y)."""
    (mark,) = marks
    ideal_x = mark.x + x * (mark.half_x + here.half_x)
    ideal_y = mark.y + y * (mark.half_y + here.half_y)
    return hypot(here.x - ideal_x, here.y - ideal_y)


def _from_the_centre(here: Spot, marks: Sequence[Spot]) -> float:
    return hypot(here.x, here.y)


def _from_the_robot(robot: Spot, sign: int, here: Spot, marks: Sequence[Spot]) -> float:
    return sign * here.distance(robot)


def _from_the_mean(here: Spot, marks: Sequence[Spot]) -> float:
    return hypot(
        here.x - sum(mark.x for mark in marks) / len(marks),
        here.y - sum(mark.y for mark in marks) / len(marks),
    )


_MEASURES: dict[str, tuple[Off, float]] = {
    "left": (lambda here, marks: here.y, inf),
    "right": (lambda here, marks: -here.y, inf),
    "front": (lambda here, marks: -here.x, inf),
    "back": (lambda here, marks: here.x, inf),
    "middle": (_from_the_mean, inf),
    "between": (_between, 0.03),
    "near": (_gap, 0.08),
    "left of": (partial(_beside, 0, -1), 0.12),
    "right of": (partial(_beside, 0, 1), 0.12),
    "in front of": (partial(_beside, 1, 0), 0.12),
    "behind": (partial(_beside, -1, 0), 0.12),
    "centre": (_from_the_centre, 0.12),
}
"""What the words say -> the measure and its limit, metres; of the robot there are two more."""
