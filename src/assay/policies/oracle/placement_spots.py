"""Free spots for an object in or on a region, and the object's rotation there: upright, leaning or on its side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from assay.policies.oracle import motion
from assay.policies.oracle.placing import PlacementSpot
from assay.policies.oracle.scene_state import Box, SceneState
from assay.sim.compile import EntityIndex, RegionIndex, geom_boxes
from assay.sim.predicates import up_axis
from assay.tasks import Predicate

_COARSE, _FINE = (
    np.stack(np.meshgrid(*[np.linspace(-0.7, 0.7, count)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    for count in (7, 13)
)
"""Candidate positions (p, 2) in a region, relative to its half-lengths; the fine grid is for occupied regions."""
GAP_M = 0.01
"""Desired distance between bounding boxes, in metres."""
SIDE_OVERLAP_COST, TOP_OVERLAP_COST = 10.0, 4.0
"""Costs per metre of overlap: with obstacles beside a spot, and with obstacles above it."""
ROTATION_COST = 0.01
"""Cost per radian of rotation."""
ROUND_RATIO = 0.85
"""Minimum ratio of smallest to largest footprint extent for an object to count as round."""
UPRIGHT_COSINE = 0.99
"""Cosine of the tilt angle below which an object counts as leaning and is inserted only as far as necessary."""
LYING_COSINE = 0.35
"""Maximum cosine of the tilt angle of an object that counts as lying on its side."""
OUTSIDE_M = 0.05
"""Distance in front of a region, in metres, at which an object is rotated before it is inserted from the side."""
SPOTS_PER_ROTATION = 8
"""Maximum number of spots returned per rotation."""
MIN_SPACING = 0.23
"""Minimum distance between returned spots along one axis, relative to the region's half-length."""

UP_SLOPE_M = 0.04
"""Distance up the slope, in metres, at which objects are placed on a sloping region."""
LEANING_COST = 0.1
"""Cost per radian of leaning."""
UP = np.array([0.0, 0.0, 1.0])
LEAN_ANGLES = np.radians([35.0, 60.0, 85.0])
"""Lean angles, in radians, for objects that do not fit upright."""
LEVEL_TOLERANCE = 0.1
"""Maximum sine of a lying object's angle to the horizontal, and maximum 1 - cosine of an upright object's tilt."""


class PlacementArea:
    """The free space of a region for one object.

    Boxes are aligned with the region's horizontal axes, because a container may be rotated. Arguments and results are
    in world coordinates.
    """

    def __init__(
        self, scene: SceneState, entity: EntityIndex, region: RegionIndex, *, inside: bool, more: int
    ) -> None:
        """``more``: number of other objects that still have to be placed in the region."""
        self._scene, self._entity, self._inside, self._more = scene, entity, inside, more
        up = scene.pose(entity)[1] @ up_axis(entity.category)
        leans = inside and LYING_COSINE < up[2] < UPRIGHT_COSINE
        self._righting = motion.shortest_rotation(up, UP) if leans else np.eye(3)
        site = self._site = scene.data.site_xmat[region.site].reshape(3, 3)
        flat = int(np.argmax(np.abs(site[0, :]) + np.abs(site[1, :])))
        yaw = float(np.arctan2(site[1, flat], site[0, flat]))
        # Rotation of the region's edges, from -45 to 45 degrees.
        self._axes = motion.rotation_about_z((yaw + np.pi / 4) % (np.pi / 2) - np.pi / 4)
        self._half = np.array(region.half)
        self._middle = scene.data.site_xpos[region.site].copy()
        low, high = self._counts = scene.world.predicates.box_of(scene.data, region)
        others = (
            scene.pose(movable)[0]
            for movable in scene.movable_objects
            if movable.name not in (entity.name, region.parent)
        )
        self._shared = inside and any(np.all((low < origin) & (origin < high)) for origin in others)
        middle, half = self._middle @ self._axes, np.abs(self._axes.T @ self._site) @ self._half
        self._box = Box(middle - half, middle + half)
        obstacles = geom_boxes(scene.model, scene.data, scene.solid_geoms - entity.geoms)
        self._low, self._high = obstacles.transform(np.zeros(3), self._axes.T).bounds
        self._outward = self._find_exit() if inside else None
        self.outward = None if self._outward is None else self._axes @ self._outward
        """Horizontal direction (3,) out of a covered region; None if the region is open above."""
        self.fits = False
        """Whether a spot without obstacles has been found."""

    def turns(self) -> list[np.ndarray]:
        """Return rotations (3, 3) in which the object may be inserted: upright, and turned about the vertical."""

        def size(angle: float) -> np.ndarray:
            rotation = self._axes.T @ motion.rotation_about_z(angle) @ self._righting
            return self._scene.rotated_box(self._entity, rotation).size[:2]

        def misfit(angle: float) -> float:
            sticking_out = float(np.maximum(size(angle) - self._box.size[:2], 0.0).sum())
            return sticking_out * 100 + abs(angle) * 0.01

        fitting = float(min(np.radians(np.arange(-90, 91, 5)), key=misfit))
        angles = [fitting if abs(fitting) > 0.05 else 0.0]
        areas = {float(angle): float(np.prod(size(angle))) for angle in np.radians(np.arange(-45, 46, 3))}
        aligned = min(areas, key=lambda angle: areas[angle])
        if areas[aligned] <= ROUND_RATIO * max(areas.values()):  # not round: along the region's axes
            angles += [aligned, aligned - float(np.sign(aligned or 1.0)) * np.pi / 2]
        if self._outward is not None:
            angles += [float(angle) for angle in np.radians(np.arange(-90, 91, 30))]
        return [motion.rotation_about_z(angle) @ self._righting for angle in angles]

    def spots_after(self, rotation: np.ndarray) -> Iterator[PlacementSpot]:
        """Yield the best spots for the object after a rotation (3, 3)."""
        box, outward = self._box, self._outward
        relative = self._scene.rotated_box(self._entity, self._axes.T @ rotation)
        pieces = self._scene.rotated_pieces(self._entity, self._axes.T @ rotation)
        near = np.all(
            (self._low < box.high + relative.high + GAP_M)[:, :2]
            & (self._high > box.low + relative.low - GAP_M)[:, :2],
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
        width = overlap[..., :2].min(axis=3) + GAP_M
        beside = (width > 0) & (overlap[..., 2] > 0.012)
        above = (width > 0) & (bottom[:, :, None, 2] < low[:, 2]) & (outward is None)
        blocked = SIDE_OVERLAP_COST * np.where(beside, width, 0.0).max(axis=(1, 2), initial=0.0)
        blocked += TOP_OVERLAP_COST * np.where(above, width, 0.0).max(axis=(1, 2), initial=0.0)
        world = positions @ self._axes.T
        # Distance of the origins from the volume that counts as in or on the region. The predicates rotate in the wrong
        # direction, as LIBERO's do, so in a rotated region the two differ.
        if self._inside:
            over = np.maximum(world - self._counts[1], self._counts[0] - world)
            over[:, 2] = world[:, 2] - self._counts[1][2]
        else:
            over = np.abs((world - self._middle) @ self._site.T) - self._half
            over[:, 2] = 0.0
        blocked += SIDE_OVERLAP_COST * np.asarray(np.maximum(over, 0.0).sum(axis=1))
        self.fits |= bool(blocked.min() < SIDE_OVERLAP_COST * GAP_M)
        best = np.asarray(box.centre[:2])
        if self._more:  # use the far side, to leave room for the other objects
            narrow = int(np.argmax((box.size - relative.size)[:2]))
            base = self._scene.base @ self._axes[:2, :2]
            offset = np.zeros(2)
            offset[narrow] = 0.35 * box.size[narrow] * np.sign(box.centre[narrow] - base[narrow])
            best = best + offset
        if outward is not None and rotation[2, 2] < UPRIGHT_COSINE:
            best = best + 0.6 * outward[:2] * box.size[:2] / 2
        rotation_cost = ROTATION_COST * float(np.linalg.norm(motion.rotation_between(np.eye(3), rotation)))
        costs = np.linalg.norm(places - best, axis=1) + blocked + rotation_cost
        chosen: list[int] = []
        for p in map(int, np.argsort(costs, kind="stable")):
            if any(np.abs(grid[p] - grid[other]).max() <= MIN_SPACING for other in chosen):
                continue
            if len(chosen) == SPOTS_PER_ROTATION:
                return
            chosen.append(p)
            threshold = lift = 0.0
            if outward is not None:
                lift = float(np.clip((box.high[2] - positions[p, 2] - relative.high[2]) / 2, 0.004, 0.015))
                threshold = float(np.abs(outward) @ (box.size / 2)) + OUTSIDE_M
                threshold += float(outward[:2] @ (box.centre[:2] - places[p]))
                threshold += float(np.abs(outward) @ np.where(outward > 0, -relative.low, relative.high))
            tight = bool(blocked[p] > 0)
            yield PlacementSpot(world[p], rotation, float(costs[p]), self.outward, threshold, lift, tight)

    def _find_exit(self) -> np.ndarray | None:
        """Return the free horizontal direction (3,) out of a covered region, along one of its axes.

        Return None if the region is open above or has no free side.
        """
        centre, size = self._box.centre, self._box.size

        def is_crossed(start: np.ndarray, end: np.ndarray) -> bool:
            low, high = np.minimum(start, end), np.maximum(start, end)
            return bool(np.any(np.all(self._low < high, axis=1) & np.all(self._high > low, axis=1)))

        if not is_crossed(centre, centre + (0.001, 0.001, size[2] / 2 + 0.1)):
            return None
        for axis in (1, 0):
            for sign in (-1.0, 1.0):
                outward = np.zeros(3)
                outward[axis] = sign
                if not is_crossed(centre, centre + outward * (size[axis] / 2 + 0.1) + 0.001):
                    return outward
        return None


def find_spots(
    scene: SceneState,
    entity: EntityIndex,
    target: RegionIndex | EntityIndex,
    predicate: Predicate,
    *,
    more: int = 0,
) -> list[PlacementSpot]:
    """Return spots for an object in or on a region, or at the centre of another object, best first.

    The predicate determines whether the object is upright, on its side, or in any orientation: turned about the
    vertical, or leaning if it is inserted from the side or does not fit upright. ``more``: number of other objects
    that still have to be placed there.
    """
    axis = scene.pose(entity)[1] @ up_axis(entity.category)
    turns = [motion.rotation_about_z(angle) for angle in np.radians([0.0, 45.0, -45.0, 90.0, -90.0])]
    rotations: list[np.ndarray] | None = None
    if predicate is Predicate.SIDE_ON:
        lies = abs(axis[2]) < LEVEL_TOLERANCE
        rotations = (
            turns if lies else [motion.shortest_rotation(axis, way) for way in motion.LEVEL_DIRECTIONS]
        )
    elif predicate is Predicate.UPRIGHT_ON and axis[2] <= 1 - LEVEL_TOLERANCE:
        rotations = [turn @ motion.shortest_rotation(axis, UP) for turn in turns]
    if isinstance(target, EntityIndex):
        floor = float(scene.box(target).low[2]) + 0.01
        place = scene.pose(target)[0][:2]
        return [
            PlacementSpot(np.append(place, floor - scene.rotated_box(entity, rotation).low[2]), rotation)
            for rotation in rotations or [np.eye(3)]
        ]
    inside = predicate in (Predicate.IN, Predicate.EXACT_IN)
    slope = scene.data.site_xmat[target.site].reshape(3, 3)[2]
    if not inside and rotations is None and abs(slope[2]) < 0.99:
        point = scene.data.site_xpos[target.site] + slope * UP_SLOPE_M
        height = point[2] + scene.pose(entity)[0][2] - scene.box(entity).low[2]
        return [PlacementSpot(np.append(point[:2], height))]
    area = PlacementArea(scene, entity, target, inside=inside, more=more)
    leans = inside and rotations is None
    if rotations is None:
        rotations = area.turns() if inside else [np.eye(3)]
    candidates = [spot for rotation in rotations for spot in area.spots_after(rotation)]
    ways = motion.LEVEL_DIRECTIONS if area.outward is None else (area.outward,)
    for angle in LEAN_ANGLES if leans else ():
        if area.fits and area.outward is None:
            break
        for way in ways:
            leaning = motion.shortest_rotation(UP, UP * np.cos(angle) + way * np.sin(angle))
            candidates += [
                replace(spot, cost=spot.cost + LEANING_COST * angle)
                for rotation in rotations
                for spot in area.spots_after(leaning @ rotation)
            ]
    return sorted(candidates, key=lambda spot: spot.cost)
