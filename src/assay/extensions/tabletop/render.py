"""Draws tables: colour and segmentation from both cameras. One GL context serves a whole process."""

from __future__ import annotations

import os
from collections import OrderedDict
from functools import cache
from typing import Any

import numpy as np

from assay.errors import RenderingError
from assay.extensions.tabletop.build import (
    EXTENT,
    FLAT_GROUP,
    HIDDEN_GROUP,
    SOLID_GROUP,
    TABLE_GROUP,
    VIEWS,
    Built,
    build,
)
from assay.extensions.tabletop.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW, TableScene
from assay.sim import gl
from assay.sim.bare_mujoco import mujoco

HEIGHT, WIDTH = 128, 256
"""The size of a picture, pixels."""
KEPT = 3
"""How many scenes stay ready to be drawn."""

Views = dict[str, tuple[np.ndarray, np.ndarray]]
"""For each camera a picture, uint8 (HEIGHT, WIDTH, 3), and its labels, uint8 (HEIGHT, WIDTH): 0 for the
table, i + 1 for the scene's item i. The top row comes first."""


class TableRenderer:
    """Draws scenes; belongs to the process and thread that drew first."""

    def __init__(self) -> None:
        self.count = 0
        """How many images were rendered."""
        self._process = os.getpid()
        self._gl: Any = None
        self._ready: OrderedDict[int, tuple[Built, Any, mujoco.MjvScene, mujoco.MjData]] = OrderedDict()
        self._views: OrderedDict[TableScene, Views] = OrderedDict()

    @staticmethod
    @cache
    def shared() -> TableRenderer:
        """The renderer of this process."""
        return TableRenderer()

    def still(self, scene: TableScene) -> Views:
        """A scene as it is written down, untouched by physics: what prompts show."""
        if scene not in self._views:
            built = build(scene)
            self._views[scene] = self.draw(built, built.model.qpos0)
            while len(self._views) > 64:
                self._views.popitem(last=False)
        self._views.move_to_end(scene)
        return self._views[scene]

    def draw(self, built: Built, qpos: np.ndarray) -> Views:
        """A built scene with its joints at given positions."""
        context, scene, data = self._opened(built)
        data.qpos[:] = qpos
        mujoco.mj_kinematics(built.model, data)
        mujoco.mj_camlight(built.model, data)
        viewport = mujoco.MjrRect(0, 0, WIDTH, HEIGHT)
        views: Views = {}
        for name in VIEWS:
            camera = mujoco.MjvCamera()
            camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
            camera.fixedcamid = built.model.camera(name).id
            mujoco.mjv_updateScene(
                built.model, data, _OPTIONS, None, camera, mujoco.mjtCatBit.mjCAT_ALL, scene
            )
            colour, index = (np.empty((HEIGHT, WIDTH, 3), dtype=np.uint8) for _ in range(2))
            for segmented, target in ((False, colour), (True, index)):
                scene.flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = segmented
                scene.flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = segmented
                mujoco.mjr_render(viewport, scene, context)
                mujoco.mjr_readPixels(target, None, viewport, context)
            self.count += 1
            views[name] = (colour[::-1].copy(), _labels(built, scene, index[::-1]))
        return views

    def _opened(self, built: Built) -> tuple[Any, mujoco.MjvScene, mujoco.MjData]:
        if self._process != os.getpid():
            raise RenderingError(
                "this process was forked from one that had drawn pictures, and GL does not survive that: "
                "start processes with multiprocessing's 'spawn'"
            )
        if self._gl is None:
            self._gl = gl.context(WIDTH, HEIGHT)
        self._gl.make_current()
        if id(built) not in self._ready:
            while len(self._ready) >= KEPT:
                self._ready.popitem(last=False)[1][1].free()
            context = mujoco.MjrContext(built.model, mujoco.mjtFontScale.mjFONTSCALE_50)
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, context)
            scene = mujoco.MjvScene(built.model, maxgeom=1000)
            scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
            scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
            # `built` is kept with it, so that its id stays its own.
            self._ready[id(built)] = (built, context, scene, mujoco.MjData(built.model))
        self._ready.move_to_end(id(built))
        return self._ready[id(built)][1:]


def table_point(across: float, down: float) -> tuple[float, float]:
    """Where on the table, metres, a point of the top view lies, given as shares of its width and height."""
    middle_x, middle_y = (X_LOW + X_HIGH) / 2, (Y_LOW + Y_HIGH) / 2
    width = EXTENT["top"] * WIDTH / HEIGHT
    return middle_x + (down - 0.5) * EXTENT["top"], middle_y + (across - 0.5) * width


def _labels(built: Built, scene: mujoco.MjvScene, picture: np.ndarray) -> np.ndarray:
    label = np.zeros(scene.ngeom + 1, dtype=np.uint8)
    for geom in scene.geoms[: scene.ngeom]:
        if geom.segid >= 0 and geom.objtype == mujoco.mjtObj.mjOBJ_GEOM:
            label[geom.segid + 1] = built.owner[geom.objid] + 1
    index = picture.astype(np.int32) @ (1, 2**8, 2**16)
    return np.asarray(label[np.clip(index, 0, scene.ngeom)])


def _options() -> mujoco.MjvOption:
    options = mujoco.MjvOption()
    options.geomgroup[:] = 0
    for group in (TABLE_GROUP, SOLID_GROUP, FLAT_GROUP):
        options.geomgroup[group] = 1
    assert not options.geomgroup[HIDDEN_GROUP]
    return options


_OPTIONS = _options()
