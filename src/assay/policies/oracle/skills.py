"""What the oracle can do with one thing: take it, put it somewhere, slide it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count, islice
from typing import NamedTuple

import numpy as np

from assay.policies.oracle.grasps import TIP, Grasp, hand_itself, hand_points, obstacles, ranked_grasps
from assay.policies.oracle.motion import (
    AROUND,
    CLOSED,
    DOWN,
    OPEN,
    Motion,
    facing,
    grip,
    move,
    nearest_turn,
    travel,
)
from assay.policies.oracle.placing import CLEARANCE, Spot, place, put_back
from assay.policies.oracle.reach import OPENED, Reach
from assay.policies.oracle.sight import Sight
from assay.sim.compile import EntityIndex

HOVER = 0.09
"""How far before a grasp the hand stops first, metres."""
LIFTED = 0.025
"""How much a thing must rise to count as lifted, metres."""
STILL = 0.02
"""Speed below which a thing lies still, metres per second."""
TRIES = 4
"""How many grasps are tried."""
CHOICE = 40
"""How many free grasps are weighed against each other."""
CHECKED = 40
"""How many poses are tried with the arm at most."""
FAILED = 0.15
"""What it costs to try a grasp again that failed."""
ALIKE, SAME_WAY = 0.012, 0.97
"""How near to each other grasps are that are alike, metres, and the cosine between their directions."""
MISSED = 0.03
"""How far from a grasp the hand may stop for closing it to be worth a try, metres."""
CROWDED = 0.005
"""What each point of the hand that touches something where a thing is put down costs."""
LOW = 0.05
"""How high a thing may be that is slid into the open if the hand has no room around it, metres."""
HEMMED = 8
"""How many points of the hand must touch something for that."""
OUT = 0.08
"""How far it is slid, metres."""
PRESS = 0.008
"""How far into a thing the fingers want to go that slide it, metres."""
ASIDE = 0.02
"""How far beside what hangs over it a thing is lifted, metres."""
ASIDES = (0.03, 0.06, 0.09, 0.12)
"""How far from a grasp the hand comes down where something hangs over it, metres."""
OVER = 0.008
"""How far above a thing the fingertips then come in, metres."""
THIN = 8
"""How many more steps the hand closes for a thing that it does not touch with both fingers yet: it is thin."""


@dataclass(slots=True)
class Failures:
    """Grasps by which things could not be taken or put where they belong, so that others are tried first."""

    _known: defaultdict[str, list[Hold]] = field(default_factory=lambda: defaultdict(list))

    def add(self, sight: Sight, entity: EntityIndex, grasp: Grasp) -> None:
        """Remember a grasp, as the thing lies now."""
        self._known[entity.name].append(_hold(sight, entity, grasp))

    def cost(self, sight: Sight, entity: EntityIndex, grasp: Grasp) -> float:
        """What a grasp costs that is like some that failed."""
        mine = _hold(sight, entity, grasp)
        alike = (
            np.linalg.norm(mine.position - hold.position) < ALIKE and mine.approach @ hold.approach > SAME_WAY
            for hold in self._known[entity.name]
        )
        return FAILED * sum(map(bool, alike))


class Hold(NamedTuple):
    """A grasp as the thing sees it."""

    position: np.ndarray
    """(3,)"""
    approach: np.ndarray
    """(3,)"""


def _hold(sight: Sight, entity: EntityIndex, grasp: Grasp) -> Hold:
    origin, frame = sight.pose(entity)
    return Hold((grasp.position - origin) @ frame, grasp.rotation[:, 2] @ frame)


def put(sight: Sight, entity: EntityIndex, spots: Callable[[], Sequence[Spot]], failures: Failures) -> Motion:
    """Take a thing to the best of the places that ``spots`` finds as it lies; tries other grasps if one fails."""
    for attempt in range(TRIES):
        yield from _settle(sight, entity)
        choice = _choose(sight, entity, spots(), failures)
        if choice is None:
            return False
        open_place = None
        if attempt == 0 and not _from_the_side(sight, entity, choice[0]).any():
            open_place = _open_place(sight, entity, choice[0])
        if open_place is not None:
            yield from drag(sight, entity, open_place, near=OUT / 3)
            choice = _choose(sight, entity, spots(), failures) or choice
        grasp, spot = choice
        failures.add(sight, entity, grasp)
        origin, standing = sight.pose(entity)
        if (yield from _take(sight, entity, grasp)):
            if (yield from place(sight, entity, spot, standing)):
                return True
            if sight.touched(entity):
                yield from put_back(sight, entity, origin, standing)
        yield from grip(sight, OPEN, steps=4)
        here, rotation = sight.hand()
        yield from move(sight, here + (0.0, 0.0, 0.06), rotation, OPEN, steps=10, near=0.02)
    return False


def _open_place(sight: Sight, entity: EntityIndex, grasp: Grasp) -> np.ndarray | None:
    """Where near by (2,) a low thing's origin should be for the hand to have room around it; None if it has some."""
    around = obstacles(sight, (geom for geom in sight.solid_geoms if geom not in entity.geoms))

    def touching(way: np.ndarray) -> int:
        return around.contain(hand_points(grasp.position + way, grasp.rotation))

    if sight.box(entity).size[2] > LOW or touching(np.zeros(3)) < HEMMED:
        return None
    best = min((OUT * way for way in AROUND), key=touching)
    return np.asarray((sight.pose(entity)[0] + best)[:2]) if touching(best) < HEMMED else None


def raise_up(sight: Sight, entity: EntityIndex, height: float) -> Motion:
    """Take a thing and lift it until its origin is above a height in the world, metres."""
    for attempt in range(TRIES):
        yield from _settle(sight, entity)
        grasp = next(islice(ranked_grasps(sight, entity), attempt, None), None)
        if grasp is None:
            return False
        grasp, _ = _turned(Reach(sight, entity), grasp)
        if (yield from _take(sight, entity, grasp)):
            here, rotation = sight.hand()
            left = height + 0.02 - sight.pose(entity)[0][2]
            yield from move(sight, here + (0.0, 0.0, max(left, 0.0)), rotation, CLOSED)
        if sight.pose(entity)[0][2] >= height:
            return True
        yield from grip(sight, OPEN, steps=4)
    return False


def _settle(sight: Sight, entity: EntityIndex) -> Motion:
    """Wait until a thing lies still, at least one step: initial states may have it in the air."""
    for _ in range(15):
        yield from grip(sight, OPEN, steps=1)
        if sight.speed(entity) < STILL:
            return True
    return False


def _choose(
    sight: Sight, entity: EntityIndex, spots: Sequence[Spot], failures: Failures
) -> tuple[Grasp, Spot] | None:
    """The grasp and the place that cost least together.

    What is in the way and whether the arm gets there is found out only for what may be the best.
    """
    around = obstacles(sight, (geom for geom in sight.solid_geoms if geom not in entity.geoms))
    reach = Reach(sight, entity)
    origin, _ = sight.pose(entity)
    grasps = islice(ranked_grasps(sight, entity), CHOICE)
    coming = next(grasps, None)
    turned: dict[Grasp, tuple[Grasp, float]] = {}
    number = count()
    queue: list[tuple[float, int, int, Grasp, Spot]] = []
    while queue or coming is not None:
        if coming is not None and (not queue or coming.cost <= queue[0][0]):
            known = failures.cost(sight, entity, coming)
            for spot in spots:
                cost = coming.cost + known + spot.cost
                heappush(queue, (cost, next(number), 0, coming, spot))
            coming = next(grasps, None)
            continue
        cost, _, known, grasp, spot = heappop(queue)
        if known == 3 or reach.asked > CHECKED:
            return grasp, spot
        if known == 0:
            cost += CROWDED * around.contain(hand_points(*_hand_at(spot, grasp, origin)))
        elif known == 1:
            if grasp not in turned:
                turned[grasp] = _turned(reach, grasp)
            grasp, strain = turned[grasp]
            cost += strain
        else:
            cost += max(reach.cost(*pose, grasp.width) for pose in _hand_on_the_way(spot, grasp, origin))
        heappush(queue, (cost, next(number), known + 1, grasp, spot))
    return None


def _hand_at(spot: Spot, grasp: Grasp, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the hand is, (3,) and (3, 3), when a thing held so, with its origin (3,) there now, is at a place."""
    return spot.position + spot.rotation @ (grasp.position - origin), spot.rotation @ grasp.rotation


def _hand_on_the_way(spot: Spot, grasp: Grasp, origin: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The same, and before that the same outside where the thing goes in from the side."""
    position, rotation = _hand_at(spot, grasp, origin)
    yield position, rotation
    if spot.outward is not None:
        yield position + spot.outward * spot.threshold + (0.0, 0.0, spot.lift), rotation


def _turned(reach: Reach, grasp: Grasp) -> tuple[Grasp, float]:
    """A grasp with its fingers exchanged if that is easier, or the only way; and what it costs to get there."""
    rotation, strain = reach.easier(grasp.position, grasp.rotation, OPENED)
    return replace(grasp, rotation=rotation), strain


def _take(sight: Sight, entity: EntityIndex, grasp: Grasp) -> Motion:
    """Take hold of a thing and lift it a little, out from under what hangs over it or over the hand."""
    here, _ = sight.hand()
    rotation = grasp.rotation
    side = _from_the_side(sight, entity, grasp)
    before = grasp.position + side - rotation[:, 2] * HOVER
    clearance = sight.highest_between(here[:2], before[:2], entity) + CLEARANCE
    yield from travel(sight, before, rotation, OPEN, clearance=max(before[2], clearance))
    if side.any():
        over = _over(sight, entity, grasp)
        yield from move(sight, over + side, rotation, OPEN, steps=30, near=0.01)
        yield from move(sight, over, rotation, OPEN, steps=30, near=0.005)
    yield from move(sight, grasp.position, rotation, OPEN, steps=30, near=0.005)
    if np.linalg.norm(sight.hand()[0] - grasp.position) > MISSED:
        return False
    yield from grip(sight, CLOSED, steps=9)
    for _ in range(THIN):
        if sight.touched(entity) == 2:
            yield from grip(sight, CLOSED, steps=2)
            break
        yield from grip(sight, CLOSED, steps=1)
    aside = _out_from_under(sight, entity)
    if not aside.any():
        aside = side
    if aside.any():
        here, _ = sight.hand()
        yield from move(sight, here + (0.0, 0.0, 0.02), rotation, CLOSED, steps=8, near=0.01)
        yield from move(sight, here + aside + (0.0, 0.0, 0.02), rotation, CLOSED, steps=30, near=0.01)
    others = [other for other in sight.movables() if other is not entity]
    start, lying = sight.pose(entity)[0][2], [sight.pose(other)[0][2] for other in others]
    here, _ = sight.hand()
    yield from move(sight, here + (0.0, 0.0, 0.07), rotation, CLOSED, steps=16, near=0.02)
    hanging_on = [
        other
        for other, height in zip(others, lying, strict=True)
        if height < start and sight.pose(other)[0][2] - height > LIFTED / 2
    ]
    if hanging_on:
        yield from move(sight, here, rotation, CLOSED, steps=16, near=0.01)
        return False
    return bool(sight.pose(entity)[0][2] - start > LIFTED)


def _from_the_side(sight: Sight, entity: EntityIndex, grasp: Grasp) -> np.ndarray:
    """The shortest level way (3,) to where the hand comes down if something hangs over a grasp.

    Zero if nothing does, or if there is no such way.
    """
    around = obstacles(sight, (geom for geom in sight.solid_geoms if geom not in entity.geoms))
    over, rotation = _over(sight, entity, grasp), grasp.rotation
    if not around.contain(hand_points(over, rotation)) or around.contain(hand_itself(over, rotation)):
        return np.zeros(3)
    ways = (length * way for length in ASIDES for way in AROUND)
    free = (way for way in ways if not around.contain(hand_points(over + way, rotation)))
    return np.asarray(next(free, np.zeros(3)))


def _over(sight: Sight, entity: EntityIndex, grasp: Grasp) -> np.ndarray:
    """Where the hand is (3,) when a thing just fits below its fingers, on the straight way back from a grasp."""
    approach = grasp.rotation[:, 2]
    tips = float((grasp.position + approach * TIP)[2])
    back = max(0.0, float(sight.box(entity).high[2]) + OVER - tips) / max(-float(approach[2]), 0.5)
    return np.asarray(grasp.position - approach * back)


def _out_from_under(sight: Sight, entity: EntityIndex) -> np.ndarray:
    """The shortest level way (3,) out from under what hangs over a thing; zero if nothing does."""
    mine = sight.box(entity)
    over = [sight.geom_box(geom) for geom in sight.solid_geoms if geom not in entity.geoms]
    over = [
        box
        for box in over
        if box.low[2] > mine.high[2]
        and np.all((box.low < mine.high + ASIDE)[:2] & (box.high > mine.low - ASIDE)[:2])
    ]
    if not over:
        return np.zeros(3)
    low, high = np.min([box.low for box in over], axis=0), np.max([box.high for box in over], axis=0)
    ways = [(axis, high[axis] + ASIDE - mine.low[axis]) for axis in (0, 1)]
    ways += [(axis, low[axis] - ASIDE - mine.high[axis]) for axis in (0, 1)]
    axis, shift = min(ways, key=lambda way: abs(way[1]))
    aside = np.zeros(3)
    aside[axis] = shift
    return aside


def drag(sight: Sight, entity: EntityIndex, target: np.ndarray, near: float = 0.012) -> Motion:
    """Slide a flat thing over the table under pressed fingers until its origin is near ``target`` (2,)."""
    around = obstacles(sight, (geom for geom in sight.solid_geoms if geom not in entity.geoms))
    above = sight.box(entity).centre + (0.0, 0.0, 0.02)
    turns = [nearest_turn(sight, facing(DOWN, axis)) for axis in (np.eye(3)[1], np.eye(3)[0])]
    rotation = min(turns, key=lambda each: around.contain(hand_points(above, each)))
    for _ in range(3):
        origin, _ = sight.pose(entity)
        if np.linalg.norm(target - origin[:2]) < near:
            break
        box = sight.box(entity)
        ahead = (target - origin[:2]) / np.linalg.norm(target - origin[:2])
        middle = box.centre[:2] + ahead * min(0.02, 0.2 * float(box.size[:2].min()))
        pressing = max(box.low[2] + 0.012, box.high[2] - PRESS)
        start = np.append(middle, pressing + 0.002)
        yield from travel(sight, start + (0.0, 0.0, HOVER), rotation, CLOSED, clearance=box.high[2] + HOVER)
        yield from move(sight, start, rotation, CLOSED, steps=30, near=0.006)
        pressed = sight.hand()[0] - origin
        for _ in range(70):
            origin, _ = sight.pose(entity)
            left = target - origin[:2]
            if np.linalg.norm(left) < 0.008 or np.linalg.norm(sight.hand()[0] - origin - pressed) > 0.05:
                break
            here, _ = sight.hand()
            step = left / np.linalg.norm(left) * min(0.03, np.linalg.norm(left) + 0.008)
            goal = np.array([here[0] + step[0], here[1] + step[1], pressing])
            yield from move(sight, goal, rotation, CLOSED, steps=1, near=0.0)
        here, _ = sight.hand()
        yield from move(sight, here + (0.0, 0.0, 0.1), rotation, CLOSED, steps=12, near=0.02)
    return True
