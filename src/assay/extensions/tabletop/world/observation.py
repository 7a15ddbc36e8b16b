"""Images of the table: rendering, with colour and segmentation from both cameras, and observations for policies.

One GL context serves the entire process.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from assay.errors import RenderingError, did_you_mean
from assay.extensions.tabletop.prompts.prompt import Picture, Prompt
from assay.extensions.tabletop.world import model
from assay.extensions.tabletop.world.model import TableModel
from assay.extensions.tabletop.world.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW, TableScene, Tool
from assay.sim import gl
from assay.sim.bare_mujoco import mujoco

HEIGHT, WIDTH = 128, 256
"""Height and width of an image, in pixels."""
MAX_READY_SCENES = 3
"""Number of scenes kept ready for rendering."""

Views = dict[str, tuple[np.ndarray, np.ndarray]]
"""Camera -> its image and its labels, each with the top row first.

Images are uint8 (HEIGHT, WIDTH, 3). Labels are uint8 (HEIGHT, WIDTH): 0 for the table, i + 1 for the scene's item i.
"""


class TableRenderer:
    """Renders scenes; usable only in the process and thread that used it first."""

    def __init__(self) -> None:
        self.count = 0
        """Number of rendered images."""
        self._process = os.getpid()
        self._gl: Any = None
        self._ready: OrderedDict[int, tuple[TableModel, Any, mujoco.MjvScene, mujoco.MjData]] = OrderedDict()

    @staticmethod
    @cache
    def shared() -> TableRenderer:
        """Return the renderer of this process."""
        return TableRenderer()

    def draw(self, built: TableModel, qpos: np.ndarray) -> Views:
        """Render a compiled scene at the given joint positions."""
        if self._process != os.getpid():
            raise RenderingError(
                "this process was forked from one that had rendered images, and GL contexts do not survive a fork: "
                "start processes with multiprocessing's 'spawn'"
            )
        if self._gl is None:
            self._gl = gl.context(WIDTH, HEIGHT)
        self._gl.make_current()
        if id(built) not in self._ready:
            while len(self._ready) >= MAX_READY_SCENES:
                self._ready.popitem(last=False)[1][1].free()
            context = mujoco.MjrContext(built.model, mujoco.mjtFontScale.mjFONTSCALE_50)
            mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, context)
            scene = mujoco.MjvScene(built.model, maxgeom=1000)
            scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
            scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
            # `built` is kept as well, so that its id is not reused.
            self._ready[id(built)] = (built, context, scene, mujoco.MjData(built.model))
        self._ready.move_to_end(id(built))
        _, context, scene, data = self._ready[id(built)]
        data.qpos[:] = qpos
        mujoco.mj_kinematics(built.model, data)
        mujoco.mj_camlight(built.model, data)
        viewport = mujoco.MjrRect(0, 0, WIDTH, HEIGHT)
        views: Views = {}
        for name in model.VIEWS:
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
            label = np.zeros(scene.ngeom + 1, dtype=np.uint8)
            for geom in scene.geoms[: scene.ngeom]:
                if geom.segid >= 0 and geom.objtype == mujoco.mjtObj.mjOBJ_GEOM:
                    label[geom.segid + 1] = built.owner[geom.objid] + 1
            ids = index[::-1].astype(np.int32) @ (1, 2**8, 2**16)
            views[name] = (colour[::-1].copy(), label[np.clip(ids, 0, scene.ngeom)])
        return views


@lru_cache(maxsize=64)
def render_scene(scene: TableScene) -> Views:
    """Render a scene as specified, without simulating physics; used for the images in prompts."""
    built = model.build(scene)
    return TableRenderer.shared().draw(built, built.model.qpos0)


def table_point(across: float, down: float) -> tuple[float, float]:
    """Return the table position, in metres, of a point given as fractions of the top view's width and height."""
    middle_x, middle_y = (X_LOW + X_HIGH) / 2, (Y_LOW + Y_HIGH) / 2
    width = model.EXTENT["top"] * WIDTH / HEIGHT
    return middle_x + (down - 0.5) * model.EXTENT["top"], middle_y + (across - 0.5) * width


_OPTIONS = mujoco.MjvOption()
_OPTIONS.geomgroup[:] = [
    group in (model.TABLE_GROUP, model.SOLID_GROUP, model.FLAT_GROUP) for group in range(6)
]
PAPER, INK = (250, 250, 248), (25, 25, 30)
LINE, GAP = 22, 6


def draw_prompt(prompt: Prompt, most: int) -> Image.Image:
    """Draw words and images in reading order, wrapped to lines at most ``most`` pixels wide."""
    font = ImageFont.load_default(15)
    parts: list[str | Image.Image] = []
    for segment in prompt.segments:
        parts += segment.split() if isinstance(segment, str) else [_draw_picture(segment)]
    lines: list[list[tuple[int, str | Image.Image]]] = [[]]
    x = 0
    for part in parts:
        width = int(font.getlength(part)) if isinstance(part, str) else part.width
        if x + width > most and lines[-1]:
            lines.append([])
            x = 0
        lines[-1].append((x, part))
        x += width + GAP
    heights = [max([LINE, *(p.height + GAP for _, p in line if not isinstance(p, str))]) for line in lines]
    block = Image.new("RGB", (most, sum(heights)), PAPER)
    pen = ImageDraw.Draw(block)
    y = 0
    for line, height in zip(lines, heights, strict=True):
        for x, part in line:
            if isinstance(part, str):
                pen.text((x, y + (height - LINE) // 2), part, INK, font)
            else:
                block.paste(part, (x, y + (height - GAP - part.height) // 2))
        y += height
    return block


def _draw_picture(picture: Picture) -> Image.Image:
    """Draw both views of a prompt image: cropped if it shows an object, complete if it shows a table."""
    views = render_picture(picture)
    if picture.kind == "scene":
        both = Image.fromarray(np.vstack([views[camera][0] for camera in model.VIEWS]))
        return both.resize((int(0.7 * both.width), int(0.7 * both.height)), Image.Resampling.LANCZOS)
    cut = []
    for camera in model.VIEWS:
        colour, labels = views[camera]
        rows, columns = np.nonzero(labels)
        middle = int(columns.min() + columns.max()) // 2
        half = max(20, int(np.ptp(columns)) // 2 + 4)
        low, high = max(0, rows.min() - 4), rows.max() + 5
        cut.append(Image.fromarray(colour[low:high, max(0, middle - half) : middle + half]))
    height = max(image.height for image in cut)
    pair = Image.new("RGB", (cut[0].width + cut[1].width + 2, height), PAPER)
    for x, image in ((0, cut[0]), (cut[0].width + 2, cut[1])):
        pair.paste(image, (x, (height - image.height) // 2))
    return pair


@dataclass(frozen=True, slots=True, eq=False)
class Photograph(Picture):
    """An image from another source, for example a photograph, that is shown without rendering."""

    views: Views = field(default_factory=dict, repr=False)


def render_picture(picture: Picture) -> Views:
    """Render an image of a prompt; return a photograph unchanged."""
    return picture.views if isinstance(picture, Photograph) else render_scene(picture.scene)


CROP = 32
"""Side of an object's crop, in pixels."""
PATCH = 32
"""Side of a patch of the image at half resolution, in pixels."""
_MIN_PIXELS = 2
"""Minimum number of pixels at which an object counts as visible."""


@dataclass(frozen=True, slots=True, eq=False)
class ObjectTokens:
    """Crops and boxes of the objects in one view, in the observation's order; invisible objects come last, as zeros."""

    crops: np.ndarray
    """uint8, (objects, CROP, CROP, 3): the box around each object, padded to a square with black."""
    boxes: np.ndarray
    """float32, (objects, 4): the box's centre x and y, height and width, as fractions of the image."""
    visible: np.ndarray
    """bool, (objects,): whether the object is visible."""
    items: np.ndarray
    """int, (objects,): index of the scene's item; for scoring, not for policies."""


@dataclass(frozen=True, slots=True, eq=False)
class TableObservation:
    """One observation of the table; its images are rendered on first access."""

    step: int
    """Number of actions since the start."""
    _scene: TableScene = field(repr=False)
    _render: Callable[[], Views] = field(repr=False)
    """Cached function that renders both views."""
    order: tuple[int, ...] | None = None
    """Order of the objects, as indices of the scene's items; None for the scene's order."""

    @property
    def tool(self) -> Tool:
        """The robot's tool."""
        return self._scene.tool

    @property
    def count(self) -> int:
        """The number of objects, visible or not."""
        return len(self._scene.items)

    def image(self, camera: str = "top") -> np.ndarray:
        """Return an image: uint8, (HEIGHT, WIDTH, 3), top row first."""
        return self._view(camera)[0].copy()

    def segmentation(self, camera: str = "top") -> np.ndarray:
        """Return labels, uint8, (HEIGHT, WIDTH): 0 for the table, i + 1 for the object at index i of the order."""
        labels = self._view(camera)[1]
        if self.order is None:
            return labels.copy()
        places = np.array([0, *(np.argsort(self.order) + 1)], dtype=np.uint8)
        return np.asarray(places[labels])

    def objects(self, camera: str = "top") -> ObjectTokens:
        """Return one crop and box for each object, in the observation's order.

        Raises RenderingError if the order is not a permutation of the objects.
        """
        picture, labels = self._view(camera)
        order = self.order or tuple(range(self.count))
        if sorted(order) != list(range(self.count)):
            raise RenderingError(f"{list(order)} is not a permutation of {self.count} objects")
        crops = np.zeros((self.count, CROP, CROP, 3), dtype=np.uint8)
        boxes = np.zeros((self.count, 4), dtype=np.float32)
        seen: list[int] = []
        for index in order:
            rows, columns = np.nonzero(labels == index + 1)
            if len(rows) < _MIN_PIXELS:
                continue
            top, bottom, left, right = rows.min(), rows.max() + 1, columns.min(), columns.max() + 1
            height, width = bottom - top, right - left
            side = max(height, width)
            square = np.zeros((side, side, 3), dtype=np.uint8)
            y, x = (side - height) // 2, (side - width) // 2
            square[y : y + height, x : x + width] = picture[top:bottom, left:right]
            crops[len(seen)] = np.asarray(Image.fromarray(square).resize((CROP, CROP), Image.Resampling.BOX))
            middle = ((left + right) / 2 / WIDTH, (top + bottom) / 2 / HEIGHT)
            boxes[len(seen)] = (*middle, height / HEIGHT, width / WIDTH)
            seen.append(index)
        unseen = [index for index in order if index not in seen]
        visible = np.arange(self.count) < len(seen)
        return ObjectTokens(crops, boxes, visible, np.array([*seen, *unseen], dtype=int))

    def reorder(self, order: Sequence[int] | np.ndarray) -> TableObservation:
        """Return the observation with its objects in another order."""
        return replace(self, order=tuple(int(index) for index in order))

    def patches(self, camera: str = "top") -> np.ndarray:
        """Return the image at half resolution, cut into patches row by row: uint8, (8, PATCH, PATCH, 3)."""
        picture = Image.fromarray(self._view(camera)[0])
        small = np.asarray(picture.resize((WIDTH // 2, HEIGHT // 2), Image.Resampling.BOX))
        rows, columns = small.shape[0] // PATCH, small.shape[1] // PATCH
        grid = small.reshape(rows, PATCH, columns, PATCH, 3).swapaxes(1, 2)
        return np.ascontiguousarray(grid.reshape(-1, PATCH, PATCH, 3))

    def _view(self, camera: str) -> tuple[np.ndarray, np.ndarray]:
        if camera not in model.VIEWS:
            raise RenderingError(f"the table has no camera '{camera}': {did_you_mean(camera, model.VIEWS)}")
        return self._render()[camera]
