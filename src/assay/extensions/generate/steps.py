"""What could be done in a new scene, one thing at a time, in words that name exactly what is meant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from assay.extensions.generate.kit import Opening, Place
from assay.extensions.generate.layout import LOW, Cast, Thing, opened
from assay.extensions.generate.relations import Side
from assay.extensions.generate.words import By, Reference, name, references
from assay.perturb.world.ground import Spot
from assay.sim.footprints import footprint
from assay.tasks import Atom, Predicate, Rectangle, Region

BESIDE = 0.05
"""Half the side of the square that is "to the left of" something, metres."""
SMALLER = 0.9
"""How much smaller than another one, as a factor, a bowl is that is stacked on it; or as large."""


class Family(StrEnum):
    """Kinds of tasks."""

    RELATION = "relation"
    """Its place tells which thing is meant."""
    ATTRIBUTE = "attribute"
    """Its looks tell which thing is meant."""
    STATE = "state"
    BESIDE = "beside"
    STACK = "stack"
    POSTURE = "posture"
    """A thing is to stand, or to lie on its side."""
    CONTAINER = "container"
    SURFACE = "surface"
    COMPOSITE = "composite"
    """Something is opened, closed or switched, and something is put somewhere."""
    TWO = "two"
    """Two things are put somewhere."""
    THREE = "three"
    """Three things or more are to be done."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that could be done: a thing is put somewhere, or something is opened, closed or switched."""

    family: Family
    verb: str
    what: str
    """What it is done with, in words."""
    where: str
    """Where it goes, in words; empty where nothing is put anywhere."""
    atom: Atom
    by: By = By.NOUN
    """What the words for the thing go by."""
    thing: Thing | None = None
    """What is put somewhere."""
    owner: Thing | None = None
    """What it is put into, onto or beside; or what is opened, closed or switched."""
    room: int = 1
    """How many things can be put where this one is put."""

    @property
    def text(self) -> str:
        """As an instruction."""
        return " ".join(filter(None, (self.verb, self.what, self.where)))


def placements(cast: Cast) -> Iterator[Step]:
    """Put a thing into or onto something."""
    for thing in carried(cast):
        for reference in references(cast, thing):
            for owner in cast.things:
                for place in _places(cast, owner):
                    if thing.noun in place.takes:
                        yield _placement(thing, reference, owner, place)


def stacks(cast: Cast) -> Iterator[Step]:
    """Put a bowl onto another one that is not smaller."""
    bowls = [thing for thing in carried(cast) if thing.noun == "bowl"]
    for upper in bowls:
        for lower in bowls:
            if upper == lower or not (
                upper.entity.size == lower.entity.size or upper.entity.size < SMALLER * lower.entity.size
            ):
                continue
            onto = next(references(cast, lower), None)
            for reference in references(cast, upper):
                if onto is not None and By.LANDMARK not in (reference.by, onto.by):
                    atom = Atom(Predicate.ON, (upper.name, lower.name))
                    where = f"on {onto.words}"
                    yield Step(
                        Family.STACK, "stack", reference.words, where, atom, reference.by, upper, lower
                    )


def states(cast: Cast) -> Iterator[Step]:
    """Open, close, turn on, turn off."""
    for thing in cast.things:
        if thing.furniture is None:
            continue
        for part in thing.furniture.openings:
            verb, predicate = (
                ("close", Predicate.CLOSE) if is_open(cast, thing, part) else ("open", Predicate.OPEN)
            )
            atom = Atom(predicate, (opened(thing.entity, part),))
            yield Step(Family.STATE, verb, part.words, "", atom, owner=thing)
        if thing.furniture.switches:
            verb, predicate = (
                ("turn off", Predicate.TURN_OFF) if is_on(cast, thing) else ("turn on", Predicate.TURN_ON)
            )
            atom = Atom(predicate, (thing.name,))
            yield Step(Family.STATE, verb, f"the {thing.noun}", "", atom, owner=thing)


def free_squares(cast: Cast) -> list[tuple[Thing, Side, Region]]:
    """Free squares of the workspace beside things that can be named."""
    found = []
    for thing in cast.things:
        if name(cast, thing) is None:
            continue
        here = cast.spot(thing)
        hides = thing.furniture is not None and footprint(thing.entity.category).height > LOW
        for side in Side:
            if hides and side is Side.BEHIND:
                continue
            x, y = (
                np.array([here.x, here.y])
                + (np.array([here.half_x, here.half_y]) + BESIDE + 0.02) * side.towards
            )
            square = Spot(float(x), float(y), BESIDE, BESIDE)
            if cast.ground.free(square):
                box = Rectangle(
                    *(round(float(v), 3) for v in (x - BESIDE, y - BESIDE, x + BESIDE, y + BESIDE))
                )
                region = Region(
                    f"{thing.name}_{side.name.lower()}_region", cast.scene.arena.workspace, (box,)
                )
                found.append((thing, side, region))
    return found


def besides(cast: Cast, squares: list[tuple[Thing, Side, Region]]) -> Iterator[Step]:
    """Put something beside something else."""
    for mark, side, region in squares:
        landmark = name(cast, mark)
        for thing in carried(cast):
            words = name(cast, thing)
            if thing != mark and words is not None:
                atom = Atom(Predicate.ON, (thing.name, region.full_name))
                where = f"{side.words} {landmark}"
                yield Step(Family.BESIDE, "put", words, where, atom, By.NOUN, thing, mark)


def carried(cast: Cast) -> list[Thing]:
    """What is carried about: neither furniture nor receptacles."""
    return [thing for thing in cast.things if thing.furniture is None and thing.receptacle is None]


def is_open(cast: Cast, thing: Thing, part: Opening) -> bool:
    """Whether a drawer or door is open at the start."""
    return Atom(Predicate.OPEN, (opened(thing.entity, part),)) in cast.scene.initial


def is_on(cast: Cast, thing: Thing) -> bool:
    """Whether something is turned on at the start."""
    return Atom(Predicate.TURN_ON, (thing.name,)) in cast.scene.initial


def _places(cast: Cast, owner: Thing) -> Iterator[Place]:
    """Where things can be put without opening anything."""
    if owner.receptacle is not None:
        yield from owner.receptacle.places
    if owner.furniture is not None:
        yield from owner.furniture.places
        for part in owner.furniture.openings:
            if is_open(cast, owner, part):
                yield Place(f"in {part.words}", part.takes, Predicate.IN, part.region)


def _placement(thing: Thing, reference: Reference, owner: Thing, place: Place) -> Step:
    family = Family.CONTAINER if place.inside else Family.SURFACE
    if place.predicate in (Predicate.UPRIGHT_ON, Predicate.SIDE_ON):
        family = Family.POSTURE
    elif reference.by.place:
        family = Family.RELATION
    elif reference.by is By.ATTRIBUTE:
        family = Family.ATTRIBUTE
    target = f"{owner.name}_{place.region}" if place.region else owner.name
    atom = Atom(place.predicate, (thing.name, target))
    return Step(
        family, "put", reference.words, place.words, atom, reference.by, thing, owner, room=place.room
    )
