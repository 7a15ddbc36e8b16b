"""Words that mean one thing of a scene and no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import numpy as np

from assay.extensions.generate.layout import Cast, Thing
from assay.extensions.generate.relations import CLEAR, Side, gap_between, is_at, may_be_at
from assay.sim.layout import layout_of

NEXT_TO = 0.06
"""The widest gap between things that are next to each other, metres."""
ORDINALS = ("first", "second", "third", "fourth")
COUNTS = {2: "both", 3: "all three", 4: "all four"}


class By(Enum):
    """What words go by."""

    NOUN = "noun"
    """There is no other thing of the noun."""
    ATTRIBUTE = "attribute"
    """A colour, size or pattern that the others of the noun do not have."""
    ORDER = "order"
    """Its place among those that look the same, from left to right or from the robot."""
    LANDMARK = "landmark"
    """Something else that it stands beside."""

    @property
    def place(self) -> bool:
        """Whether where it stands tells it from others."""
        return self in (By.ORDER, By.LANDMARK)


@dataclass(frozen=True, slots=True)
class Reference:
    """How an instruction calls a thing."""

    words: str
    """``the small red bowl``, ``the second book from the left``."""
    by: By


def references(cast: Cast, thing: Thing) -> Iterator[Reference]:
    """Words that mean one thing and no other."""
    by_looks = _by_looks(cast, thing)
    if by_looks is not None:
        yield by_looks
        return
    doubles = [other for other in cast.things if other != thing and _alike(other, thing)]
    yield from (Reference(words, By.ORDER) for words in _in_order(cast, thing, doubles))
    yield from (Reference(words, By.LANDMARK) for words in _beside(cast, thing, doubles))


def name(cast: Cast, thing: Thing) -> str | None:
    """The words for a thing that its looks alone tell from all others; None if there are none."""
    found = _by_looks(cast, thing)
    return None if found is None else found.words


def _by_looks(cast: Cast, thing: Thing) -> Reference | None:
    others = [other for other in cast.things if other.noun == thing.noun and other != thing]
    if any(_alike(other, thing) for other in others):
        return None
    return Reference(f"the {thing.called}", By.ATTRIBUTE if others else By.NOUN)


def _alike(one: Thing, other: Thing) -> bool:
    return one.called == other.called


def together(cast: Cast, things: list[Thing]) -> str | None:
    """The words for several things at once, ``both cans``; None if others are called so too."""
    count = COUNTS.get(len(things))
    nouns = {thing.noun for thing in things}
    looks = {thing.adjectives for thing in things}
    if count is None or len(nouns) != 1:
        return None
    everything = {each for each in cast.things if each.noun in nouns}
    if everything == set(things):
        return f"{count} {_plural(*nouns)}"
    if len(looks) == 1 and {each for each in everything if each.adjectives in looks} == set(things):
        return " ".join((count, *looks.pop(), _plural(*nouns)))
    return None


def _in_order(cast: Cast, thing: Thing, doubles: list[Thing]) -> Iterator[str]:
    """Words for a thing that its place in a row, or its distance from the robot, tells from its doubles."""
    here, others = cast.spot(thing), [cast.spot(double) for double in doubles]
    row = sorted([here, *others], key=lambda spot: spot.y)
    if all(right.y - left.y > CLEAR for left, right in pairwise(row)):
        place = row.index(here)
        if len(row) == 2:
            yield f"the {('left', 'right')[place]} {thing.called}"
        else:
            yield f"the {ORDINALS[place]} {thing.called} from the left"
            yield f"the {ORDINALS[len(row) - 1 - place]} {thing.called} from the right"
    base = np.array(layout_of(cast.scene).robot[:2]) - np.array(layout_of(cast.scene).offset[:2])
    far = np.hypot(here.x - base[0], here.y - base[1])
    distances = [np.hypot(other.x - base[0], other.y - base[1]) for other in others]
    if all(other - far > CLEAR for other in distances):
        yield f"the {thing.called} nearest to the robot"
    if all(far - other > CLEAR for other in distances):
        yield f"the {thing.called} furthest from the robot"


def _beside(cast: Cast, thing: Thing, doubles: list[Thing]) -> Iterator[str]:
    """Words for a thing that something else beside it tells from its doubles."""
    here, others = cast.spot(thing), [cast.spot(double) for double in doubles]
    for mark in cast.things:
        if mark in doubles or mark == thing:
            continue
        landmark = name(cast, mark)
        if landmark is None:
            continue
        there = cast.spot(mark)
        for side in Side:
            if is_at(here, side, there) and not any(may_be_at(other, side, there) for other in others):
                yield f"the {thing.called} {side.words} {landmark}"
        gap = gap_between(here, there)
        if gap < NEXT_TO and all(gap_between(other, there) > gap + CLEAR for other in others):
            yield f"the {thing.called} next to {landmark}"


def _plural(noun: str) -> str:
    return f"{noun}es" if noun.endswith("x") else f"{noun}s"
