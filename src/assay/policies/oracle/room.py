"""The room in or on a region: what is around it, in its own axes, and free places for a thing there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from assay.policies.oracle.grasps import obstacles
from assay.policies.oracle.motion import about_vertical, tilting, turn
from assay.policies.oracle.placing import Spot
from assay.policies.oracle.sight import Box, Sight
from assay.sim.compile import EntityIndex, RegionIndex

_COARSE, _FINE = (
    np.stack(np.meshgrid(*[np.linspace(-0.7, 0.7, count)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    for count in (7, 13)
)
"""Where in a region places are looked for, of its half-lengths, (p, 2): in one that others are in already, closely."""
GAP = 0.01
"""How far apart boxes should be, metres."""
WALL, OVERHEAD = 10.0, 4.0
"""What a metre of overlap costs with what is beside a place and with what is above it."""
TURNING = 0.01
"""What it costs to turn a thing by a radian."""
ROUND = 0.85
"""A thing is round if its least box is that large compared to its largest."""
LEANT = 0.99
"""Cosine below which a thing leans: what leans goes no further in than it must."""
LYING = 0.35
"""Cosine up to which it lies."""
OUTSIDE = 0.05
"""How far outside a thing is turned before it goes in from the side, metres."""
BEST = 8
"""How many places are offered for each rotation."""
APART = 0.23
"""How far from each other they are at least along one axis, of the region's half-lengths."""


class Room:
    """A region, for one thing.

    Boxes are along the region's own horizontal axes, so that a container may stand aslant. What is given and
    returned is in the world's.
    """

    def __init__(self, sight: Sight, entity: EntityIndex, region: RegionIndex, *, inside: bool) -> None:
        self._sight, self._entity, self._inside = sight, entity, inside
        self._righting = _righting(sight.up(entity)) if inside else np.eye(3)
        self._site = sight.data.site_xmat[region.site].reshape(3, 3)
        self._half = np.array(region.half)
        self._axes = _axes(self._site)
        self._middle = sight.data.site_xpos[region.site].copy()
        self._counts = sight.inside(region)
        self._shared = inside and self._holds_others(region)
        middle, half = self._middle @ self._axes, np.abs(self._axes.T @ self._site) @ self._half
        self._box = Box(middle - half, middle + half)
        around = obstacles(sight, (geom for geom in sight.solid_geoms if geom not in entity.geoms))
        reach = np.einsum("nij,nj->ni", np.abs(self._axes.T @ around.rotations), around.halves)
        centres = around.centres @ self._axes
        self._low, self._high = centres - reach, centres + reach
        self._outward = self._way_in() if inside else None
        self.fits = False
        """Whether a place has been found where nothing is in the way."""

    @property
    def outward(self) -> np.ndarray | None:
        """The horizontal direction (3,) out of a region that has a lid; None if it is open above."""
        return None if self._outward is None else self._axes @ self._outward

    def turns(self) -> list[np.ndarray]:
        """The rotations (3, 3) after which the thing may go inside: set upright and turned about the vertical."""
        angles = [self._fitting_turn(), *self._squaring()]
        if self._outward is not None:
            angles += [float(angle) for angle in np.radians(np.arange(-90, 91, 30))]
        return [about_vertical(angle) @ self._righting for angle in angles]

    def places(self, rotations: Sequence[np.ndarray], *, more: int = 0) -> list[Spot]:
        """The best places for the thing after each of some rotations (3, 3), best first.

        ``more`` says how many other things still have to find room there.
        """
        found = [spot for rotation in rotations for spot in self._after(rotation, more)]
        return sorted(found, key=lambda spot: spot.cost)

    def _after(self, rotation: np.ndarray, more: int) -> Iterator[Spot]:
        """The best places for the thing after a rotation (3, 3)."""
        box, outward = self._box, self._outward
        relative = self._sight.turned_box(self._entity, self._axes.T @ rotation)
        pieces = self._sight.turned_pieces(self._entity, self._axes.T @ rotation)
        near = np.all(
            (self._low < box.high + relative.high + GAP)[:, :2]
            & (self._high > box.low + relative.low - GAP)[:, :2],
            axis=1,
        )
        low, high = self._low[near], self._high[near]  # (n, 3)
        grid = _FINE if self._shared else _COARSE
        places = box.centre[:2] + box.size[:2] / 2 * grid  # (p, 2)
        under = np.all((low[:, :2] < places[:, None]) & (high[:, :2] > places[:, None]), axis=2)  # (p, n)
        under &= high[:, 2] < box.centre[2] + (0.0 if self._inside else 0.04)
        floors = np.where(under, high[:, 2], box.low[2]).max(axis=1, initial=box.low[2])
        positions = np.column_stack([places, floors - relative.low[2]])
        bottom = pieces.low + positions[:, None]  # (p, pieces, 3)
        overlap = np.minimum(
            (pieces.high + positions[:, None])[:, :, None] - low, high - bottom[:, :, None]
        )  # (p, pieces, n, 3)
        width = overlap[..., :2].min(axis=3) + GAP
        beside = (width > 0) & (overlap[..., 2] > 0.012)
        above = (width > 0) & (bottom[:, :, None, 2] < low[:, 2]) & (outward is None)
        blocked = WALL * np.where(beside, width, 0.0).max(axis=(1, 2), initial=0.0)
        blocked += OVERHEAD * np.where(above, width, 0.0).max(axis=(1, 2), initial=0.0)
        world = positions @ self._axes.T
        blocked += WALL * self._beyond(world)
        self.fits |= bool(blocked.min() < WALL * GAP)
        best = self._preferred(relative.size, more)
        if outward is not None and rotation[2, 2] < LEANT:
            best = best + 0.6 * outward[:2] * box.size[:2] / 2
        turned = TURNING * float(np.linalg.norm(turn(np.eye(3), rotation)))
        costs = np.linalg.norm(places - best, axis=1) + blocked + turned
        for p in _apart(grid, costs):
            threshold = lift = 0.0
            if outward is not None:
                lift = float(np.clip((box.high[2] - positions[p, 2] - relative.high[2]) / 2, 0.004, 0.015))
                threshold = float(np.abs(outward) @ (box.size / 2)) + OUTSIDE
                threshold += float(outward[:2] @ (box.centre[:2] - places[p]))
                threshold += float(np.abs(outward) @ np.where(outward > 0, -relative.low, relative.high))
            tight = bool(blocked[p] > 0)
            yield Spot(world[p], rotation, float(costs[p]), self.outward, threshold, lift, tight)

    def _holds_others(self, region: RegionIndex) -> bool:
        """Whether other things are in the region."""
        low, high = self._counts
        others = (
            self._sight.pose(movable)[0]
            for movable in self._sight.movables()
            if movable.name not in (self._entity.name, region.parent)
        )
        return any(np.all((low < origin) & (origin < high)) for origin in others)

    def _beyond(self, positions: np.ndarray) -> np.ndarray:
        """How far origins (p, 3) are beyond where they count as being in or on the region, metres, (p,).

        The predicates turn the wrong way, as LIBERO's do: aslant, the two are not the same.
        """
        offsets = positions - self._middle
        if self._inside:
            low, high = self._counts
            over = np.maximum(positions - high, low - positions)
            over[:, 2] = positions[:, 2] - high[2]
        else:
            over = np.abs(offsets @ self._site.T) - self._half
            over[:, 2] = 0.0
        return np.asarray(np.maximum(over, 0.0).sum(axis=1))

    def _preferred(self, size: np.ndarray, more: int) -> np.ndarray:
        """Where a thing goes if nothing is in the way (2,): the middle, or the far side if more are to come."""
        box = self._box
        if not more:
            return np.asarray(box.centre[:2])
        narrow = int(np.argmax(box.size[:2] - size[:2]))
        offset = np.zeros(2)
        base = self._sight.base() @ self._axes[:2, :2]
        offset[narrow] = 0.35 * box.size[narrow] * np.sign(box.centre[narrow] - base[narrow])
        return np.asarray(box.centre[:2] + offset)

    def _way_in(self) -> np.ndarray | None:
        centre, size = self._box.centre, self._box.size

        def crossed(start: np.ndarray, end: np.ndarray) -> bool:
            low, high = np.minimum(start, end), np.maximum(start, end)
            return bool(np.any(np.all(self._low < high, axis=1) & np.all(self._high > low, axis=1)))

        if not crossed(centre, centre + (0.001, 0.001, size[2] / 2 + 0.1)):
            return None
        for axis in (1, 0):
            for sign in (-1.0, 1.0):
                outward = np.zeros(3)
                outward[axis] = sign
                if not crossed(centre, centre + outward * (size[axis] / 2 + 0.1) + 0.001):
                    return outward
        return None

    def _turned(self, angle: float) -> np.ndarray:
        """The thing's size (2,) along the region's axes after a turn about the vertical, radians."""
        return self._sight.turned_box(
            self._entity, self._axes.T @ about_vertical(angle) @ self._righting
        ).size[:2]

    def _squaring(self) -> list[float]:
        """How much to turn the thing so that its sides are along the region's axes; nothing for a round one."""
        angles = [float(angle) for angle in np.radians(np.arange(-45, 46, 3))]
        areas = {angle: float(np.prod(self._turned(angle))) for angle in angles}
        least = min(angles, key=lambda angle: areas[angle])
        if areas[least] > ROUND * max(areas.values()):
            return []
        return [least, least - float(np.sign(least or 1.0)) * np.pi / 2]

    def _fitting_turn(self) -> float:
        """How much to turn the thing so that it fits into the region's box, radians."""
        best, least = 0.0, np.inf
        for angle in np.radians(np.arange(-90, 91, 5)):
            sticking_out = float(np.maximum(self._turned(angle) - self._box.size[:2], 0.0).sum())
            cost = sticking_out * 100 + abs(angle) * 0.01
            if cost < least:
                best, least = float(angle), cost
        return best if abs(best) > 0.05 else 0.0


def _axes(site: np.ndarray) -> np.ndarray:
    """The rotation about the vertical (3, 3), by less than an eighth of a turn, that a site's edges have."""
    flat = int(np.argmax(np.abs(site[0, :]) + np.abs(site[1, :])))
    yaw = float(np.arctan2(site[1, flat], site[0, flat]))
    return about_vertical((yaw + np.pi / 4) % (np.pi / 2) - np.pi / 4)


def _apart(grid: np.ndarray, costs: np.ndarray) -> list[int]:
    """The best of some places (p, 2) that cost so much (p,), none near a better one."""
    kept: list[int] = []
    for p in np.argsort(costs, kind="stable"):
        if all(np.abs(grid[p] - grid[other]).max() > APART for other in kept):
            kept.append(int(p))
            if len(kept) == BEST:
                break
    return kept


def _righting(up: np.ndarray) -> np.ndarray:
    """The rotation (3, 3) that sets a thing upright whose axis (3,) leans; none if it stands or lies."""
    return tilting(up, np.array([0.0, 0.0, 1.0])) if LYING < up[2] < LEANT else np.eye(3)
