"""What could be asked for in a new scene: one step, or several together."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from assay.extensions.generate.layout import Cast, Thing, opened
from assay.extensions.generate.steps import (
    Family,
    Step,
    besides,
    carried,
    free_squares,
    is_on,
    is_open,
    placements,
    stacks,
    states,
)
from assay.extensions.generate.words import By, name, together
from assay.tasks import Atom, Goal, Instruction, Predicate, Scene, Task

DRAWN = 40
"""How many pairs and how many triples of steps are drawn in a scene."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something that could be asked for."""

    family: Family
    text: str
    goal: Goal

    @property
    def like(self) -> tuple[Family, str]:
        """What several proposals may have in common: the family and the destination."""
        return self.family, self.goal.atoms[-1].arguments[-1]


def propose(cast: Cast, id: str, rng: np.random.Generator) -> list[Task]:
    """Tasks in a scene that has the regions their goals need, in the order in which they are tried."""
    squares = free_squares(cast)
    scene = replace(cast.scene, regions=(*cast.scene.regions, *(region for _, _, region in squares)))
    single = [*placements(cast), *stacks(cast), *states(cast), *besides(cast, squares)]
    found = [
        *(Proposal(step.family, _said(step, rng), Goal((step.atom,))) for step in single),
        *_composites(cast),
        *_towers(single),
        *_sets(cast, single),
        *_several(single, 2, rng),
        *_several(single, 3, rng),
    ]
    return [_task(id, scene, each) for each in in_turn(found, rng)]


def in_turn(found: Sequence[Proposal], rng: np.random.Generator) -> list[Proposal]:
    """Proposals in the order in which they are tried: families take turns, and no goal comes twice.

    What is like an earlier one, of its family and with its destination, comes after everything that is not.
    """
    families = [list(Family)[int(i)] for i in rng.permutation(len(Family))]
    piles = {
        family: [found[int(i)] for i in rng.permutation(len(found)) if found[int(i)].family is family]
        for family in families
    }
    chosen: dict[frozenset[Atom], Proposal] = {}
    while any(piles.values()):
        for pile in piles.values():
            if pile:
                proposal = pile.pop()
                chosen.setdefault(frozenset(proposal.goal.atoms), proposal)
    rounds: dict[int, list[Proposal]] = defaultdict(list)
    earlier: Counter[tuple[Family, str]] = Counter()
    for proposal in chosen.values():
        rounds[earlier[proposal.like]].append(proposal)
        earlier[proposal.like] += 1
    return [proposal for number in sorted(rounds) for proposal in rounds[number]]


def _composites(cast: Cast) -> Iterator[Proposal]:
    """Something is opened, closed or switched, and something is put into or onto it."""
    for owner in cast.things:
        if owner.furniture is None:
            continue
        named = [(thing, words) for thing in carried(cast) if (words := name(cast, thing)) is not None]
        for part in owner.furniture.openings:
            region = f"{owner.name}_{part.region}"
            closed = Atom(Predicate.CLOSE, (opened(owner.entity, part),))
            for thing, words in named:
                if thing.noun not in part.takes:
                    continue
                inside = Atom(Predicate.IN, (thing.name, region))
                if is_open(cast, owner, part):
                    text = f"put {words} in {part.words} and close it"
                    yield Proposal(Family.COMPOSITE, text, Goal((inside, closed)))
                else:
                    text = f"open {part.words} and put {words} inside"
                    yield Proposal(Family.COMPOSITE, text, Goal((inside,)))
                    text = f"open {part.words}, put {words} inside and close it"
                    yield Proposal(Family.THREE, text, Goal((inside, closed)))
        if owner.furniture.switches:
            verb, predicate = (
                ("turn off", Predicate.TURN_OFF) if is_on(cast, owner) else ("turn on", Predicate.TURN_ON)
            )
            place = owner.furniture.places[0]
            for thing, words in named:
                if thing.noun in place.takes:
                    atoms = (
                        Atom(predicate, (owner.name,)),
                        Atom(place.predicate, (thing.name, f"{owner.name}_{place.region}")),
                    )
                    text = f"{verb} the {owner.noun} and put {words} on it"
                    yield Proposal(Family.COMPOSITE, text, Goal(atoms))


def _towers(single: Sequence[Step]) -> Iterator[Proposal]:
    """A bowl on a bowl on a bowl, each smaller than the one below."""
    stacked = [step for step in single if step.family is Family.STACK and not step.by.place]
    for lower in stacked:
        for upper in stacked:
            if upper.owner == lower.thing and upper.thing != lower.owner:
                text = f"{lower.text} and {upper.text}"
                yield Proposal(Family.STACK, text, Goal((lower.atom, upper.atom)))


def _sets(cast: Cast, single: Sequence[Step]) -> Iterator[Proposal]:
    """All things of a noun, or two that are called by name, go to one place."""
    places: dict[tuple[str, Predicate], dict[str, Step]] = defaultdict(dict)
    for step in single:
        if step.thing is not None and step.room > 1:
            places[step.atom.arguments[1], step.atom.predicate].setdefault(step.thing.name, step)
    for steps in places.values():
        for count in (2, 3):
            for group in combinations(steps.values(), count):
                things = [step.thing for step in group if step.thing is not None]
                words = together(cast, things)
                if words is None and count == 2 and not any(step.by.place for step in group):
                    words = f"both {group[0].what} and {group[1].what}"
                if words is not None and count <= group[0].room:
                    family = Family.TWO if count == 2 else Family.THREE
                    text = f"put {words} {group[0].where}"
                    yield Proposal(family, text, Goal(tuple(step.atom for step in group)))


def _several(single: Sequence[Step], count: int, rng: np.random.Generator) -> Iterator[Proposal]:
    """Several steps that do not hinder one another, joined by "and"."""
    usable = [step for step in single if not step.by.place or _is_short(step)]
    for _ in range(DRAWN if len(usable) >= count else 0):
        group = [usable[int(i)] for i in rng.permutation(len(usable))[:count]]
        # What is stacked upon is put in its place first, and what is closed or switched comes last.
        group.sort(key=lambda step: (step.thing is None, step.family is Family.STACK))
        if not _fit(group):
            continue
        changed = any(step.thing is None for step in group)
        family = Family.THREE if count > 2 else Family.COMPOSITE if changed else Family.TWO
        *first, last = (step.text for step in group)
        text = f"{', '.join(first)} and {last}"
        yield Proposal(family, text, Goal(tuple(step.atom for step in group)))


def _is_short(step: Step) -> bool:
    """Whether the words for a thing tell its place before its noun: ``the left book``."""
    return step.by is By.ORDER and step.thing is not None and step.what.endswith(step.thing.noun)


def _fit(group: Sequence[Step]) -> bool:
    """Whether steps can be done one after the other, whatever the order."""
    moved = [step.thing.name for step in group if step.thing is not None]
    changed = [step.owner.name for step in group if step.thing is None and step.owner is not None]
    beside = sum(step.family is Family.BESIDE for step in group)  # squares may overlap
    if len(set(moved)) < len(moved) or len(changed) > 1 or beside > 1:
        return False
    goals = Counter(step.atom.arguments[1] for step in group if step.thing is not None)
    if any(goals[step.atom.arguments[1]] > step.room for step in group if step.thing is not None):
        return False
    owners = [step.owner for step in group if step.thing is not None and step.owner is not None]
    onto_moved = any(owner.name in moved for owner in owners)
    into_changed = any(owner.name in changed and _opens(owner) for owner in owners)
    return not onto_moved and not into_changed


def _opens(thing: Thing) -> bool:
    return thing.furniture is not None and bool(thing.furniture.openings)


def _said(step: Step, rng: np.random.Generator) -> str:
    """A single step; what its own place tells needs a verb between the two places."""
    if step.verb != "put":
        return step.text
    apart = f"pick up {step.what} and place it {step.where}"
    if step.by.place:
        return apart
    return (step.text, f"place {step.what} {step.where}", apart)[int(rng.integers(3))]


def _task(id: str, scene: Scene, proposal: Proposal) -> Task:
    names = dict.fromkeys(name for atom in proposal.goal.atoms for name in atom.arguments)
    return Task(id, scene, proposal.goal, Instruction(proposal.text), tuple(names))
