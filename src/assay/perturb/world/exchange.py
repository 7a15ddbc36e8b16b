"""What a task is about stands where something else stood, as LIBERO-PRO has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import cos, hypot, sin

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.episodes.fields import within
from assay.errors import PerturbationError
from assay.perturb.world.ground import TRIES, Ground, Spot, X, Y, carrier, movable, move_entity, owner
from assay.perturb.world.position import fits
from assay.perturb.world.spoken import Relation, Spoken
from assay.sim.packs.pack import AssetPack
from assay.sim.packs.registry import planning_pack
from assay.support.streams import stream
from assay.tasks import Scene, Task

APART = 0.11
"""How far an object is moved at least, metres: LIBERO-PRO's nearest two that exchange their places are as far apart."""
FOLLOWING = 96
"""How many places beside a landmark are tried for what the words say stands there."""

Moves = Mapping[str, tuple[float, float]]
"""How far objects are moved, by name, metres."""


@perturbation
@dataclass(frozen=True, slots=True)
class ExchangePlaces(Perturbation):
    """The movable things a task is about, target and receptacle, exchange places with others, ``apart`` metres away.

    A fixture only if the task is about nothing else. As many of them as can, with the words still true: where they
    say beside what the target stands, that may change places, and the target comes along. Never two that look the
    same.
    """

    kind = "world/exchange"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION

    apart: float = within(0.05, 0.5, default=APART)
    """How far each is moved at least, metres."""
    free: bool | None = False
    """Whether they go to free places instead, for where nothing can take theirs; for a fixture others make room. None:
    only where nothing can."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Tries who changes places with whom in random order, all objects the task is about first."""
        spoken, things = Spoken(task), things_about(task)
        best: tuple[tuple[int, bool], Scene] = ((0, False), task.scene)
        pairs = () if self.free else self._pairs(task, spoken, things, rng)
        places = () if self.free is False else self._places(task, things, rng)
        for snug, moves in (way for ways in (pairs, places) if not best[0][0] for way in ways):
            scene = self._try_moves(task, spoken, moves, snug, rng)
            gone = [] if scene is None else self._gone(task.scene, scene, things)
            if scene is not None and (len(gone), things[0] in gone) > best[0]:
                best = (len(gone), things[0] in gone), scene
            if len(gone) == len(things):
                break
        if best[0][0] == 0:
            where = "no free place in view for" if self.free else "nothing can change places with"
            names = " or ".join(things)
            raise PerturbationError(f"{self.kind}: {where} {names}, {self.apart:g} m away{spoken.condition}")
        return replace(task, scene=best[1])

    def _pairs(
        self, task: Task, spoken: Spoken, things: tuple[str, ...], rng: np.random.Generator
    ) -> Iterator[tuple[bool, Moves]]:
        """Who might change places with whom: as many of the objects as possible first, where there is room first."""
        scene, spots = task.scene, spoken.spots
        looks = {entity.name: (entity.category, entity.finish) for entity in scene.entities}
        sorts = ({obj.name for obj in scene.objects}, {fixture.name for fixture in scene.fixtures})

        def partners(thing: str) -> list[tuple[str, str] | None]:
            marks = {name for relation in spoken.about(thing) for mark in relation.landmarks for name in mark}
            firsts = (thing, *sorted(marks - {thing}))
            return [
                None,
                *(
                    (first, second)
                    for first in firsts
                    for second in spots
                    if looks[first] != looks[second]
                    and spots[first].distance(spots[second]) >= self.apart
                    and any({first, second} <= sort for sort in sorts)
                    and (first == thing or first in sorts[0])
                ),
            ]

        plans = []
        for chosen in product(*map(partners, things)):
            pairs = {frozenset(pair): pair for pair in chosen if pair is not None}
            if pairs and len({name for pair in pairs for name in pair}) == 2 * len(pairs):
                plans.append(tuple(pairs.values()))
        plans = list(dict.fromkeys(plans))
        # The farther they go, the likelier: LIBERO-PRO's pairs are 20 to 26 cm apart in the median.
        far = [sum(spots[one].distance(spots[other]) for one, other in plan) for plan in plans]
        turns = rng.exponential(size=len(plans)) / np.square(far)
        for plan in (
            plans[at] for at in sorted(range(len(plans)), key=lambda at: (-len(plans[at]), turns[at]))
        ):
            moves: dict[str, tuple[float, float]] = {}
            for one, other in plan:
                dx, dy = spots[other].x - spots[one].x, spots[other].y - spots[one].y
                moves |= {one: (dx, dy), other: (-dx, -dy)}
            yield from ((snug, moves) for snug in (False, True))

    def _places(
        self, task: Task, things: tuple[str, ...], rng: np.random.Generator
    ) -> Iterator[tuple[bool, Moves]]:
        """Free places for the objects, each found with the others where they have gone."""
        before = Ground(task.scene)
        for snug in (False, True):
            scene, moves = task.scene, dict[str, tuple[float, float]]()
            for name in things:
                here = Ground(scene, snug=True).spots[name]
                for _ in range(TRIES):
                    dx, dy = float(rng.uniform(*X)) - here.x, float(rng.uniform(*Y)) - here.y
                    further = (
                        _with_room(scene, task, name, (dx, dy), snug, rng)
                        if hypot(dx, dy) >= self.apart
                        else None
                    )
                    there = None if further is None else _move_all(scene, further)
                    if further is not None and there is not None and before.in_view(there):
                        scene, moves = there, moves | further
                        break
            yield snug, moves

    def _try_moves(
        self, task: Task, spoken: Spoken, moves: Moves, snug: bool, rng: np.random.Generator
    ) -> Scene | None:
        """The scene with objects moved, and what the words say stands beside them; None if they find no room."""
        scene = _move_all(task.scene, moves)
        if not _has_room(scene, task, moves, snug):
            return None
        before, after = Ground(task.scene, snug=True), Ground(scene, snug=True).spots
        broken = [relation for relation in spoken.relations if not relation.picks_out(after)]
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

    def _gone(self, before: Scene, after: Scene, things: tuple[str, ...]) -> list[str]:
        """Which of the objects stand far enough from where they stood."""
        here, there = Ground(before, snug=True).spots, Ground(after, snug=True).spots
        return [name for name in things if here[name].distance(there[name]) >= self.apart - 1e-9]


def things_about(task: Task) -> tuple[str, ...]:
    """What a task is about and can be moved about on the workspace; the fixtures of its goal, if there is no such."""
    scene = task.scene
    names = dict.fromkeys(owner(scene, name) for atom in task.goal.atoms for name in atom.arguments)
    entities = {entity.name for entity in scene.entities}
    standing = dict.fromkeys(carrier(scene, name) for name in names if name in entities)
    return tuple(name for name in standing if name in movable(task)) or tuple(standing)


def has_partners(task: Task) -> bool:
    """Whether something can change places with what a task is about."""
    return _has_partners(task, planning_pack())


@lru_cache(maxsize=128)
def _has_partners(task: Task, pack: AssetPack) -> bool:
    """``pack``: the asset pack that the scene is planned for; sizes of objects depend on it."""
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
    """The move of an object to a free place; for a fixture, also those of movable objects that make room for it."""
    entities = {entity.name: entity for entity in scene.entities}
    if name in movable(task):
        return {name: move} if fits(Ground(scene, task.goal, snug=snug), entities[name], *move) else None
    moves = {name: move}
    for other in _in_the_way(_move_all(scene, moves), task, name, snug):
        ground = Ground(_move_all(scene, moves), task.goal, snug=snug)
        spot = ground.anywhere(rng, entities[other], without=(other,)) if other in movable(task) else None
        if spot is None:
            return None
        moves[other] = spot.x - ground.spots[other].x, spot.y - ground.spots[other].y
    ground = Ground(_move_all(scene, moves), task.goal, snug=snug)
    here, open_ = ground.spots[name], ground.doorways.get(name)
    front = here if open_ is None else replace(here, x=2 * open_.x - here.x, y=2 * open_.y - here.y)
    return moves if ground.reachable(front) and fits(ground, entities[name], 0.0, 0.0) else None


def _in_the_way(scene: Scene, task: Task, name: str, snug: bool) -> list[str]:
    """What stands where a fixture is, or where its doors open."""
    ground = Ground(scene, task.goal, snug=snug)
    takes = [ground.spots[name], *([ground.doorways[name]] if name in ground.doorways else [])]
    return [
        other
        for other, spot in ground.spots.items()
        if other != name and any(spot.overlaps(take) for take in takes)
    ]


def _has_room(scene: Scene, task: Task, moves: Moves, snug: bool) -> bool:
    """Whether objects have room where they were moved, and the goal's places on the table stay free."""
    ground = Ground(scene, task.goal, snug=snug)
    entities = {entity.name: entity for entity in scene.entities}
    if not all(fits(ground, entities[name], 0.0, 0.0) for name in moves):
        return False
    places = (scene.region(name) for atom in task.goal.atoms for name in atom.arguments)
    for region in places:
        for box in region.rectangles if region is not None else ():
            taken = Spot(
                (box.x_min + box.x_max) / 2,
                (box.y_min + box.y_max) / 2,
                (box.x_max - box.x_min) / 2,
                (box.y_max - box.y_min) / 2,
            )
            if any(ground.spots[name].overlaps(taken, 0.0) for name in moves):
                return False
    return True


def _beside(
    said: Relation, moves: Moves, spots: Mapping[str, Spot], rng: np.random.Generator
) -> Iterator[tuple[float, float]]:
    """How far to move an object to stand where the words have it: along with a landmark, or beside or between them."""
    here = spots[said.thing]
    marks = [mark[0] for mark in said.landmarks]
    yield from (moves[mark] for mark in marks if mark in moves)
    if not marks:
        return
    for _ in range(FOLLOWING):
        x, y = (sum(getattr(spots[mark], axis) for mark in marks) / len(marks) for axis in "xy")
        if len(marks) == 1:
            angle, air = rng.uniform(0, 2 * np.pi), rng.uniform(0.01, 0.07)
            mark = spots[marks[0]]
            x += (here.half_x + mark.half_x + air) * cos(angle)
            y += (here.half_y + mark.half_y + air) * sin(angle)
        else:
            x, y = rng.normal((x, y), 0.02)
        yield float(x) - here.x, float(y) - here.y
