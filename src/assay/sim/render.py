"""Render colour, depth and segmentation images of a compiled scene.

With software GL, processing mesh vertices takes most of the rendering time. Geoms outside the view are therefore
omitted (`assay.sim.culling`), and static geoms are rendered once into a layer that is composited with later images
(`assay.sim.still`). Neither optimization changes a pixel.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mujoco
import numpy as np

from assay.errors import RenderingError, did_you_mean
from assay.sim import gl
from assay.sim.categories import GLOWING, SWITCHING, Mechanism
from assay.sim.compile import CompiledScene, live_fixtures, put_fixtures
from assay.sim.compose import GRIPPER, MOUNT, ROBOT
from assay.sim.culling import Culling
from assay.sim.still import RenderPlan, Still

MAX_GEOMS = 10_000
HIDDEN_GROUP = 0
"""Geom group of collision geoms, which are not drawn."""
MAX_IMAGE_SIDE = 4096
"""Largest width or height of an image, in pixels."""

CAMERAS = ("agentview", "robot0_eye_in_hand")
"""The two cameras whose images policies receive; a scene has more cameras."""

BACKGROUND, ROBOT_LABEL, FIRST_ENTITY = 0, 1, 2
"""Segmentation labels of the arena, the robot, and the first of the scene's entities, which are numbered in order."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Poses in a scene at one control step, which completely determine an image."""

    qpos: np.ndarray
    """Joint positions, (nq,)."""
    fixtures: np.ndarray
    """Position and quaternion of each fixture, in the scene's order, (fixtures, 7)."""


class Renderer:
    """Renders one simulation's model. Textures and meshes are uploaded to GL when the first image is rendered."""

    def __init__(self, compiled: CompiledScene, model: mujoco.MjModel) -> None:
        self._compiled = compiled
        self._model = model
        self._data = mujoco.MjData(model)
        self._glows: list[tuple[int, list[int], Mechanism]] = []
        """For each glowing site: its id, the qpos addresses of its mechanism's joints, and the mechanism."""
        for entity in compiled.entities.values():
            if entity.category in GLOWING:
                site = model.site(f"{entity.name}_{GLOWING[entity.category]}").id
                joints = [int(model.jnt_qposadr[joint]) for joint in entity.inner_joints]
                self._glows.append((site, joints, SWITCHING[entity.category]))
        model.site_rgba[:, 3] = 0.0  # sites are invisible, except those that glow while a mechanism is on
        self._context: Any = None
        self._shadows = False
        """Whether the GL context has a shadow map."""
        self._gl: Any = None
        self._release: Callable[[], object] = lambda: None
        self.count = 0
        """Number of images rendered so far."""

    def colour(self, moment: Snapshot | mujoco.MjData, camera: str, height: int, width: int) -> np.ndarray:
        """Render a colour image: uint8, (height, width, 3), top row first.

        An MjData is rendered with its current kinematics.
        """
        self._draw(moment, camera, height, width, segmented=False)
        return self._read_pixels()

    def raw_depth(self, moment: Snapshot | mujoco.MjData, camera: str, height: int, width: int) -> np.ndarray:
        """Return GL's depth buffer, from 0 (near plane) to 1 (far plane): float32, (height, width), top row first."""
        self._draw(moment, camera, height, width, segmented=False)
        raw = np.empty((height, width), dtype=np.float32)
        self._context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZERONEAR
        mujoco.mjr_readPixels(None, raw, self._viewport, self._context)
        self._context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        return raw[::-1].copy()

    def depth(self, moment: Snapshot, camera: str, height: int, width: int) -> np.ndarray:
        """Return the distances from the camera plane in metres: float32, (height, width), top row first."""
        self._draw(moment, camera, height, width, segmented=True)
        raw = np.empty((height, width), dtype=np.float32)
        mujoco.mjr_readPixels(None, raw, self._viewport, self._context)
        extent = self._model.stat.extent
        near, far = self._model.vis.map.znear * extent, self._model.vis.map.zfar * extent
        # The buffer runs from 1 at the near plane to 0 at the far one.
        metres = near * far / (near + raw[::-1].astype(np.float64) * (far - near))
        return np.asarray(metres, dtype=np.float32)

    def segmentation(self, moment: Snapshot, camera: str, height: int, width: int) -> np.ndarray:
        """Return the label of each pixel: int32, (height, width), top row first."""
        geoms = self.geoms(moment, camera, height, width)
        return np.where(geoms >= 0, self._labels[geoms], BACKGROUND).astype(np.int32)

    def geoms(self, moment: Snapshot | mujoco.MjData, camera: str, height: int, width: int) -> np.ndarray:
        """Return the geom id of each pixel, -1 for none: int32, (height, width), top row first."""
        self._draw(moment, camera, height, width, segmented=True)
        # MuJoCo encodes the segment number as a 24-bit colour.
        index = self._read_pixels().astype(np.int64) @ (1, 2**8, 2**16)
        ids = np.full(self._scene.ngeom + 1, -1, dtype=np.int32)
        for geom in self._scene.geoms[: self._scene.ngeom]:
            if geom.segid >= 0 and geom.objtype == mujoco.mjtObj.mjOBJ_GEOM:
                ids[geom.segid + 1] = geom.objid
        return np.asarray(ids[np.clip(index, 0, self._scene.ngeom)])

    @cached_property
    def _labels(self) -> np.ndarray:
        """The label of every geom, (ngeom,)."""
        model, compiled = self._model, self._compiled
        roots = {
            compiled.entities[entity.name].body: FIRST_ENTITY + number
            for number, entity in enumerate(compiled.scene.entities)
        }
        labels = np.full(model.nbody, BACKGROUND)
        for body in range(1, model.nbody):
            if body in roots:
                labels[body] = roots[body]
            elif model.body(body).name.startswith((ROBOT, GRIPPER, MOUNT)):
                labels[body] = ROBOT_LABEL
            else:
                labels[body] = labels[model.body_parentid[body]]
        return np.asarray(labels[model.geom_bodyid])

    def _read_pixels(self) -> np.ndarray:
        image = np.empty((self._viewport.height, self._viewport.width, 3), dtype=np.uint8)
        mujoco.mjr_readPixels(image, None, self._viewport, self._context)
        return image[::-1].copy()  # GL's first row is the bottom one

    def close(self) -> None:
        """Release the GL resources; rendering another image uploads them again."""
        self._release()
        self._context = self._gl = None

    def _draw(
        self, moment: Snapshot | mujoco.MjData, camera: str, height: int, width: int, *, segmented: bool
    ) -> None:
        if not isinstance(camera, str):
            raise RenderingError(f"a camera's name must be a string, not {camera!r}")
        camera_id = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_CAMERA, camera)
        if camera_id < 0:
            cameras = [self._model.camera(i).name for i in range(self._model.ncam)]
            raise RenderingError(f"unknown camera '{camera}': {did_you_mean(camera, cameras)}")
        if not all(isinstance(n, int | np.integer) and 0 < n <= MAX_IMAGE_SIDE for n in (height, width)):
            raise RenderingError(
                f"the image size {height} x {width} is out of range; expected 1 to {MAX_IMAGE_SIDE} pixels"
            )
        self._open()
        _make_current(self._gl)
        # All renderers of a thread share its GL context, so another one may have selected its buffer.
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        if width > self._context.offWidth or height > self._context.offHeight:
            size = (max(width, self._context.offWidth), max(height, self._context.offHeight))
            mujoco.mjr_resizeOffscreen(*size, self._context)
        self._viewport = mujoco.MjrRect(0, 0, width, height)
        data = self._pose(moment) if isinstance(moment, Snapshot) else moment
        for site, joints, mechanism in self._glows:
            on = any(mechanism.active.holds(float(data.qpos[joint])) for joint in joints)
            self._model.site_rgba[site, 3] = 1.0 if on else 0.0
        self._camera.fixedcamid = camera_id
        unseen = self._culling.unseen(data, camera_id, width / height)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = segmented
        self._scene.flags[mujoco.mjtRndFlag.mjRND_IDCOLOR] = segmented
        self._update_scene(data, unseen)
        self.count += 1
        place = (camera_id, width, height)
        plan = RenderPlan() if segmented else self._still.plan(self._scene, data, place)
        if plan.under is None:
            mujoco.mjr_render(self._viewport, self._scene, self._context)
            return
        if plan.is_new:
            self._update_scene(data, unseen | ~plan.under)
            mujoco.mjr_render(self._viewport, self._scene, self._context)
            self._still.keep(place, plan.under)
        # The moving geoms come first and the layer of static ones is drawn behind them: the depth test then decides
        # per sample, and the layer's textures can be written by a single triangle.
        self._update_scene(data, unseen | plan.under)
        sky = mujoco.mjtRndFlag.mjRND_SKYBOX
        usual = self._scene.flags[sky]
        self._scene.flags[sky] = 0  # already in the layer
        mujoco.mjr_render(self._viewport, self._scene, self._context)
        self._scene.flags[sky] = usual
        self._still.composite(place)

    def _update_scene(self, data: mujoco.MjData, without: np.ndarray) -> None:
        """Update MuJoCo's abstract scene, omitting the geoms in a mask, (ngeom,)."""
        groups = self._model.geom_group
        usual = groups[without]
        groups[without] = HIDDEN_GROUP
        mujoco.mjv_updateScene(
            self._model,
            data,
            self._options,
            None,
            self._camera,
            mujoco.mjtCatBit.mjCAT_ALL,
            self._scene,
        )
        groups[without] = usual

    def _pose(self, moment: Snapshot) -> mujoco.MjData:
        """Return the kinematics of a snapshot, leaving the model's fixtures unchanged."""
        model, data = self._model, self._data
        live = live_fixtures(model, self._compiled)
        put_fixtures(model, self._compiled, moment.fixtures)
        data.qpos[:] = moment.qpos
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_camlight(model, data)
        put_fixtures(model, self._compiled, live)
        return data

    def _open(self) -> None:
        if _DRAWING_PROCESS.setdefault("id", os.getpid()) != os.getpid():
            raise RenderingError(
                "this process was forked from one that had rendered images, and GL does not survive a fork; "
                "start processes with multiprocessing's 'spawn', or fork before rendering"
            )
        shadows = bool(self._model.light_castshadow.any())
        if self._context is not None and (self._shadows or not shadows):
            return
        self.close()
        # All renderers of a thread share a GL context: a new one compiles its shaders, which takes software GL 0.25 s.
        if not hasattr(_OF_THREAD, "context"):
            _OF_THREAD.context = gl.context(640, 480)
        self._gl = _OF_THREAD.context
        _make_current(self._gl)
        quality = self._model.vis.quality
        shadow_size = quality.shadowsize
        if not shadows:
            quality.shadowsize = 0  # in software GL, an unused shadow map would dominate the cost of an image
        self._context = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_100)
        quality.shadowsize, self._shadows = shadow_size, shadows
        self._context.readDepthMap = mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        self._scene = mujoco.MjvScene(self._model, maxgeom=MAX_GEOMS)
        self._options = mujoco.MjvOption()
        self._options.geomgroup[HIDDEN_GROUP] = 0
        self._camera = mujoco.MjvCamera()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._culling = Culling(self._model)
        self._still = Still(self._model, self._culling, self._context, self._gl)
        self._release = _release_before_exit(self, self._context, self._gl, self._still)


_DRAWING_PROCESS: dict[str, int] = {}
_OF_THREAD = threading.local()


def _make_current(context: Any) -> None:
    try:
        context.make_current()
    except Exception as error:  # each backend raises its own type
        raise RenderingError(
            f"the GL context cannot be used here ({type(error).__name__}): a Simulation can render only in the thread "
            "that rendered its first image"
        ) from None


_AT_EXIT: set[weakref.finalize[..., Any]] = set()
_CONTEXTS: weakref.WeakSet[Any] = weakref.WeakSet()
"""GL contexts in which images have been rendered."""


def _release_before_exit(
    owner: Renderer, context: Any, gl_context: Any, still: Still
) -> weakref.finalize[..., Any]:
    """Free GL resources when their owner is freed, or at exit, before the GL library shuts down."""

    def release() -> None:
        gl_context.make_current()
        still.free()
        context.free()
        _AT_EXIT.discard(finalizer)

    finalizer = weakref.finalize(owner, release)
    finalizer.atexit = False  # the GL library's exit handler might run first
    if not _AT_EXIT:
        atexit.unregister(_release_all)
        atexit.register(_release_all)
    _AT_EXIT.add(finalizer)
    _CONTEXTS.add(gl_context)
    return finalizer


def _release_all() -> None:
    for finalizer in tuple(_AT_EXIT):
        finalizer()
    for context in tuple(_CONTEXTS):
        context.free()
