"""Perturbations that move objects to free positions where the instruction still identifies them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from itertools import product
from math import cos, hypot, sin
from types import MappingProxyType

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation, within
from assay.errors import PerturbationError
from assay.perturb.world.ground import (
    TRIES,
    Ground,
    Spot,
    carrier,
    move_entity,
    named_entity,
    robot_base,
    target,
)
from assay.perturb.world.spoken import Spoken
from assay.sim.layout import layout_of
from assay.sim.packs.pack import AssetPack
from assay.sim.packs.registry import planning_pack
from assay.tasks import Entity, Scene, Task

MAX_DISTANCE_M = 0.6
"""Maximum displacement, in metres: the size of a workspace."""
FIXTURE_LIMITS_M = (0.45, 0.55)
"""Maximum distances of a fixture's edge from the workspace's centre, in metres: away from the robot, sideways."""
SWEEP = tuple(round(0.05 * step, 2) for step in range(1, 9))
"""Distances, in metres, at which positions in a direction of displacement should be free."""
DIRECTIONS = 72
"""Number of directions tried, evenly spaced."""
COMPARED_DIRECTIONS = 12
"""Number of random directions that are compared; the best of all 72 would be nearly the same for every seed."""
MIN_TARGET_MOVE_M = 0.03
"""Minimum displacement of the target, in metres; a quarter of the maximum displacement if that is less."""
MIN_BASE_DISTANCE_M = 0.18
"""Minimum distance of a fixture from the robot's base, in metres; the smallest in LIBERO is 0.19."""


@perturbation
class Jitter(Perturbation):
    """Moves every object on the workspace by up to ``radius`` metres, if there is room.

    The target moves by at least 3 cm, or a quarter of the radius if that is less. If the target is a fixture, or
    starts on or in one, that fixture moves.
    """

    kind = "world/jitter"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION
    neutral = MappingProxyType({"radius": 0.0})

    radius: float = within(0.0, 0.2)
    """Maximum displacement, in metres."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Move the objects one by one, each to a free position near its original one."""

        def draw(radius: float) -> tuple[float, float]:
            angle, distance = rng.uniform(0, 2 * np.pi), radius * np.sqrt(rng.random())
            return float(distance * np.cos(angle)), float(distance * np.sin(angle))

        return _scatter(self.kind, task, dict.fromkeys(Ground(task.scene).spots, self.radius), draw)


@perturbation
class Displace(Perturbation):
    """Moves the target by exactly ``distance`` metres in a random direction.

    For a given seed, the direction is the same at all distances if there is a direction in which the positions
    0.05, 0.10, ... 0.40 m away are free. Otherwise it is the one of twelve random directions with the most free
    positions; for a distance at which that direction is blocked, the closest free direction is used.
    """

    kind = "world/displace"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION

    distance: float = within(0.0, MAX_DISTANCE_M)
    """Displacement, in metres."""
    thing: str = ""
    """Name of the object to move; the target if empty."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Try directions until one leads to a free, reachable position."""
        name = carrier(task.scene, named_entity(task.scene, self.thing or target(task)).name)
        if self.distance == 0:
            return task
        angles = rng.uniform(0, 2 * np.pi) + 2 * np.pi * rng.permutation(DIRECTIONS) / DIRECTIONS
        _, snug = _grounds(task)
        moves = (
            (snug, self.distance * cos(angle), self.distance * sin(angle))
            for angle in _best_first(task, name, tuple(angles.tolist()), planning_pack())
        )
        return _make_first_move(
            task, name, moves, f"{self.kind}: no free position in view {self.distance:g} m"
        )


class WorkspaceAxis(StrEnum):
    """An axis of the workspace."""

    X = "x"
    """Axis that points away from the robot."""
    Y = "y"
    """Axis that points sideways."""


@perturbation
class DisplaceAlong(Perturbation):
    """Moves the target by exactly ``distance`` metres along an axis of the workspace.

    The sign is random; the other sign is used if there is no free position.
    """

    kind = "world/displace_along"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION

    along: WorkspaceAxis
    """Axis of the workspace: x points away from the robot, y sideways."""
    distance: float = within(0.0, MAX_DISTANCE_M)
    """Displacement, in metres."""
    thing: str = ""
    """Name of the object to move; the target if empty."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Try both signs, first with room for the full range of initial positions, then with less room."""
        name = carrier(task.scene, named_entity(task.scene, self.thing or target(task)).name)
        if self.distance == 0:
            return task
        sign = int(rng.choice((-1, 1)))
        x, y = (self.distance, 0.0) if self.along is WorkspaceAxis.X else (0.0, self.distance)
        moves = ((ground, way * x, way * y) for ground, way in product(_grounds(task), (sign, -sign)))
        problem = f"{self.kind}: no free position in view {self.distance:g} m along {self.along}"
        return _make_first_move(task, name, moves, problem)


@perturbation
class Relocate(Perturbation):
    """Moves every object on the workspace, typically farther than `Jitter` does.

    The radius of a move is ``share`` times the distance to the nearest neighbour; 0.5 corresponds to LIBERO-X's
    second level. The target moves by at least 3 cm, or a quarter of its radius if that is less. If the target is a
    fixture, or starts on or in one, that fixture moves.
    """

    kind = "world/relocate"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION

    share: float = within(0.05, 2.0, default=0.5)
    """Radius of a move as a fraction of the distance to the nearest neighbour."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Move the objects one by one."""
        spots = Ground(task.scene, task.goal).spots
        radii = {
            name: self.share
            * min((spot.distance(other) for other in spots.values() if other is not spot), default=0.3)
            for name, spot in spots.items()
        }
        return _scatter(self.kind, task, radii, lambda radius: rng.uniform(-radius, radius, size=2).tolist())


@perturbation
class Swap(Perturbation):
    """Exchanges the positions of two movable objects: the target and another one, unless objects are specified.

    If the target is a fixture or fits nowhere else, two other objects are exchanged. Two objects with the same
    appearance are never exchanged.
    """

    kind = "world/swap"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION

    first: str = ""
    """Name of the first object; the target if empty."""
    second: str = ""
    """Name of the second object; if empty, any object for which there is room."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Try pairs in random order until there is room for both objects."""
        scene = task.scene
        one = carrier(scene, named_entity(scene, self.first or target(task)).name)
        spoken = Spoken(task)
        spots = spoken.spots
        looks = {entity.name: (entity.category, entity.finish) for entity in scene.entities}
        standing = [entity.name for entity in scene.objects if entity.name in spots]
        movable = list(map(str, rng.permutation(standing)))
        firsts = [one] if self.first else sorted(movable, key=lambda name: name != one)
        seconds = [named_entity(scene, self.second).name] if self.second else movable
        pairs = [(a, b) for a in firsts for b in seconds if looks[a] != looks[b] and {a, b} <= spots.keys()]
        for ground, (a, b) in product(_grounds(task), pairs):
            here, there = ground.spots[a], ground.spots[b]
            fits = (
                ground.free(replace(spot, x=place.x, y=place.y), without=(a, b))
                for spot, place in ((here, there), (there, here))
            )
            dx, dy = there.x - here.x, there.y - here.y
            after = {**spots, a: spots[a].shift(dx, dy), b: spots[b].shift(-dx, -dy)}
            swapped = move_entity(move_entity(scene, a, dx, dy), b, -dx, -dy)
            if all(fits) and spoken.hold(after) and ground.in_view(swapped):
                return replace(task, scene=swapped)
        who = f"there is no object with which {one}" if self.first else "there are no two objects that"
        raise PerturbationError(f"{self.kind}: {who} could exchange positions{spoken.condition}")


@perturbation
class MoveFixture(Perturbation):
    """Moves a fixture by up to ``distance`` metres."""

    kind = "world/move_fixture"
    effects = frozenset({Effect.PHYSICS})
    change = Change.POSITION

    distance: float = within(0.02, MAX_DISTANCE_M, default=0.1)
    """Maximum displacement, in metres; the minimum is half of it."""
    fixture: str = ""
    """Name of the fixture; if empty, any fixture that can be moved."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Try fixtures in random order, at positions at least half of ``distance`` away."""
        ground, spoken = Ground(task.scene), Spoken(task)
        fixtures = [fixture.name for fixture in task.scene.fixtures if fixture.name in ground.spots]
        wanted = [named_entity(task.scene, self.fixture).name] if self.fixture else rng.permutation(fixtures)
        for name in (str(chosen) for chosen in wanted if chosen in ground.spots):
            here, others = ground.spots[name], [spot for other, spot in ground.spots.items() if other != name]
            for _ in range(TRIES):
                angle, distance = rng.uniform(0, 2 * np.pi), self.distance * rng.uniform(0.5, 1.0)
                dx, dy = float(distance * np.cos(angle)), float(distance * np.sin(angle))
                there = here.shift(dx, dy)
                stands = _is_on_table(task.scene, there) and not any(
                    there.overlaps(other) for other in others
                )
                after = {**spoken.spots, name: spoken.spots[name].shift(dx, dy)}
                scene = move_entity(task.scene, name, dx, dy)
                if stands and spoken.hold(after) and ground.in_view(scene):
                    return replace(task, scene=scene)
        raise PerturbationError(
            f"{self.kind}: no fixture can be moved by {self.distance:g} m{spoken.condition}"
        )


def _scatter(
    kind: str, task: Task, radii: Mapping[str, float], draw: Callable[[float], tuple[float, float]]
) -> Task:
    """Move each object, if there is room, by a displacement (dx, dy): ``draw`` chooses it within a radius.

    The target must move. If it cannot, smaller gaps between objects are allowed; if that is not enough, so are
    gaps that are too small already and do not shrink.
    """
    about, spoken = carrier(task.scene, target(task)), Spoken(task)
    least = min(MIN_TARGET_MOVE_M, radii[about] / 4)
    fixtures = [fixture for fixture in task.scene.fixtures if fixture.name == about]
    for snug, lenient in ((False, False), (True, False), (True, True)):
        scene, spots, moves = task.scene, spoken.spots, False
        for entity in (*fixtures, *task.scene.objects):
            if entity.name not in spots:
                continue
            ground = Ground(scene, task.goal, snug=snug)
            for _ in range(5 * TRIES if entity.name == about else TRIES):
                dx, dy = draw(radii[entity.name])
                far = entity.name != about or hypot(dx, dy) >= least
                if not (far and fits(ground, entity, dx, dy, lenient=lenient)):
                    continue
                after = {**spots, entity.name: spots[entity.name].shift(dx, dy)}
                there = move_entity(scene, entity.name, dx, dy)
                if spoken.hold(after) and ground.in_view(there):
                    scene, spots = there, after
                    moves = moves or entity.name == about
                    break
        if moves:
            return replace(task, scene=scene)
    raise PerturbationError(f"{kind}: {about} cannot be moved by {100 * least:.1f} cm{spoken.condition}")


def fits(ground: Ground, entity: Entity, dx: float, dy: float, *, lenient: bool = False) -> bool:
    """Whether there is room for an entity after a move; for a fixture, also with its doors open.

    ``lenient``: allow gaps that are already too small if they do not shrink.
    """
    name, scene = entity.name, ground.scene
    here = ground.spots[name]
    there = here.shift(dx, dy)
    if entity not in scene.fixtures:
        return ground.free(there, without=(name,), after=here if lenient else None)
    places = (here, ground.doorways.get(name, here))
    are_clear = (
        ground.clear(place.shift(dx, dy), without=(name,), after=place if lenient else None)
        for place in places
    )
    return _is_on_table(scene, there) and ground.reachable(there) and all(are_clear)


def _grounds(task: Task) -> tuple[Ground, Ground]:
    """Return two floor plans: with the full range of initial positions, and with the centre of each range only."""
    return Ground(task.scene, task.goal), Ground(task.scene, task.goal, snug=True)


def _is_on_table(scene: Scene, spot: Spot) -> bool:
    """Whether a fixture is completely on the table and clear of the robot."""
    on_table = (
        spot.x + spot.half_x <= FIXTURE_LIMITS_M[0] and abs(spot.y) + spot.half_y <= FIXTURE_LIMITS_M[1]
    )
    return on_table and spot.gap(robot_base(layout_of(scene))) >= MIN_BASE_DISTANCE_M


@lru_cache(maxsize=64)
def _best_first(task: Task, name: str, angles: tuple[float, ...], pack: AssetPack) -> tuple[float, ...]:
    """Sort directions by their angle to the best one, which is free at all distances of `SWEEP` if possible.

    ``pack`` determines the sizes of objects; it is part of the cache key.
    """
    spoken, (roomy, snug) = Spoken(task), _grounds(task)

    counts: dict[float, tuple[int, int]] = {}
    for angle in angles:
        steps = [(distance * cos(angle), distance * sin(angle)) for distance in SWEEP]
        possible = [step for step in steps if _leads(snug, spoken, name, *step)]
        counts[angle] = len(possible), sum(_leads(roomy, spoken, name, *step) for step in possible)
    whole = [angle for angle in angles if counts[angle][0] == len(SWEEP)]
    best = max(whole or angles[:COMPARED_DIRECTIONS], key=counts.__getitem__)
    return tuple(sorted(angles, key=lambda angle: 1 - cos(angle - best)))


def _make_first_move(
    task: Task, name: str, moves: Iterable[tuple[Ground, float, float]], problem: str
) -> Task:
    """Apply the first move (dx, dy) that leads to a free position in view; return the changed task."""
    spoken = Spoken(task)
    for ground, dx, dy in moves:
        if _leads(ground, spoken, name, dx, dy):
            scene = move_entity(task.scene, name, dx, dy)
            if ground.in_view(scene):
                return replace(task, scene=scene)
    raise PerturbationError(f"{problem} from {name}{spoken.condition}")


def _leads(ground: Ground, spoken: Spoken, name: str, dx: float, dy: float) -> bool:
    """Whether a move leads to a free position at which the instruction remains true."""
    there = ground.spots[name].shift(dx, dy)
    return ground.free(there, without=(name,)) and spoken.hold(
        {**spoken.spots, name: spoken.spots[name].shift(dx, dy)}
    )
