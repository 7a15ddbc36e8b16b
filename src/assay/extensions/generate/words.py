"""Unambiguous references to the objects of a scene.

Directions are those of the main camera, as in LIBERO: left is towards -y, right is towards +y, in front is nearer to
the camera (+x), and behind is nearer to the robot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import numpy as np

from assay.extensions.generate.layout import SceneDraft, SceneObject
from assay.perturb.world.ground import Spot, robot_base
from assay.sim.layout import layout_of

BESIDE_GAP_M = 0.10
"""Maximum gap, in metres, between an object and a landmark beside it."""
CLEAR_MARGIN_M = 0.08
"""Minimum difference in position, in metres, for one of two objects to be considered further left, nearer, etc."""


class Side(Enum):
    """A side of a landmark."""

    LEFT = ("to the left of", 0.0, -1.0)
    RIGHT = ("to the right of", 0.0, 1.0)
    FRONT = ("in front of", 1.0, 0.0)
    BEHIND = ("behind", -1.0, 0.0)

    @property
    def words(self) -> str:
        """Phrase for the side: ``to the left of``."""
        return self.value[0]

    @property
    def towards(self) -> np.ndarray:
        """Unit vector towards the side, shape (2,)."""
        return np.array(self.value[1:])


def is_at(obj: Spot, side: Side, landmark: Spot) -> bool:
    """Return whether an object is on a side of a landmark, close to it and not diagonally offset."""
    along, across, gap = _seen_from(landmark, obj, side)
    return along > 0 and 0 <= gap <= BESIDE_GAP_M and abs(across) < 0.06


def may_be_at(obj: Spot, side: Side, landmark: Spot) -> bool:
    """Return whether an object could be described as being on a side of a landmark."""
    along, across, gap = _seen_from(landmark, obj, side)
    return along > 0 and abs(across) < along + 0.03 and gap < 2.5 * BESIDE_GAP_M


def _seen_from(landmark: Spot, obj: Spot, side: Side) -> tuple[float, float, float]:
    """Return an object's offsets along and across a side's direction, and its gap to the landmark, in metres."""
    delta = np.array([obj.x - landmark.x, obj.y - landmark.y])
    towards = side.towards
    along = float(delta @ towards)
    across = float(delta @ np.array([towards[1], -towards[0]]))
    halves = np.array([landmark.half_x + obj.half_x, landmark.half_y + obj.half_y])
    return along, across, along - float(halves @ np.abs(towards))


NEXT_TO_M = 0.06
"""Maximum gap, in metres, between objects that are next to each other."""
ORDINALS = ("first", "second", "third", "fourth")
COUNTS = {2: "both", 3: "all three", 4: "all four"}


class ReferenceBasis(Enum):
    """The property by which a reference identifies an object."""

    NOUN = "noun"
    """A noun that no other object has."""
    ATTRIBUTE = "attribute"
    """A colour, size or pattern that no other object with the same noun has."""
    ORDER = "order"
    """The position among objects that look the same, counted from the left, the right or the robot."""
    LANDMARK = "landmark"
    """A landmark: another object beside the one referred to."""

    @property
    def place(self) -> bool:
        """Whether the reference uses the object's position."""
        return self in (ReferenceBasis.ORDER, ReferenceBasis.LANDMARK)


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to an object in an instruction."""

    words: str
    """Wording of the reference: ``the small red bowl``, ``the second book from the left``."""
    by: ReferenceBasis


def references(draft: SceneDraft, obj: SceneObject) -> Iterator[Reference]:
    """Return all unambiguous references to an object."""
    others = [other for other in draft.objects if other.noun == obj.noun and other != obj]
    doubles = [other for other in others if other.description == obj.description]
    if doubles:
        words, look = [], obj.description
        here, there = draft.spot(obj), [draft.spot(double) for double in doubles]
        row = sorted([here, *there], key=lambda spot: spot.y)
        if all(right.y - left.y > CLEAR_MARGIN_M for left, right in pairwise(row)):
            place = row.index(here)
            if len(row) == 2:
                words.append(f"the {('left', 'right')[place]} {look}")
            else:
                words.append(f"the {ORDINALS[place]} {look} from the left")
                words.append(f"the {ORDINALS[len(row) - 1 - place]} {look} from the right")
        base = robot_base(layout_of(draft.scene))
        distance, *distances = (spot.distance(base) for spot in (here, *there))
        if all(other - distance > CLEAR_MARGIN_M for other in distances):
            words.append(f"the {look} nearest to the robot")
        if all(distance - other > CLEAR_MARGIN_M for other in distances):
            words.append(f"the {look} furthest from the robot")
        yield from (Reference(phrase, ReferenceBasis.ORDER) for phrase in words)
        yield from (Reference(phrase, ReferenceBasis.LANDMARK) for phrase in _beside(draft, obj, doubles))
    else:
        yield Reference(f"the {obj.description}", ReferenceBasis.ATTRIBUTE if others else ReferenceBasis.NOUN)


def name(draft: SceneDraft, obj: SceneObject) -> str | None:
    """Return a reference to an object by its appearance, or None if it would be ambiguous."""
    fits = sum(other.description == obj.description for other in draft.objects)
    return f"the {obj.description}" if fits == 1 else None


def together(draft: SceneDraft, objects: list[SceneObject]) -> str | None:
    """Return a reference to several objects, such as ``both cans``; None if it also applies to other objects."""
    count = COUNTS.get(len(objects))
    nouns = {obj.noun for obj in objects}
    looks = {obj.adjectives for obj in objects}
    if count is None or len(nouns) != 1:
        return None
    (noun,) = nouns
    plural = f"{noun}es" if noun.endswith("x") else f"{noun}s"
    everything = {obj for obj in draft.objects if obj.noun == noun}
    if everything == set(objects):
        return f"{count} {plural}"
    if len(looks) == 1 and {obj for obj in everything if obj.adjectives in looks} == set(objects):
        return " ".join((count, *looks.pop(), plural))
    return None


def _beside(draft: SceneDraft, obj: SceneObject, doubles: list[SceneObject]) -> Iterator[str]:
    """Return references that identify an object by a landmark beside it."""
    here, others = draft.spot(obj), [draft.spot(double) for double in doubles]
    for mark in draft.objects:
        if mark in doubles or mark == obj:
            continue
        landmark = name(draft, mark)
        if landmark is None:
            continue
        there = draft.spot(mark)
        for side in Side:
            if is_at(here, side, there) and not any(may_be_at(other, side, there) for other in others):
                yield f"the {obj.description} {side.words} {landmark}"
        gap = here.gap(there)
        if gap < NEXT_TO_M and all(other.gap(there) > gap + CLEAR_MARGIN_M for other in others):
            yield f"the {obj.description} next to {landmark}"
