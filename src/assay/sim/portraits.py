"""A thing alone as the main camera sees it, drawn without GL: planners must know what can be told apart.

Triangles with their textures and a lamp above, in the size that the thing has in a picture of 256 x 256, standing in
the middle of a table. Neither shadows nor gloss.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import mujoco
import numpy as np

from assay.sim.footprints import resting_model
from assay.sim.layout import LAYOUTS
from assay.sim.packs.pack import AssetPack
from assay.sim.visibility import PICTURE
from assay.support.jit import compiled
from assay.tasks.scene import Arena, Entity

FINE = 3
"""Points across a pixel: a pixel has the mean of FINE x FINE."""
FIELD = 45.0
"""The main camera's field of view, degrees."""
LAMP = np.array([0.35, 0.15, 0.92])
"""Towards the lamp."""
AMBIENT = 0.4
"""The light that comes from everywhere, as a share of all."""


@dataclass(frozen=True, slots=True)
class Portrait:
    """A crop of a picture around one thing."""

    colour: np.ndarray
    """Red, green, blue, 0 to 1, (height, width, 3); 0 beside the thing."""
    cover: np.ndarray
    """How much of each pixel the thing covers, 0 to 1, (height, width)."""

    @property
    def pixels(self) -> float:
        """How many it covers."""
        return float(self.cover.sum())


@lru_cache(maxsize=256)
def portrait(entity: Entity, pack: AssetPack) -> Portrait:
    """An entity with its finish and size; only its category, finish and size matter."""
    model, data = resting_model(pack, entity, fixture=entity.category in pack.fixtures, triangles=True)
    mujoco.mj_kinematics(model, data)
    corners, paints, normals = _triangles(model, data)
    if not len(corners):
        return Portrait(np.zeros((1, 1, 3)), np.zeros((1, 1)))
    layout = LAYOUTS[Arena.TABLE]
    pose, axes = layout.cameras["agentview"], np.empty(9)
    mujoco.mju_quat2Mat(axes, np.array(pose.quaternion))
    foot = np.array(layout.offset) - (0.0, 0.0, corners[..., 2].min())
    seen = (corners + foot - pose.position) @ axes.reshape(3, 3)
    scale = FINE * PICTURE / 2 / np.tan(np.radians(FIELD / 2))
    flat = np.stack([seen[..., 0], -seen[..., 1]], axis=-1) / -seen[..., 2:] * scale
    low = np.floor(flat.min(axis=(0, 1)) / FINE) * FINE
    width, height = (np.ceil((flat.max(axis=(0, 1)) - low) / FINE).astype(int) * FINE).tolist()
    light = AMBIENT + (1 - AMBIENT) * np.abs(normals @ (LAMP / np.linalg.norm(LAMP)))
    drawn = np.zeros((height, width, 4))
    nearest = np.full((height, width), np.inf)
    for texture, plain, coordinates, chosen in paints:
        here = flat[chosen] - low
        seen_texture = _coarse(texture, here, coordinates)
        _draw(drawn, nearest, here, -seen[chosen][..., 2], light[chosen], plain, seen_texture, coordinates)
    parts = drawn.reshape(height // FINE, FINE, width // FINE, FINE, 4).mean(axis=(1, 3))
    return Portrait(parts[..., :3], parts[..., 3])


def _triangles(
    model: mujoco.MjModel, data: mujoco.MjData
) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray, np.ndarray, slice]], np.ndarray]:
    """Corners (n, 3, 3) and normals (n, 3) of all that is drawn, and for each geom its paint.

    A paint is a texture (height, width, 3), a colour (3,) to multiply it by, texture coordinates of the corners
    (m, 3, 2), and which triangles it is on.
    """
    corners, paints, count = [np.empty((0, 3, 3))], [], 0
    for geom in np.flatnonzero((model.geom_group == 1) & (model.geom_type == mujoco.mjtGeom.mjGEOM_MESH)):
        mesh, material = int(model.geom_dataid[geom]), int(model.geom_matid[geom])
        rgba = model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]
        if rgba[3] < 0.5:
            continue
        faces = _rows(model.mesh_face, model.mesh_faceadr[mesh], model.mesh_facenum[mesh])
        points = _rows(model.mesh_vert, model.mesh_vertadr[mesh], model.mesh_vertnum[mesh])
        placed = points @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
        image = -1 if material < 0 else int(model.mat_texid[material][mujoco.mjtTextureRole.mjTEXROLE_RGB])
        coordinates, texture = np.zeros((len(faces), 3, 2)), np.ones((1, 1, 3))
        if image >= 0 and model.mesh_texcoordadr[mesh] >= 0:
            known = _rows(model.mesh_texcoord, model.mesh_texcoordadr[mesh], model.mesh_texcoordnum[mesh])
            picked = _rows(model.mesh_facetexcoord, model.mesh_faceadr[mesh], model.mesh_facenum[mesh])
            coordinates, texture = known[picked].astype(np.float64), _texture(model, image)
        corners.append(placed[faces])
        paints.append((texture, rgba[:3].astype(np.float64), coordinates, slice(count, count + len(faces))))
        count += len(faces)
    every = np.concatenate(corners)
    normals = np.cross(every[:, 1] - every[:, 0], every[:, 2] - every[:, 0])
    return every, paints, normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-15)


def _rows(values: np.ndarray, start: int, count: int) -> np.ndarray:
    return values[int(start) : int(start) + int(count)]


def _texture(model: mujoco.MjModel, index: int) -> np.ndarray:
    height, width = int(model.tex_height[index]), int(model.tex_width[index])
    channels = int(model.tex_nchannel[index])
    start = int(model.tex_adr[index])
    data = model.tex_data[start : start + height * width * channels].reshape(height, width, channels)
    return np.asarray(data[..., :3] / 255.0)


def _coarse(texture: np.ndarray, flat: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """A texture with no more detail than points of the picture can show: halved until a point has a texel."""
    shown, taken = np.abs(_areas(flat)).sum(), np.abs(_areas(coordinates)).sum()
    while min(texture.shape[:2]) > 1 and taken * texture.shape[0] * texture.shape[1] > 2.0 * shown:
        rows, columns = texture.shape[0] // 2, texture.shape[1] // 2
        texture = texture[: 2 * rows, : 2 * columns].reshape(rows, 2, columns, 2, 3).mean(axis=(1, 3))
    return texture


def _areas(triangles: np.ndarray) -> np.ndarray:
    """Twice the areas of flat triangles (n, 3, 2)."""
    one, other = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    return np.asarray(one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0])


@compiled
def _draw(
    drawn: np.ndarray,
    nearest: np.ndarray,
    flat: np.ndarray,
    far: np.ndarray,
    light: np.ndarray,
    plain: np.ndarray,
    texture: np.ndarray,
    coordinates: np.ndarray,
) -> None:
    """Draw triangles into a picture (height, width, 4), where they are nearer than what is there."""
    height, width = nearest.shape
    rows, columns = texture.shape[:2]
    for face in range(len(flat)):
        ax, ay, bx, by, cx, cy = (
            flat[face, 0, 0], flat[face, 0, 1], flat[face, 1, 0], flat[face, 1, 1], flat[face, 2, 0], flat[face, 2, 1]
        )  # fmt: skip
        area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
        if abs(area) < 1e-9:
            continue
        first_row, last_row = max(int(min(ay, by, cy)), 0), min(int(max(ay, by, cy)) + 1, height)
        first, last = max(int(min(ax, bx, cx)), 0), min(int(max(ax, bx, cx)) + 1, width)
        for row in range(first_row, last_row):
            for column in range(first, last):
                x, y = column + 0.5, row + 0.5
                b = ((x - ax) * (cy - ay) - (cx - ax) * (y - ay)) / area
                c = ((bx - ax) * (y - ay) - (x - ax) * (by - ay)) / area
                a = 1.0 - b - c
                if a < 0 or b < 0 or c < 0:
                    continue
                depth = a * far[face, 0] + b * far[face, 1] + c * far[face, 2]
                if depth >= nearest[row, column]:
                    continue
                nearest[row, column] = depth
                u = a * coordinates[face, 0, 0] + b * coordinates[face, 1, 0] + c * coordinates[face, 2, 0]
                v = a * coordinates[face, 0, 1] + b * coordinates[face, 1, 1] + c * coordinates[face, 2, 1]
                i, j = int(v % 1.0 * rows) % rows, int(u % 1.0 * columns) % columns
                for channel in range(3):
                    drawn[row, column, channel] = texture[i, j, channel] * plain[channel] * light[face]
                drawn[row, column, 3] = 1.0
