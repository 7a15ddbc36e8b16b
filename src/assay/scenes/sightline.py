"""Whether the main camera sees the things of a scene."""

from __future__ import annotations

from itertools import product

import mujoco
import numpy as np

from assay.sim import World
from assay.sim.compile import bounding_box

CAMERA = "agentview"
SEEN = 0.7
"""The share of a thing that must be in view."""
_SOLID = np.array([1, 0, 0, 0, 0, 0], dtype=np.uint8)
_GRID = tuple(product((-0.8, 0.0, 0.8), (-0.8, 0.0, 0.8), (-0.6, 0.6)))


def hidden(world: World) -> list[str]:
    """The movable things of which too little is seen: out of the picture, or behind something."""
    return [
        name
        for name, entity in world.compiled.entities.items()
        if entity.movable and _share(world, entity.geoms) < SEEN
    ]


def _share(world: World, geoms: frozenset[int]) -> float:
    """The share of some points in the box around geoms that the camera sees."""
    model, data = world.model, world.data
    camera = model.camera(CAMERA).id
    eye, axes = data.cam_xpos[camera], data.cam_xmat[camera].reshape(3, 3)
    widest = np.tan(np.radians(model.cam_fovy[camera]) / 2)
    low, high = bounding_box(model, data, geoms)
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
