"""Where a thing can go: free places in or on a target, from the boxes of what is around."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from assay.policies.oracle.motion import about_vertical, tilting, turn
from assay.policies.oracle.sight import Box, Sight
from assay.policies.oracle.skills import Spot
from assay.sim.compile import EntityIndex, RegionIndex

_PLACES = np.stack(np.meshgrid(*[np.linspace(-0.7, 0.7, 7)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
"""Where in a region places are looked for, of its half-lengths, (p, 2)."""
GAP = 0.01
"""How far apart boxes should be, metres."""
WALL, OVERHEAD = 10.0, 4.0
"""What a metre of overlap costs with what is beside a place and with what is above it."""
UP_SLOPE = 0.04
"""How far up a sloping region things are put, metres."""
TURNING = 0.01
"""What it costs to turn a thing by a radian."""
LEANING = 0.1
"""What it costs more to lean it by a radian."""
UP = np.array([0.0, 0.0, 1.0])
AROUND = tuple(np.array([np.cos(angle), np.sin(angle), 0.0]) for angle in np.arange(8) * np.pi / 4)
"""Directions in which a thing can lean or lie."""
LEANS = np.radians([35.0, 60.0, 85.0])
"""How far it leans where it does not fit upright, radians."""
ROUND = 0.85
"""A thing is round if its least box is that large compared to its largest."""
LEANT = 0.99
"""Cosine below which a thing leans: what leans goes no further in than it must."""
OUTSIDE = 0.05
"""How far outside a thing is turned before it goes in from the side, metres."""
LEVEL = 0.1
"""How far from level a lying thing's axis may point, as a sine; and a standing one's, as 1 less its cosine."""
BEST = 8
"""How many places are offered for each rotation."""


def spots(
    sight: Sight,
    entity: EntityIndex,
    region: RegionIndex,
    rotations: Sequence[np.ndarray] | None = None,
    *,
    inside: bool,
    more: int = 0,
) -> list[Spot]:
    """Places for a thing in or on a region, best first.

    ``rotations`` (3, 3) are those after which it may be there; if not given, it may be turned about the vertical,
    and lean where it goes in from the side or does not fit upright. ``more`` says how many other things still
    have to find room there.
    """
    room = sight.region_box(region)
    slope = sight.data.site_xmat[region.site].reshape(3, 3)[2]
    if not inside and rotations is None and abs(slope[2]) < 0.99:
        target = room.centre + slope * UP_SLOPE
        return [Spot(_standing(sight, entity, target[:2], float(target[2])))]
    outward = _way_in(sight, entity, room) if inside else None
    search = _Search(sight, entity, room, outward, inside, more)
    if rotations is not None:
        return search.best(rotations)
    angles = [0.0]
    if inside:
        angles = [_fitting_turn(sight, entity, room), *_squaring(sight, entity)]
    if outward is not None:
        angles += [float(angle) for angle in np.radians(np.arange(-90, 91, 30))]
    turns = [about_vertical(angle) for angle in angles]
    found = search.best(turns)
    if not inside or (search.fits and outward is None):
        return found
    ways = [outward] if outward is not None else list(AROUND)
    for angle in LEANS:
        leaning = [
            tilting(UP, UP * np.cos(angle) + way * np.sin(angle)) @ each for way in ways for each in turns
        ]
        found += [replace(spot, cost=spot.cost + LEANING * angle) for spot in search.best(leaning)]
        if search.fits and outward is None:
            break
    return sorted(found, key=lambda spot: spot.cost)


class _Search:
    """Looks for places for one thing in or on one region."""

    def __init__(
        self,
        sight: Sight,
        entity: EntityIndex,
        room: Box,
        outward: np.ndarray | None,
        inside: bool,
        more: int,
    ) -> None:
        self._sight, self._entity, self._room = sight, entity, room
        self._outward, self._inside, self._more = outward, inside, more
        solid = [sight.geom_box(geom) for geom in sight.solid_geoms if geom not in entity.geoms]
        self._low, self._high = np.array([box.low for box in solid]), np.array([box.high for box in solid])
        self.fits = False
        """Whether a place has been found where nothing is in the way."""

    def best(self, rotations: Sequence[np.ndarray]) -> list[Spot]:
        """The best places for the thing after one of some rotations (3, 3) each."""
        found = [spot for rotation in rotations for spot in self._with(rotation)]
        return sorted(found, key=lambda spot: spot.cost)

    def _with(self, rotation: np.ndarray) -> Iterator[Spot]:
        """The best places for the thing after a rotation (3, 3)."""
        room, outward = self._room, self._outward
        relative = self._sight.turned_box(self._entity, rotation)
        pieces = self._sight.turned_pieces(self._entity, rotation)
        near = np.all(
            (self._low < room.high + relative.high + GAP)[:, :2]
            & (self._high > room.low + relative.low - GAP)[:, :2],
            axis=1,
        )
        low, high = self._low[near], self._high[near]  # (n, 3)
        places = room.centre[:2] + room.size[:2] / 2 * _PLACES  # (p, 2)
        under = np.all((low[:, :2] < places[:, None]) & (high[:, :2] > places[:, None]), axis=2)  # (p, n)
        under &= high[:, 2] < room.centre[2] + (0.0 if self._inside else 0.04)
        floors = np.where(under, high[:, 2], room.low[2]).max(axis=1, initial=room.low[2])
        positions = np.column_stack([places, np.maximum(floors, room.low[2]) - relative.low[2]])
        bottom = pieces.low + positions[:, None]  # (p, pieces, 3)
        overlap = np.minimum(
            (pieces.high + positions[:, None])[:, :, None] - low, high - bottom[:, :, None]
        )  # (p, pieces, n, 3)
        width = overlap[..., :2].min(axis=3) + GAP
        beside = (width > 0) & (overlap[..., 2] > 0.012)
        above = (width > 0) & (bottom[:, :, None, 2] < low[:, 2]) & (outward is None)
        blocked = WALL * np.where(beside, width, 0.0).max(axis=(1, 2), initial=0.0)
        blocked += OVERHEAD * np.where(above, width, 0.0).max(axis=(1, 2), initial=0.0)
        if self._inside:
            blocked += WALL * np.maximum(0.0, positions[:, 2] - room.high[2])
        self.fits |= bool(blocked.min() < WALL * GAP)
        best = _preferred(self._sight, room, relative.size, self._more)
        if outward is not None and rotation[2, 2] < LEANT:
            best = best + 0.6 * outward[:2] * room.size[:2] / 2
        turned = TURNING * float(np.linalg.norm(turn(np.eye(3), rotation)))
        costs = np.linalg.norm(places - best, axis=1) + blocked + turned
        for p in np.argsort(costs, kind="stable")[:BEST]:
            threshold = lift = 0.0
            if outward is not None:
                lift = float(np.clip((room.high[2] - positions[p, 2] - relative.high[2]) / 2, 0.004, 0.015))
                threshold = float(np.abs(outward[:2]) @ (room.size[:2] / 2)) + OUTSIDE
                threshold += float(outward[:2] @ (room.centre[:2] - places[p]))
                threshold += float(np.abs(outward) @ np.where(outward > 0, -relative.low, relative.high))
            tight = bool(blocked[p] > 0)
            yield Spot(positions[p], rotation, float(costs[p]), outward, threshold, lift, tight)


def sidewise(sight: Sight, entity: EntityIndex) -> list[np.ndarray]:
    """Rotations (3, 3) after which a thing lies on its side; if it does already, none is the first."""
    now = sight.up(entity)
    if abs(now[2]) < LEVEL:
        return [about_vertical(angle) for angle in np.radians([0.0, 45.0, -45.0, 90.0, -90.0])]
    return [tilting(now, way) for way in AROUND]


def upright(sight: Sight, entity: EntityIndex) -> list[np.ndarray] | None:
    """Rotations (3, 3) after which a thing stands; None if it does already."""
    now = sight.up(entity)
    if now[2] > 1 - LEVEL:
        return None
    return [about_vertical(angle) @ tilting(now, UP) for angle in np.radians([0.0, 45.0, -45.0, 90.0, -90.0])]


def on_top_of(
    sight: Sight, entity: EntityIndex, support: EntityIndex, rotations: Sequence[np.ndarray] | None = None
) -> list[Spot]:
    """The middle of another thing, for a thing as it is or after one of some rotations (3, 3)."""
    floor = float(sight.box(support).low[2]) + 0.01
    place = sight.pose(support)[0][:2]
    return [
        Spot(np.append(place, floor - sight.turned_box(entity, rotation).low[2]), rotation)
        for rotation in rotations or [np.eye(3)]
    ]


def _standing(sight: Sight, entity: EntityIndex, place: np.ndarray, floor: float) -> np.ndarray:
    origin, _ = sight.pose(entity)
    return np.append(place, floor + origin[2] - sight.box(entity).low[2])


def _preferred(sight: Sight, room: Box, size: np.ndarray, more: int) -> np.ndarray:
    """Where a thing goes if nothing is in the way (2,): the middle, or the far side if more are to come."""
    if not more:
        return np.asarray(room.centre[:2])
    spare = room.size[:2] - size[:2]
    narrow = int(np.argmax(spare))
    offset = np.zeros(2)
    base = sight.base()
    offset[narrow] = 0.35 * room.size[narrow] * np.sign(room.centre[narrow] - base[narrow])
    return np.asarray(room.centre[:2] + offset)


def _way_in(sight: Sight, entity: EntityIndex, room: Box) -> np.ndarray | None:
    """The horizontal direction (3,) out of a region that has a lid; None if it is open above."""
    boxes = [sight.geom_box(geom) for geom in sight.solid_geoms if geom not in entity.geoms]

    def crossed(start: np.ndarray, end: np.ndarray) -> bool:
        low, high = np.minimum(start, end), np.maximum(start, end)
        return any(bool(np.all(box.low < high) and np.all(box.high > low)) for box in boxes)

    centre = room.centre
    if not crossed(centre, centre + (0.001, 0.001, room.size[2] / 2 + 0.1)):
        return None
    for axis in (1, 0):
        for sign in (-1.0, 1.0):
            outward = np.zeros(3)
            outward[axis] = sign
            if not crossed(centre, centre + outward * (room.size[axis] / 2 + 0.1) + 0.001):
                return outward
    return None


def _squaring(sight: Sight, entity: EntityIndex) -> list[float]:
    """How much to turn a thing about the vertical so that its sides are along the world's axes, radians.

    Nothing for a round one.
    """

    def area(angle: float) -> float:
        return float(np.prod(sight.turned_box(entity, about_vertical(angle)).size[:2]))

    angles = [float(angle) for angle in np.radians(np.arange(-45, 46, 3))]
    least = min(angles, key=area)
    if area(least) > ROUND * max(map(area, angles)):
        return []
    return [least, least - float(np.sign(least or 1.0)) * np.pi / 2]


def _fitting_turn(sight: Sight, entity: EntityIndex, room: Box) -> float:
    """How much to turn a thing about the vertical so that it fits into a box, radians."""
    best, least = 0.0, np.inf
    for angle in np.radians(np.arange(-90, 91, 5)):
        sticking_out = float(
            np.maximum(sight.turned_box(entity, about_vertical(angle)).size - room.size, 0.0)[:2].sum()
        )
        cost = sticking_out * 100 + abs(angle) * 0.01
        if cost < least:
            best, least = float(angle), cost
    return best if abs(best) > 0.05 else 0.0
