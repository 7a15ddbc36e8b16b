"""Exchange the objects of the goal with other objects, as in LIBERO-PRO."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import product
from math import cos, hypot, sin

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation, within
from assay.errors import PerturbationError
from assay.perturb.world.ground import TRIES, Ground, Spot, X, Y, carrier, movable, move_entity, named_entity
from assay.perturb.world.position import fits
from assay.perturb.world.spoken import Relation, Spoken
from assay.sim.packs.pack import AssetPack
from assay.support.streams import stream
from assay.tasks import Scene, Task

MIN_EXCHANGE_M = 0.11
"""Minimum displacement of an exchanged object, in metres: the smallest displacement in LIBERO-PRO."""
LANDMARK_TRIES = 96
"""Number of positions tried for an object that the instruction locates beside a landmark."""

Moves = Mapping[str, tuple[float, float]]
"""Object name -> displacement (x, y), in metres."""


@perturbation
class ExchangePlaces(Perturbation):
    """Exchanges the target and the receptacle, if movable, with other objects at least ``apart`` metres away.

    Fixtures are exchanged only if the goal involves no movable object. As many objects as possible are exchanged such
    that the instruction remains true. If the instruction locates the target beside a landmark, the landmark may be
    exchanged instead, and the target moves with it. Two objects with the same appearance are never exchanged.
    """

    kind = "world/exchange"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION

    apart: float = within(0.05, 0.5, default=MIN_EXCHANGE_M)
    """Minimum displacement of each object, in metres."""
    free: bool | None = False
    """Whether objects move to free positions instead of exchanging positions, and movable objects are moved out of
    the way of a fixture. None: only if no exchange is possible.
    """

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Try exchanges in random order, with the most objects first. Raises PerturbationError if all fail."""
        spoken, things = Spoken(task), goal_objects(task)
        here = Ground(task.scene, snug=True).spots
        best: tuple[tuple[int, bool], Scene] = ((0, False), task.scene)
        pairs = () if self.free else self._pairs(task, spoken, things, rng)
        places = () if self.free is False else self._places(task, things, rng)
        for snug, moves in (way for ways in (pairs, places) if not best[0][0] for way in ways):
            scene = self._try_moves(task, spoken, moves, snug, rng)
            if scene is None:
                continue
            there = Ground(scene, snug=True).spots
            gone = [name for name in things if here[name].distance(there[name]) >= self.apart - 1e-9]
            if (len(gone), things[0] in gone) > best[0]:
                best = (len(gone), things[0] in gone), scene
            if len(gone) == len(things):
                break
        if best[0][0] == 0:
            where = "no free position in view for" if self.free else "no object can exchange positions with"
            names = " or ".join(things)
            raise PerturbationError(
                f"{self.kind}: {where} {names}, at least {self.apart:g} m away{spoken.condition}"
            )
        return replace(task, scene=best[1])

    def _pairs(
        self, task: Task, spoken: Spoken, things: tuple[str, ...], rng: np.random.Generator
    ) -> Iterator[tuple[bool, Moves]]:
        """Yield exchanges as (snug, moves), with the most objects first; each is tried first with full gaps."""
        scene, spots = task.scene, spoken.spots
        looks = {entity.name: (entity.category, entity.finish) for entity in scene.entities}
        sorts = ({obj.name for obj in scene.objects}, {fixture.name for fixture in scene.fixtures})

        partners: list[list[tuple[str, str] | None]] = []
        for thing in things:
            marks = {name for relation in spoken.about(thing) for mark in relation.landmarks for name in mark}
            candidates = (
                (first, second)
                for first in (thing, *sorted(marks - {thing}))
                for second in spots
                if looks[first] != looks[second]
                and spots[first].distance(spots[second]) >= self.apart
                and any({first, second} <= sort for sort in sorts)
                and (first == thing or first in sorts[0])
            )
            partners.append([None, *candidates])
        plans = []
        for chosen in product(*partners):
            pairs = {frozenset(pair): pair for pair in chosen if pair is not None}
            if pairs and len({name for pair in pairs for name in pair}) == 2 * len(pairs):
                plans.append(tuple(pairs.values()))
        plans = list(dict.fromkeys(plans))
        # Distant pairs tend to come first: in LIBERO-PRO, the median distance is 20 to 26 cm.
        far = [sum(spots[one].distance(spots[other]) for one, other in plan) for plan in plans]
        turns = rng.exponential(size=len(plans)) / np.square(far)
        for index in sorted(range(len(plans)), key=lambda at: (-len(plans[at]), turns[at])):
            moves: dict[str, tuple[float, float]] = {}
            for one, other in plans[index]:
                dx, dy = spots[other].x - spots[one].x, spots[other].y - spots[one].y
                moves |= {one: (dx, dy), other: (-dx, -dy)}
            yield from ((snug, moves) for snug in (False, True))

    def _places(
        self, task: Task, things: tuple[str, ...], rng: np.random.Generator
    ) -> Iterator[tuple[bool, Moves]]:
        """Yield moves to free positions as (snug, moves); each move takes the preceding ones into account."""
        before = Ground(task.scene)
        for snug in (False, True):
            scene, moves = task.scene, dict[str, tuple[float, float]]()
            for name in things:
                here = Ground(scene, snug=True).spots[name]
                for _ in range(TRIES):
                    dx, dy = float(rng.uniform(*X)) - here.x, float(rng.uniform(*Y)) - here.y
                    if hypot(dx, dy) < self.apart:
                        continue
                    further = _with_room(scene, task, name, (dx, dy), snug, rng)
                    if further is not None and before.in_view(there := _move_all(scene, further)):
                        scene, moves = there, moves | further
                        break
            yield snug, moves

    def _try_moves(
        self, task: Task, spoken: Spoken, moves: Moves, snug: bool, rng: np.random.Generator
    ) -> Scene | None:
        """Move objects, and any object that the instruction locates beside them; return None if impossible."""
        scene = _move_all(task.scene, moves)
        if not _has_room(scene, task, moves, snug):
            return None
        before, after = Ground(task.scene, snug=True), Ground(scene, snug=True).spots
        broken = [relation for relation in spoken.relations if not relation.identifies(after)]
        followers = dict.fromkeys(relation.thing for relation in broken if relation.thing not in moves)
        if not broken:
            return scene if before.in_view(scene) else None
        if len(followers) != 1 or any(relation.thing not in followers for relation in broken):
            return None
        (thing,) = followers
        for dx, dy in _beside(broken[0], moves, after, rng):
            there = after[thing].shift(dx, dy)
            if hypot(dx, dy) >= self.apart and spoken.hold({**after, thing: there}):
                further = move_entity(scene, thing, dx, dy)
                if _has_room(further, task, {**moves, thing: (dx, dy)}, snug) and before.in_view(further):
                    return further
        return None


def goal_objects(task: Task) -> tuple[str, ...]:
    """Return the goal's movable objects that are on the workspace or, if there are none, its fixtures."""
    entities = {entity.name for entity in task.scene.entities}
    standing = dict.fromkeys(carrier(task.scene, name) for name in task.goal_entities if name in entities)
    return tuple(name for name in standing if name in movable(task)) or tuple(standing)


@lru_cache(maxsize=128)
def has_partners(task: Task, pack: AssetPack) -> bool:
    """Whether any object can exchange positions with an object of the task's goal.

    ``pack``: the asset pack used for planning, which determines object sizes; it is part of the cache key.
    """
    try:
        ExchangePlaces().apply(task, stream("partners", task.id))
    except PerturbationError:
        return False
    return True


def _move_all(scene: Scene, moves: Moves) -> Scene:
    for name, (dx, dy) in moves.items():
        scene = move_entity(scene, name, dx, dy)
    return scene


def _with_room(
    scene: Scene, task: Task, name: str, move: tuple[float, float], snug: bool, rng: np.random.Generator
) -> dict[str, tuple[float, float]] | None:
    """Return moves by object: the given one and, for fixtures, those that make room for it; None if impossible."""
    entities = {entity.name: entity for entity in scene.entities}
    if name in movable(task):
        return {name: move} if fits(Ground(scene, task.goal, snug=snug), entities[name], *move) else None
    moves = {name: move}
    ground = Ground(_move_all(scene, moves), task.goal, snug=snug)
    takes = [ground.spots[name], *([ground.doorways[name]] if name in ground.doorways else [])]
    in_the_way = [
        other
        for other, spot in ground.spots.items()
        if other != name and any(spot.overlaps(take) for take in takes)
    ]
    for other in in_the_way:
        ground = Ground(_move_all(scene, moves), task.goal, snug=snug)
        spot = ground.anywhere(rng, entities[other], without=(other,)) if other in movable(task) else None
        if spot is None:
            return None
        moves[other] = spot.x - ground.spots[other].x, spot.y - ground.spots[other].y
    ground = Ground(_move_all(scene, moves), task.goal, snug=snug)
    here, open_ = ground.spots[name], ground.doorways.get(name)
    front = here if open_ is None else replace(here, x=2 * open_.x - here.x, y=2 * open_.y - here.y)
    return moves if ground.reachable(front) and fits(ground, entities[name], 0.0, 0.0) else None


def _has_room(scene: Scene, task: Task, moves: Moves, snug: bool) -> bool:
    """Whether there is room for the moved objects without covering goal regions on the table."""
    ground = Ground(scene, task.goal, snug=snug)
    if not all(fits(ground, named_entity(scene, name), 0.0, 0.0) for name in moves):
        return False
    regions = (scene.region(name) for atom in task.goal.atoms for name in atom.arguments)
    places = (
        Spot(
            (box.x_min + box.x_max) / 2,
            (box.y_min + box.y_max) / 2,
            (box.x_max - box.x_min) / 2,
            (box.y_max - box.y_min) / 2,
        )
        for region in regions
        if region is not None
        for box in region.rectangles
    )
    return not any(ground.spots[name].overlaps(place, 0.0) for place in places for name in moves)


def _beside(
    relation: Relation, moves: Moves, spots: Mapping[str, Spot], rng: np.random.Generator
) -> Iterator[tuple[float, float]]:
    """Yield displacements that make an expression true: with a landmark, beside it, or between two landmarks."""
    here = spots[relation.thing]
    marks = [mark[0] for mark in relation.landmarks]
    yield from (moves[mark] for mark in marks if mark in moves)
    if not marks:
        return
    for _ in range(LANDMARK_TRIES):
        x, y = (sum(getattr(spots[mark], axis) for mark in marks) / len(marks) for axis in "xy")
        if len(marks) == 1:
            angle, air = rng.uniform(0, 2 * np.pi), rng.uniform(0.01, 0.07)
            mark = spots[marks[0]]
            x += (here.half_x + mark.half_x + air) * cos(angle)
            y += (here.half_y + mark.half_y + air) * sin(angle)
        else:
            x, y = rng.normal((x, y), 0.02)
        yield float(x) - here.x, float(y) - here.y
