"""Where the words say that a thing stands: the bowl next to the plate, the left plate.

A relation is read as a number: how far off a thing is from where the words have it. It picks a thing out if
that is little, and clearly less than for all others that look the same. Directions are those of the main
camera, as LIBERO says them: left is towards -y, the front towards +x.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
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
from assay.tasks.names import names_of, words
from assay.tasks.staging import Colour

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
        """Whether the words are true of the thing, and of no other by as much as ``clear`` metres."""
        here = self._off(self.thing, spots)
        return here <= self.limit and all(self._off(each, spots) >= here + clear for each in self.likes)

    def _off(self, name: str, spots: Mapping[str, Spot]) -> float:
        choices = product(*([spots[each] for each in landmark] for landmark in self.landmarks))
        return min(self.off(spots[name], marks) for marks in choices)


class Spoken:
    """The relations in a task's instruction that tell things of its goal from others."""

    def __init__(self, task: Task) -> None:
        self.spots: Mapping[str, Spot] = Ground(task.scene, snug=True).spots
        """Where things stand before anything is moved."""
        self.relations = tuple(
            each for each in dict.fromkeys(_relations(task)) if each.picks_out(self.spots, clear=0.0)
        )

    def hold(self, spots: Mapping[str, Spot]) -> bool:
        """Whether every relation still picks out what it did, with things at these spots."""
        return all(each.picks_out(spots) for each in self.relations)

    def about(self, thing: str) -> tuple[Relation, ...]:
        """What is said about where one thing stands."""
        return tuple(each for each in self.relations if each.thing == thing)

    def tell(self, thing: str, double: str, spot: Spot) -> bool:
        """Whether the words say where a thing stands, and that is not where its double does."""
        spots = {**self.spots, double: spot}
        return any(replace(each, likes=(*each.likes, double)).picks_out(spots) for each in self.about(thing))

    @property
    def condition(self) -> str:
        """What must stay true, for the end of a reason; empty if the words do not say where things stand."""
        said = " and ".join(f"'{text}'" for text in dict.fromkeys(each.text for each in self.relations))
        return f"; the words must stay true of one thing alone: {said}" if said else ""


def colours_said(task: Task, entity: Entity) -> set[str]:
    """The colours by which an instruction calls an entity: ``black`` in "the black bowl"."""
    text = " ".join(words(task.instruction.text)).replace(*_NO_COLOUR)
    for names in (names_of(entity.category), (sort_of(entity.category),)):
        forms = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        called = re.findall(rf"(?:\b\w+ )?\b(?:{forms})\b", text)
        if called:
            return {word for each in called for word in each.split() if word in COLOURS}
    return set()


def true_to(said: Collection[str], colour: Colour) -> bool:
    """Whether a colour is about one of those that are said, or none is."""
    off = (float(np.abs(np.subtract(colour, COLOURS[name])).max()) for name in said)
    return min(off, default=0.0) <= OTHER_COLOUR


COLOURS: Mapping[str, Colour] = {
    "black": (0.0, 0.0, 0.0), "white": (1.0, 1.0, 1.0), "grey": (0.5, 0.5, 0.5), "red": (0.85, 0.15, 0.15),
    "blue": (0.15, 0.45, 0.85), "green": (0.2, 0.65, 0.25), "yellow": (0.95, 0.8, 0.2),
    "purple": (0.6, 0.3, 0.7), "orange": (0.95, 0.5, 0.1), "pink": (0.95, 0.6, 0.7),
    "brown": (0.45, 0.3, 0.2),
}  # fmt: skip
"""Words for colours, and about which red, green and blue they mean."""
_NO_COLOUR = ("orange juice", "juice")


def _relations(task: Task) -> Iterator[Relation]:
    """What the words after and before the names of the goal's things may say about where they stand."""
    scene, text = task.scene, " ".join(words(task.instruction.text))
    named = dict.fromkeys(owner(scene, name) for atom in task.goal.atoms for name in atom.arguments)
    for entity in (each for each in scene.entities if each.name in named):
        alike = [
            each.name
            for each in scene.entities
            if each != entity and (each.category, each.finish) == (entity.category, entity.finish)
        ]
        for said, landmarks, off, limit in _phrases(scene, text, entity, alike):
            try:
                thing, likes = carrier(scene, entity.name), tuple(carrier(scene, each) for each in alike)
                marks = tuple(tuple(carrier(scene, each) for each in mark) for mark in landmarks)
            except PerturbationError:
                continue  # something hangs in the air
            yield Relation(said, thing, likes, marks, off, limit)


_Phrase = tuple[str, tuple[tuple[str, ...], ...], Off, float]


def _phrases(scene: Scene, text: str, entity: Entity, alike: Sequence[str]) -> Iterator[_Phrase]:
    """The words, the landmarks, the measure and its limit of all relations beside an entity's name."""
    x, y = (a - b for a, b in zip(layout_of(scene).robot[:2], layout_of(scene).offset[:2], strict=True))
    robot = Spot(x, y, 0.0, 0.0)
    for form in names_of(entity.category):
        for match in re.finditer(rf"(?:\b({'|'.join(_ORDER)}) (?:\w+ )??)?\b{re.escape(form)}\b", text):
            rest = text[match.end() :]
            after = re.match(rf" (?:on|at|in) the ({'|'.join(_ORDER)})(?= and |$)", rest)
            for side, said in ((match[1], match[0]), (after and after[1], f"{form}{after and after[0]}")):
                if side == "middle":
                    yield said, tuple((each,) for each in (entity.name, *alike)), _from_the_mean, inf
                elif side:
                    yield said, (), _ORDER[side], inf
            for pattern, count, off, limit in _AFTER:
                start = re.match(f" {pattern}(?: |$)", rest)
                found = _landmarks(scene, rest[start.end() :], count) if start else None
                if start and found is not None:
                    marks, length = found
                    yield rest[: start.end() + length].strip(), marks, off, limit
            for said, sign in ((" nearest to the robot", 1), (" furthest from the robot", -1)):
                if rest.startswith(said):
                    yield said.strip(), (), partial(_from_the_robot, robot, sign), inf


def _landmarks(scene: Scene, text: str, count: int) -> tuple[tuple[tuple[str, ...], ...], int] | None:
    """What the names at the beginning of a text, joined by ``and``, may mean, and how long they are."""
    found: list[tuple[str, ...]] = []
    end = 0
    for _ in range(count):
        ends: dict[str, int] = {}
        for entity in scene.entities:
            for form in names_of(entity.category):
                match = re.match(rf"(?: ?and )?(?:the )?(?:\w+ )??{re.escape(form)}\b", text[end:])
                if match:
                    ends[entity.name] = max(match.end(), ends.get(entity.name, 0))
        if not ends:
            return None
        found.append(tuple(name for name in ends if ends[name] == max(ends.values())))
        end += max(ends.values())
    return tuple(found), end


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
        here.x - sum(each.x for each in marks) / len(marks),
        here.y - sum(each.y for each in marks) / len(marks),
    )


_ORDER: Mapping[str, Off] = {
    "left": lambda here, marks: here.y,
    "right": lambda here, marks: -here.y,
    "front": lambda here, marks: -here.x,
    "back": lambda here, marks: here.x,
    "middle": _from_the_mean,
}
"""Words for one of several."""
_AFTER: tuple[tuple[str, int, Off, float], ...] = (
    ("between", 2, _between, 0.03),
    ("(?:next to|near|beside|close to)", 1, _gap, 0.08),
    ("(?:to|on) the left of", 1, partial(_beside, 0, -1), 0.12),
    ("(?:to|on) the right of", 1, partial(_beside, 0, 1), 0.12),
    ("in front of", 1, partial(_beside, 1, 0), 0.12),
    ("behind", 1, partial(_beside, -1, 0), 0.12),
    ("(?:from|at|in) (?:the )?(?:table (?:center|centre)|(?:center|centre|middle) of the table)", 0,
     _from_the_centre, 0.12),
)  # fmt: skip
"""Words that may follow a name, how many landmarks follow them, the measure and its limit, metres.

What follows ``on`` and ``in`` is not among them: what a thing stands on takes it along.
"""
