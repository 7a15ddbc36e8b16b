"""Where a thing can go, and how it is turned for that: upright, leaning or on its side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.policies.oracle.motion import AROUND, about_vertical, tilting
from assay.policies.oracle.placing import Spot
from assay.policies.oracle.room import Room
from assay.policies.oracle.sight import Sight
from assay.sim.compile import EntityIndex, RegionIndex

UP_SLOPE = 0.04
"""How far up a sloping region things are put, metres."""
LEANING = 0.1
"""What it costs to lean a thing by a radian."""
UP = np.array([0.0, 0.0, 1.0])
LEANS = np.radians([35.0, 60.0, 85.0])
"""How far it leans where it does not fit upright, radians."""
LEVEL = 0.1
"""How far from level a lying thing's axis may point, as a sine; and a standing one's, as 1 less its cosine."""


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
    slope = sight.data.site_xmat[region.site].reshape(3, 3)[2]
    if not inside and rotations is None and abs(slope[2]) < 0.99:
        target = sight.data.site_xpos[region.site] + slope * UP_SLOPE
        return [Spot(_standing(sight, entity, target[:2], float(target[2])))]
    room = Room(sight, entity, region, inside=inside)
    if rotations is not None:
        return room.places(rotations, more=more)
    turns = room.turns() if inside else [np.eye(3)]
    found = room.places(turns, more=more)
    if not inside or (room.fits and room.outward is None):
        return found
    ways = AROUND if room.outward is None else (room.outward,)
    for angle in LEANS:
        leaning = [
            tilting(UP, UP * np.cos(angle) + way * np.sin(angle)) @ turn for way in ways for turn in turns
        ]
        places = room.places(leaning, more=more)
        found += [replace(spot, cost=spot.cost + LEANING * angle) for spot in places]
        if room.fits and room.outward is None:
            break
    return sorted(found, key=lambda spot: spot.cost)


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
