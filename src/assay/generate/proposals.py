"""What could be asked for in a new scene, in words that name exactly what is meant."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from assay.generate.layout import LOW, Cast, Thing
from assay.generate.relations import CLEAR, Side, gap_between, is_at, may_be_at
from assay.perturb.world.ground import Spot
from assay.sim.footprints import footprint
from assay.sim.layout import layout_of
from assay.tasks import Atom, Goal, Instruction, Predicate, Rectangle, Region, Scene, Task

BESIDE = 0.05
"""Half the side of the square that is "to the left of" something, metres."""
NEXT_TO = 0.06
"""The widest gap between things that are next to each other, metres."""
FAMILIES = ("relation", "attribute", "state", "beside", "composite", "container", "surface")
"""Kinds of proposals, in the order in which they take turns."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something that could be asked for."""

    family: str
    text: str
    goal: Goal

    @property
    def like(self) -> tuple[str, str]:
        """What several proposals may have in common: the family and the destination."""
        return self.family, self.goal.atoms[-1].arguments[-1]


@dataclass(frozen=True, slots=True)
class _Place:
    """Somewhere a thing could be put: how to say it, and what is true then."""

    words: str
    predicate: Predicate
    name: str
    family: str
    first: str = ""
    """What has to be done before, as an instruction says it."""


def propose(cast: Cast, id: str, rng: np.random.Generator) -> list[Task]:
    """Tasks in a scene that has the regions their goals need, in the order in which they are tried."""
    regions = _beside(cast)
    scene = replace(cast.scene, regions=(*cast.scene.regions, *(region for _, _, region in regions)))
    found = [
        *_placements(cast, rng),
        *_states(cast),
        *_besides(cast, regions, rng),
        *_composites(cast, rng),
    ]
    return [_task(id, scene, each) for each in in_turn(found, rng)]


def in_turn(found: Sequence[Proposal], rng: np.random.Generator) -> list[Proposal]:
    """Proposals in the order in which they are tried: families take turns, and no goal comes twice.

    What is like an earlier one, of its family and with its destination, comes after everything that is not.
    """
    piles = {
        family: [found[int(i)] for i in rng.permutation(len(found)) if found[int(i)].family == family]
        for family in FAMILIES
    }
    chosen: dict[Goal, Proposal] = {}
    while any(piles.values()):
        for pile in piles.values():
            if pile:
                proposal = pile.pop()
                chosen.setdefault(proposal.goal, proposal)
    rounds: dict[int, list[Proposal]] = defaultdict(list)
    earlier: Counter[tuple[str, str]] = Counter()
    for proposal in chosen.values():
        rounds[earlier[proposal.like]].append(proposal)
        earlier[proposal.like] += 1
    return [proposal for number in sorted(rounds) for proposal in rounds[number]]


def references(cast: Cast, thing: Thing) -> Iterator[tuple[str, str]]:
    """Words that mean one thing and no other, and what they go by: attribute, relation, or nothing."""
    doubles = [other for other in cast.things if other.noun == thing.noun and other != thing]
    if not doubles:
        yield f"the {thing.noun}", ""
    elif thing.adjectives:
        yield f"the {' '.join(thing.adjectives)} {thing.noun}", "attribute"
    else:
        for words in _by_place(cast, thing, doubles):
            yield words, "relation"


def _by_place(cast: Cast, thing: Thing, doubles: list[Thing]) -> Iterator[str]:
    """Words for a thing that only its place tells from its doubles."""
    here, others = cast.spot(thing), [cast.spot(each) for each in doubles]
    base = np.array(layout_of(cast.scene).robot[:2]) - np.array(layout_of(cast.scene).offset[:2])
    if all(other.y - here.y > CLEAR for other in others):
        yield f"the left {thing.noun}"
    if all(here.y - other.y > CLEAR for other in others):
        yield f"the right {thing.noun}"
    far = np.hypot(here.x - base[0], here.y - base[1])
    distances = [np.hypot(other.x - base[0], other.y - base[1]) for other in others]
    if all(other - far > CLEAR for other in distances):
        yield f"the {thing.noun} nearest to the robot"
    if all(far - other > CLEAR for other in distances):
        yield f"the {thing.noun} furthest from the robot"
    for mark in cast.things:
        if mark in doubles or mark == thing:
            continue
        called = next((words for words, by in references(cast, mark) if by != "relation"), None)
        if called is None:
            continue
        there = cast.spot(mark)
        for side in Side:
            if is_at(here, side, there) and not any(may_be_at(other, side, there) for other in others):
                yield f"the {thing.noun} {side.words} {called}"
        gap = gap_between(here, there)
        if gap < NEXT_TO and all(gap_between(other, there) > gap + CLEAR for other in others):
            yield f"the {thing.noun} next to {called}"


def _placements(cast: Cast, rng: np.random.Generator) -> Iterator[Proposal]:
    for thing in _carried(cast):
        for words, by in references(cast, thing):
            for place in _places(cast, thing):
                text = (
                    f"{place.first} and put {words} inside"
                    if place.first
                    else _say(words, place.words, rng, located=by == "relation")
                )
                yield Proposal(
                    by or place.family, text, _goal(Atom(place.predicate, (thing.name, place.name)))
                )


def _places(cast: Cast, thing: Thing) -> Iterator[_Place]:
    """Where a thing could go."""
    for other in cast.things:
        piece, inside = other.furniture, other.receptacle
        if inside is not None and thing.noun in inside.takes:
            if inside.region:
                yield _Place(
                    f"in the {other.noun}", Predicate.IN, f"{other.name}_{inside.region}", "container"
                )
            else:
                yield _Place(f"on the {other.noun}", Predicate.ON, other.name, "surface")
        if piece is None:
            continue
        if piece.surface and thing.noun in piece.carries:
            yield _Place(piece.surface_words, Predicate.ON, f"{other.name}_{piece.surface}", "surface")
        if thing.noun in piece.holds:
            for part in piece.compartments:
                words = f"in the {_part(part)} compartment of the {piece.noun}"
                yield _Place(words, Predicate.IN, f"{other.name}_{part}", "container")
            for part in piece.opening:
                region = f"{other.name}_{part}"
                called = _opening(other, part)
                if _is_open(cast, other, part):
                    yield _Place(f"in {called}", Predicate.IN, region, "container")
                elif not piece.opens_as_one:
                    yield _Place("", Predicate.IN, region, "composite", first=f"open {called}")


def _states(cast: Cast) -> Iterator[Proposal]:
    """Open, close, turn on, turn off."""
    for thing in cast.things:
        piece = thing.furniture
        if piece is None:
            continue
        for part in piece.opening:
            name = thing.name if piece.opens_as_one else f"{thing.name}_{part}"
            is_open = _is_open(cast, thing, part)
            verb, predicate = ("close", Predicate.CLOSE) if is_open else ("open", Predicate.OPEN)
            yield Proposal("state", f"{verb} {_opening(thing, part)}", _goal(Atom(predicate, (name,))))
        if piece.switches:
            is_on = Atom(Predicate.TURN_ON, (thing.name,)) in cast.scene.initial
            words, predicate = ("off", Predicate.TURN_OFF) if is_on else ("on", Predicate.TURN_ON)
            yield Proposal("state", f"turn {words} the {piece.noun}", _goal(Atom(predicate, (thing.name,))))


def _beside(cast: Cast) -> list[tuple[Thing, Side, Region]]:
    """Free squares beside things that can be named."""
    found = []
    for thing in cast.things:
        if not any(by != "relation" for _, by in references(cast, thing)):
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


def _besides(
    cast: Cast, regions: list[tuple[Thing, Side, Region]], rng: np.random.Generator
) -> Iterator[Proposal]:
    """Put something beside something else."""
    for mark, side, region in regions:
        called = next(words for words, by in references(cast, mark) if by != "relation")
        for thing in _carried(cast):
            for words, by in references(cast, thing):
                if thing != mark and by != "relation":
                    where = f"{side.words} {called}"
                    goal = _goal(Atom(Predicate.ON, (thing.name, region.full_name)))
                    yield Proposal("beside", _say(words, where, rng), goal)


def _composites(cast: Cast, rng: np.random.Generator) -> Iterator[Proposal]:
    """Two things into one place; a state and what goes with it."""
    for other in cast.things:
        piece, inside = other.furniture, other.receptacle
        if inside is not None and inside.region:
            named = [
                (thing, next(references(cast, thing))[0])
                for thing in _carried(cast)
                if thing.noun in inside.takes and any(references(cast, thing))
            ]
            for one, two in pairwise(named):
                region = f"{other.name}_{inside.region}"
                atoms = [Atom(Predicate.IN, (thing.name, region)) for thing, _ in (one, two)]
                text = f"put both {one[1]} and {two[1]} in the {other.noun}"
                yield Proposal("composite", text, _goal(*atoms))
        if piece is not None and piece.switches:
            is_on = Atom(Predicate.TURN_ON, (other.name,)) in cast.scene.initial
            for thing in _carried(cast):
                words = next((words for words, _ in references(cast, thing)), None)
                if words is not None and thing.noun in piece.carries and not is_on:
                    atoms = [
                        Atom(Predicate.TURN_ON, (other.name,)),
                        Atom(Predicate.ON, (thing.name, f"{other.name}_{piece.surface}")),
                    ]
                    yield Proposal(
                        "composite", f"turn on the {piece.noun} and put {words} on it", _goal(*atoms)
                    )
        if piece is not None and piece.opening:
            for part in piece.opening:
                if not _is_open(cast, other, part):
                    continue
                for thing in _carried(cast):
                    words = next((words for words, _ in references(cast, thing)), None)
                    if words is not None and thing.noun in piece.holds:
                        name = other.name if piece.opens_as_one else f"{other.name}_{part}"
                        atoms = [
                            Atom(Predicate.IN, (thing.name, f"{other.name}_{part}")),
                            Atom(Predicate.CLOSE, (name,)),
                        ]
                        text = f"put {words} in {_opening(other, part)} and close it"
                        yield Proposal("composite", text, _goal(*atoms))


def _carried(cast: Cast) -> list[Thing]:
    """What is carried about: neither furniture nor receptacles."""
    return [thing for thing in cast.things if thing.furniture is None and thing.receptacle is None]


def _opening(thing: Thing, part: str) -> str:
    """What opens, in words."""
    assert thing.furniture is not None
    return (
        f"the {thing.noun}"
        if thing.furniture.opens_as_one
        else f"the {_part(part)} drawer of the {thing.noun}"
    )


def _part(region: str) -> str:
    return region.split("_")[0]


def _is_open(cast: Cast, thing: Thing, part: str) -> bool:
    assert thing.furniture is not None
    name = thing.name if thing.furniture.opens_as_one else f"{thing.name}_{part}"
    return Atom(Predicate.OPEN, (name,)) in cast.scene.initial


def _say(words: str, where: str, rng: np.random.Generator, *, located: bool = False) -> str:
    """To put something somewhere; what its own place tells needs a verb between the two places."""
    if located:
        return f"pick up {words} and place it {where}"
    return (f"put {words} {where}", f"place {words} {where}", f"pick up {words} and place it {where}")[
        int(rng.integers(3))
    ]


def _goal(*atoms: Atom) -> Goal:
    return Goal(atoms)


def _task(id: str, scene: Scene, proposal: Proposal) -> Task:
    names = dict.fromkeys(name for atom in proposal.goal.atoms for name in atom.arguments)
    return Task(id, scene, proposal.goal, Instruction(proposal.text), tuple(names))
