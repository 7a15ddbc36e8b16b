"""Propose tasks for a scene that have one or more steps and unambiguous instructions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations, permutations

import numpy as np

from assay.extensions.generate.kit import Opening, TargetPlace
from assay.extensions.generate.layout import LOW_FURNITURE_M, SceneDraft, SceneObject, opening_name
from assay.extensions.generate.words import ReferenceBasis, Side, name, references, together
from assay.perturb.world.ground import Spot
from assay.sim.footprints import footprint
from assay.tasks import Atom, Goal, Instruction, Predicate, Rectangle, Region, Task

BESIDE_HALF_M = 0.05
"""Half the side length, in metres, of the square that counts as "to the left of" an object."""
STACKING_RATIO = 0.9
"""Maximum ratio of a bowl's size to that of the bowl it is stacked on."""


class Family(StrEnum):
    """Families of tasks."""

    RELATION = "relation"
    """The object is identified by its position."""
    ATTRIBUTE = "attribute"
    """The object is identified by its appearance."""
    STATE = "state"
    BESIDE = "beside"
    STACK = "stack"
    POSTURE = "posture"
    """An object is placed upright or on its side."""
    CONTAINER = "container"
    SURFACE = "surface"
    COMPOSITE = "composite"
    """Furniture is opened, closed or switched, and an object is placed."""
    TWO = "two"
    """Two objects are placed."""
    THREE = "three"
    """Three or more steps."""


@dataclass(frozen=True, slots=True)
class TaskStep:
    """A step of a task: placing an object, or opening, closing or switching furniture."""

    family: Family
    verb: str
    what: str
    """Reference to the object of the step."""
    where: str
    """Reference to the destination; empty if no object is placed."""
    atom: Atom
    by: ReferenceBasis = ReferenceBasis.NOUN
    """The property by which the instruction identifies the object."""
    obj: SceneObject | None = None
    """The object that is placed."""
    owner: SceneObject | None = None
    """The destination, or the piece of furniture that is opened, closed or switched."""
    capacity: int = 1
    """Number of objects that fit at the destination."""

    @property
    def text(self) -> str:
        """Instruction for the step."""
        return " ".join(filter(None, (self.verb, self.what, self.where)))


def single_steps(
    draft: SceneDraft, squares: Sequence[tuple[SceneObject, Side, Region]]
) -> Iterator[TaskStep]:
    """Return the steps that place or stack an object, put it beside another one, or open, close or switch furniture."""
    movable = movable_objects(draft)
    for obj in movable:
        for reference in references(draft, obj):
            for owner in draft.objects:
                for place in _places(draft, owner):
                    if obj.noun not in place.takes:
                        continue
                    family = Family.CONTAINER if place.inside else Family.SURFACE
                    if place.predicate in (Predicate.UPRIGHT_ON, Predicate.SIDE_ON):
                        family = Family.POSTURE
                    elif reference.by.place:
                        family = Family.RELATION
                    elif reference.by is ReferenceBasis.ATTRIBUTE:
                        family = Family.ATTRIBUTE
                    target = f"{owner.name}_{place.region}" if place.region else owner.name
                    atom = Atom(place.predicate, (obj.name, target))
                    what, where = reference.words, place.words
                    yield TaskStep(family, "put", what, where, atom, reference.by, obj, owner, place.capacity)
    bowls = [obj for obj in movable if obj.noun == "bowl"]
    for upper, lower in permutations(bowls, 2):
        size, size_below = upper.entity.size, lower.entity.size
        onto = next(references(draft, lower), None)
        if onto is None or not (size == size_below or size < STACKING_RATIO * size_below):
            continue
        for reference in references(draft, upper):
            if ReferenceBasis.LANDMARK not in (reference.by, onto.by):
                atom, where = Atom(Predicate.ON, (upper.name, lower.name)), f"on {onto.words}"
                yield TaskStep(
                    Family.STACK, "stack", reference.words, where, atom, reference.by, upper, lower
                )
    for obj in draft.objects:
        if obj.furniture is None:
            continue
        for part in obj.furniture.openings:
            verb = "close" if is_open(draft, obj, part) else "open"
            atom = Atom(Predicate[verb.upper()], (opening_name(obj.entity, part),))
            yield TaskStep(Family.STATE, verb, part.words, "", atom, owner=obj)
        if obj.furniture.switches:
            verb, atom = _switch(draft, obj)
            yield TaskStep(Family.STATE, verb, f"the {obj.noun}", "", atom, owner=obj)
    for mark, side, region in squares:
        where = f"{side.words} {name(draft, mark)}"
        for obj in movable:
            words = name(draft, obj)
            if obj != mark and words is not None:
                atom = Atom(Predicate.ON, (obj.name, region.full_name))
                yield TaskStep(Family.BESIDE, "put", words, where, atom, ReferenceBasis.NOUN, obj, mark)


def free_squares(draft: SceneDraft) -> list[tuple[SceneObject, Side, Region]]:
    """Return the free squares of the workspace beside objects that can be referred to unambiguously."""
    squares = []
    for obj in draft.objects:
        if name(draft, obj) is None:
            continue
        here = draft.spot(obj)
        hides = obj.furniture is not None and footprint(obj.entity.category).height > LOW_FURNITURE_M
        for side in Side:
            if hides and side is Side.BEHIND:
                continue
            halves = np.array([here.half_x, here.half_y]) + BESIDE_HALF_M + 0.02
            centre = np.array([here.x, here.y]) + halves * side.towards
            square = Spot(float(centre[0]), float(centre[1]), BESIDE_HALF_M, BESIDE_HALF_M)
            if draft.ground.free(square):
                corners = (*(centre - BESIDE_HALF_M), *(centre + BESIDE_HALF_M))
                box = Rectangle(*(round(float(corner), 3) for corner in corners))
                region = Region(f"{obj.name}_{side.name.lower()}_region", draft.scene.arena.workspace, (box,))
                squares.append((obj, side, region))
    return squares


def movable_objects(draft: SceneDraft) -> list[SceneObject]:
    """Return the objects that are neither furniture nor receptacles."""
    return [obj for obj in draft.objects if obj.furniture is None and obj.receptacle is None]


def is_open(draft: SceneDraft, obj: SceneObject, part: Opening) -> bool:
    """Return whether a drawer or door is open initially."""
    return Atom(Predicate.OPEN, (opening_name(obj.entity, part),)) in draft.scene.initial


def _switch(draft: SceneDraft, obj: SceneObject) -> tuple[str, Atom]:
    """Return the verb and goal atom for toggling a switch."""
    on, off = (Atom(predicate, (obj.name,)) for predicate in (Predicate.TURN_ON, Predicate.TURN_OFF))
    return ("turn off", off) if on in draft.scene.initial else ("turn on", on)


def _places(draft: SceneDraft, owner: SceneObject) -> Iterator[TargetPlace]:
    """Return the target places of furniture or a receptacle that are accessible initially."""
    if owner.receptacle is not None:
        yield from owner.receptacle.places
    if owner.furniture is not None:
        yield from owner.furniture.places
        for part in owner.furniture.openings:
            if is_open(draft, owner, part):
                yield TargetPlace(f"in {part.words}", part.takes, Predicate.IN, part.region)


DRAWS_PER_SIZE = 40
"""Number of pairs of steps, and of triples, drawn per scene."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate task."""

    family: Family
    text: str
    goal: Goal

    @property
    def group(self) -> tuple[Family, str]:
        """Family and destination of the task."""
        return self.family, self.goal.atoms[-1].arguments[-1]


def propose(draft: SceneDraft, id: str, rng: np.random.Generator) -> list[Task]:
    """Return candidate tasks in the order in which to try them. Their scene contains the regions of their goals."""
    squares = free_squares(draft)
    scene = replace(draft.scene, regions=(*draft.scene.regions, *(region for _, _, region in squares)))
    single = list(single_steps(draft, squares))
    proposals = []
    for step in single:
        text = step.text
        if step.verb == "put":
            apart = f"pick up {step.what} and place it {step.where}"
            # If an instruction contains two positions, a verb separates them.
            wordings = (text, f"place {step.what} {step.where}", apart)
            text = apart if step.by.place else wordings[int(rng.integers(3))]
        proposals.append(Proposal(step.family, text, Goal((step.atom,))))
    proposals += [
        *_composites(draft),
        # Stacks of three bowls, each smaller than the one below.
        *(
            Proposal(Family.STACK, f"{lower.text} and {upper.text}", Goal((lower.atom, upper.atom)))
            for lower, upper in permutations(single, 2)
            if lower.family is upper.family is Family.STACK
            and not (lower.by.place or upper.by.place)
            and upper.owner == lower.obj
            and upper.obj != lower.owner
        ),
        *_sets(draft, single),
        *_combinations(single, 2, rng),
        *_combinations(single, 3, rng),
    ]
    tasks = []
    for proposal in in_turn(proposals, rng):
        names = dict.fromkeys(name for atom in proposal.goal.atoms for name in atom.arguments)
        tasks.append(Task(id, scene, proposal.goal, Instruction(proposal.text), tuple(names)))
    return tasks


def in_turn(proposals: Sequence[Proposal], rng: np.random.Generator) -> list[Proposal]:
    """Return proposals in the order in which to try them: families alternate, and each goal occurs once.

    Proposals with the same family and destination as an earlier one come last.
    """
    families = [list(Family)[int(i)] for i in rng.permutation(len(Family))]
    piles = {
        family: [
            proposals[int(i)] for i in rng.permutation(len(proposals)) if proposals[int(i)].family is family
        ]
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
        rounds[earlier[proposal.group]].append(proposal)
        earlier[proposal.group] += 1
    return [proposal for number in sorted(rounds) for proposal in rounds[number]]


def _composites(draft: SceneDraft) -> Iterator[Proposal]:
    """Return proposals that open, close or switch furniture and put an object into or onto it."""
    for owner in draft.objects:
        if owner.furniture is None:
            continue
        named = [(obj, words) for obj in movable_objects(draft) if (words := name(draft, obj)) is not None]
        for part in owner.furniture.openings:
            region = f"{owner.name}_{part.region}"
            closed = Atom(Predicate.CLOSE, (opening_name(owner.entity, part),))
            for obj, words in named:
                if obj.noun not in part.takes:
                    continue
                inside = Atom(Predicate.IN, (obj.name, region))
                if is_open(draft, owner, part):
                    text = f"put {words} in {part.words} and close it"
                    yield Proposal(Family.COMPOSITE, text, Goal((inside, closed)))
                else:
                    text = f"open {part.words} and put {words} inside"
                    yield Proposal(Family.COMPOSITE, text, Goal((inside,)))
                    text = f"open {part.words}, put {words} inside and close it"
                    yield Proposal(Family.THREE, text, Goal((inside, closed)))
        if owner.furniture.switches:
            verb, switched = _switch(draft, owner)
            place = owner.furniture.places[0]
            for obj, words in named:
                if obj.noun in place.takes:
                    placed = Atom(place.predicate, (obj.name, f"{owner.name}_{place.region}"))
                    text = f"{verb} the {owner.noun} and put {words} on it"
                    yield Proposal(Family.COMPOSITE, text, Goal((switched, placed)))


def _sets(draft: SceneDraft, single: Sequence[TaskStep]) -> Iterator[Proposal]:
    """Return proposals that put two or three objects in the same place, named together or one by one."""
    places: dict[tuple[str, Predicate], dict[str, TaskStep]] = defaultdict(dict)
    for step in single:
        if step.obj is not None and step.capacity > 1:
            places[step.atom.arguments[1], step.atom.predicate].setdefault(step.obj.name, step)
    for steps in places.values():
        for count in (2, 3):
            for group in combinations(steps.values(), count):
                objects = [step.obj for step in group if step.obj is not None]
                words = together(draft, objects)
                if words is None and count == 2 and not any(step.by.place for step in group):
                    words = f"both {group[0].what} and {group[1].what}"
                if words is not None and count <= group[0].capacity:
                    family = Family.TWO if count == 2 else Family.THREE
                    text = f"put {words} {group[0].where}"
                    yield Proposal(family, text, Goal(tuple(step.atom for step in group)))


def _combinations(single: Sequence[TaskStep], count: int, rng: np.random.Generator) -> Iterator[Proposal]:
    """Return proposals that join several compatible steps with "and"."""
    # References by position must have it before the noun, "the left book", so that sentences stay unambiguous.
    usable = [
        step
        for step in single
        if not step.by.place
        or (step.by is ReferenceBasis.ORDER and step.obj is not None and step.what.endswith(step.obj.noun))
    ]
    for _ in range(DRAWS_PER_SIZE if len(usable) >= count else 0):
        group = [usable[int(i)] for i in rng.permutation(len(usable))[:count]]
        # Objects that others are stacked on are placed first; closing and switching come last.
        group.sort(key=lambda step: (step.obj is None, step.family is Family.STACK))
        # Steps must be executable in any order.
        placed = [step for step in group if step.obj is not None]
        moved = {step.obj.name for step in placed if step.obj is not None}
        changed = [step.owner.name for step in group if step.obj is None and step.owner is not None]
        beside = sum(step.family is Family.BESIDE for step in group)  # squares may overlap
        goals = Counter(step.atom.arguments[1] for step in placed)
        owners = [step.owner for step in placed if step.owner is not None]
        if (
            len(moved) < len(placed)
            or len(changed) > 1
            or beside > 1
            or any(goals[step.atom.arguments[1]] > step.capacity for step in placed)
            or any(owner.name in moved for owner in owners)
            or any(owner.name in changed and owner.furniture and owner.furniture.openings for owner in owners)
        ):
            continue
        family = Family.THREE if count > 2 else Family.COMPOSITE if len(placed) < count else Family.TWO
        *first, last = (step.text for step in group)
        text = f"{', '.join(first)} and {last}"
        yield Proposal(family, text, Goal(tuple(step.atom for step in group)))
