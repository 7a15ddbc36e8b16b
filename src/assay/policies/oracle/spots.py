"""Where a thing can go: free places in or on a target, from the boxes of what is around."""

from __future__ import annotations

import numpy as np

from assay.policies.oracle.sight import Box, Sight
from assay.policies.oracle.skills import Spot
from assay.sim.compile import EntityIndex, RegionIndex

GRID = np.linspace(-0.7, 0.7, 7)
"""Where in a region places are looked for, of its half-lengths."""
GAP = 0.006
"""How far apart boxes should be, metres."""
WALL, OVERHEAD = 10.0, 4.0
"""What a metre of overlap costs with what is beside a place and with what is above it."""
UP_SLOPE = 0.04
"""How far up a sloping region things are put, metres."""
BEST = 8
"""How many places are offered."""


def spots(
    sight: Sight, entity: EntityIndex, region: RegionIndex, *, inside: bool, more: int = 0
) -> list[Spot]:
    """Places for a thing in or on a region, best first.

    ``more`` says how many other things still have to find room there.
    """
    room = sight.region_box(region)
    slope = sight.data.site_xmat[region.site].reshape(3, 3)[2]
    if not inside and abs(slope[2]) < 0.99:
        target = room.centre + slope * UP_SLOPE
        return [Spot(_standing(sight, entity, target[:2], float(target[2])))]
    outward = _way_in(sight, entity, room) if inside else None
    turns = [_fitting_turn(sight, entity, room)] if inside else [0.0]
    if outward is not None:
        turns = [float(angle) for angle in np.radians(np.arange(-90, 91, 30))]
    solid = [sight.geom_box(geom) for geom in sight.solid_geoms if geom not in entity.geoms]
    low, high = np.array([box.low for box in solid]), np.array([box.high for box in solid])
    found = []
    for turn in turns:
        relative, pieces = sight.turned_box(entity, turn), sight.turned_pieces(entity, turn)
        best = _preferred(sight, room, relative.size, more)
        for u in GRID:
            for v in GRID:
                place = room.centre[:2] + room.size[:2] / 2 * (u, v)
                under = np.all((low[:, :2] < place) & (high[:, :2] > place), axis=1)
                floors = high[under & (high[:, 2] < room.centre[2] + (0.0 if inside else 0.04)), 2]
                floor = max(float(room.low[2]), float(floors.max(initial=-np.inf)))
                bottom = floor - relative.low[2]
                overlap = np.minimum(
                    pieces.high[:, None] + np.append(place, bottom) - low,
                    high - pieces.low[:, None] - np.append(place, bottom),
                )
                width = overlap[..., :2].min(axis=2) + GAP
                beside = (width > 0) & (overlap[..., 2] > 0.012)
                above = (width > 0) & (pieces.low[:, None, 2] + bottom < low[:, 2]) & (outward is None)
                blocked = WALL * float(np.where(beside, width, 0.0).max())
                blocked += OVERHEAD * float(np.where(above, width, 0.0).max())
                cost = float(np.linalg.norm(place - best)) + blocked
                position = np.append(place, floor - relative.low[2])
                threshold = 0.0
                if outward is not None:
                    threshold = float(np.abs(outward[:2]) @ (room.size[:2] / 2)) + 0.14
                    threshold += float(outward[:2] @ (room.centre[:2] - place))
                found.append(Spot(position, turn, cost, outward, threshold))
    return sorted(found, key=lambda spot: spot.cost)[: BEST * len(turns)]


def on_top_of(sight: Sight, entity: EntityIndex, support: EntityIndex) -> list[Spot]:
    """The middle of another thing."""
    box = sight.box(support)
    return [Spot(_standing(sight, entity, sight.pose(support)[0][:2], float(box.low[2]) + 0.01))]


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


def _fitting_turn(sight: Sight, entity: EntityIndex, room: Box) -> float:
    """How much to turn a thing about the vertical so that it fits into a box, radians."""
    best, least = 0.0, np.inf
    for angle in np.radians(np.arange(-90, 91, 5)):
        sticking_out = float(np.maximum(sight.turned_box(entity, angle).size - room.size, 0.0)[:2].sum())
        cost = sticking_out * 100 + abs(angle) * 0.01
        if cost < least:
            best, least = float(angle), cost
    return best if abs(best) > 0.05 else 0.0
