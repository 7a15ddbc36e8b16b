"""Whether the main camera sees the things of a scene, and the places they go to."""

from __future__ import annotations

from itertools import product

import mujoco
import numpy as np

from assay.sim import Simulation
from assay.sim.compile import bounding_box

CAMERA = "agentview"
SEEN = 0.7
"""The share of a thing, or of a place, that must be in view."""
LOW_THING = 0.04
"""How high over a place is looked at, metres."""
_SOLID = np.array([1, 0, 0, 0, 0, 0], dtype=np.uint8)
_GRID = tuple(product((-0.8, 0.0, 0.8), (-0.8, 0.0, 0.8), (-0.6, 0.6)))


def hidden(world: Simulation) -> list[str]:
    """The movable things of which too little is seen: out of the picture, or behind something."""
    return [
        name
        for name, entity in world.compiled.entities.items()
        if entity.movable
        and _share(world, bounding_box(world.model, world.data, entity.geoms), entity.geoms) < SEEN
    ]


def hidden_regions(world: Simulation) -> set[str]:
    """The regions of the workspace of which too little is seen, with something low on them."""
    things = frozenset[int]().union(*(entity.geoms for entity in world.compiled.entities.values()))
    room = frozenset(range(world.model.ngeom)) - things  # a table's top lies higher than a region may say
    found = set()
    for region in world.compiled.regions.values():
        if region.parent is None:
            x, y, z = world.data.site_xpos[region.site]
            half_x, half_y, _ = region.half
            box = np.array([x - half_x, y - half_y, z]), np.array([x + half_x, y + half_y, z + LOW_THING])
            if _share(world, box, room) < SEEN:
                found.add(region.name)
    return found


def _share(world: Simulation, box: tuple[np.ndarray, np.ndarray], geoms: frozenset[int]) -> float:
    """The share of some points in a box, (3,) and (3,), that the camera sees; ``geoms`` hide nothing."""
    model, data = world.model, world.data
    camera = model.camera(CAMERA).id
    eye, axes = data.cam_xpos[camera], data.cam_xmat[camera].reshape(3, 3)
    widest = np.tan(np.radians(model.cam_fovy[camera]) / 2)
    low, high = box
    seen = 0
    hit = np.zeros(1, dtype=np.int32)
    for offset in _GRID:
        ray = (low + high) / 2 + np.array(offset) * (high - low) / 2 - eye
        right, up, back = ray @ axes
        if max(abs(right), abs(up)) > -back * widest:
            continue
        distance = mujoco.mj_ray(model, data, eye, ray, _SOLID, 1, -1, hit)
        # The ray has the length of the way: beyond 1 is beyond the thing.
        seen += int(distance < 0 or distance > 1 or int(hit[0]) in geoms)
    return seen / len(_GRID)
