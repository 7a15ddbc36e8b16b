"""Portraits of entities, used to decide whether a person can distinguish two entities by their appearance.

A portrait shows a single entity in the middle of a table, as large as in the main camera's 256 x 256 image. It is
rasterized without GL, because planners must run without it: textured triangles with one light, no shadows and no
specular highlights. Two entities can differ in mean colour, pattern, outline or size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product

import mujoco
import numpy as np

from assay.sim.footprints import resting_model
from assay.sim.layout import LAYOUTS
from assay.sim.packs.pack import AssetPack
from assay.sim.packs.registry import planning_pack
from assay.sim.visibility import IMAGE_PIXELS
from assay.support.jit import machine_code
from assay.tasks.scene import Arena, Entity

SUPERSAMPLING = 3
"""Number of samples along each side of a pixel, whose colour is the mean of its samples."""
FIELD_OF_VIEW_DEG = 45.0
"""Vertical field of view of the main camera, in degrees."""
LAMP = np.array([0.35, 0.15, 0.92])
"""Direction towards the light source, normalized on use."""
AMBIENT = 0.4
"""Fraction of the illumination that is ambient."""


COLOUR = 12.0
"""Minimum CIELAB distance between distinguishable mean colours; for adjacent patches, about 2 would suffice."""
PATTERN = 12.0
"""Minimum mean CIELAB distance between corresponding pixels of distinguishable patterns, at the best alignment."""
OUTLINE = 0.1
"""Minimum fraction of the combined area covered by only one of two distinguishable outlines, at the best alignment."""
SIZE = 1.3
"""Minimum ratio between the pixel counts of two entities with distinguishable sizes."""
_SHIFT = 3
"""Maximum shift of one image relative to the other during alignment, in pixels."""

_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
_WHITE = _TO_XYZ.sum(axis=1)


@dataclass(frozen=True, slots=True)
class Portrait:
    """A crop of an image around one entity."""

    colour: np.ndarray
    """Red, green and blue, 0 to 1, premultiplied by the coverage, (height, width, 3)."""
    cover: np.ndarray
    """Coverage of each pixel by the entity, 0 to 1, (height, width)."""

    @property
    def pixels(self) -> float:
        """Number of covered pixels."""
        return float(self.cover.sum())


@lru_cache(maxsize=256)
def portrait(entity: Entity, pack: AssetPack) -> Portrait:
    """Return the portrait of an entity, which depends on its category, finish and size."""
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
    scale = SUPERSAMPLING * IMAGE_PIXELS / 2 / np.tan(np.radians(FIELD_OF_VIEW_DEG / 2))
    flat = np.stack([seen[..., 0], -seen[..., 1]], axis=-1) / -seen[..., 2:] * scale
    low = np.floor(flat.min(axis=(0, 1)) / SUPERSAMPLING) * SUPERSAMPLING
    width, height = (
        np.ceil((flat.max(axis=(0, 1)) - low) / SUPERSAMPLING).astype(int) * SUPERSAMPLING
    ).tolist()
    light = AMBIENT + (1 - AMBIENT) * np.abs(normals @ (LAMP / np.linalg.norm(LAMP)))
    drawn = np.zeros((height, width, 4))
    nearest = np.full((height, width), np.inf)
    for texture, plain, coordinates, chosen in paints:
        here = flat[chosen] - low
        # Halve the texture until it has at most two texels per sample of the image, to avoid aliasing.
        shown, taken = np.abs(_areas(here)).sum(), np.abs(_areas(coordinates)).sum()
        while min(texture.shape[:2]) > 1 and taken * texture.shape[0] * texture.shape[1] > 2.0 * shown:
            rows, columns = texture.shape[0] // 2, texture.shape[1] // 2
            texture = texture[: 2 * rows, : 2 * columns].reshape(rows, 2, columns, 2, 3).mean(axis=(1, 3))
        _draw(drawn, nearest, here, -seen[chosen][..., 2], light[chosen], plain, texture, coordinates)
    parts = drawn.reshape(
        height // SUPERSAMPLING, SUPERSAMPLING, width // SUPERSAMPLING, SUPERSAMPLING, 4
    ).mean(axis=(1, 3))
    return Portrait(parts[..., :3], parts[..., 3])


def _triangles(
    model: mujoco.MjModel, data: mujoco.MjData
) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray, np.ndarray, slice]], np.ndarray]:
    """Return the corners (n, 3, 3) and normals (n, 3) of all drawn triangles, and the paint of each geom.

    A paint consists of a texture (height, width, 3), a colour (3,) that multiplies it, the texture coordinates of the
    corners (m, 3, 2), and the triangles that it applies to.
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
            texcoords = _rows(model.mesh_texcoord, model.mesh_texcoordadr[mesh], model.mesh_texcoordnum[mesh])
            picked = _rows(model.mesh_facetexcoord, model.mesh_faceadr[mesh], model.mesh_facenum[mesh])
            shape = [int(sizes[image]) for sizes in (model.tex_height, model.tex_width, model.tex_nchannel)]
            pixels = _rows(model.tex_data, model.tex_adr[image], math.prod(shape)).reshape(shape)
            coordinates, texture = texcoords[picked].astype(np.float64), pixels[..., :3] / 255.0
        corners.append(placed[faces])
        paints.append((texture, rgba[:3].astype(np.float64), coordinates, slice(count, count + len(faces))))
        count += len(faces)
    every = np.concatenate(corners)
    normals = np.cross(every[:, 1] - every[:, 0], every[:, 2] - every[:, 0])
    return every, paints, normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-15)


def _rows(values: np.ndarray, start: int, count: int) -> np.ndarray:
    return values[int(start) : int(start) + int(count)]


def _areas(triangles: np.ndarray) -> np.ndarray:
    """Return twice the area of each 2D triangle, (n, 3, 2)."""
    one, other = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    return np.asarray(one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0])


@machine_code
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
    """Rasterize triangles into an image (height, width, 4), with a depth test."""
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


@dataclass(frozen=True, slots=True)
class AppearanceDifference:
    """Difference between two entities in the main camera's 256 x 256 image."""

    colour: float
    """CIELAB distance between the mean colours."""
    pattern: float
    """Mean CIELAB distance between corresponding pixels at the best alignment."""
    outline: float
    """Fraction of the combined area covered by only one entity at the best alignment, 0 to 1."""
    size: float
    """Ratio of the larger to the smaller number of pixels, at least 1."""

    @property
    def is_distinguishable(self) -> bool:
        """Whether a person can distinguish the entities."""
        return (
            self.colour >= COLOUR or self.pattern >= PATTERN or self.outline >= OUTLINE or self.size >= SIZE
        )

    def __str__(self) -> str:
        return (
            f"colours differ by {self.colour:.0f} (minimum {COLOUR:.0f}), "
            f"patterns by {self.pattern:.0f} ({PATTERN:.0f}), "
            f"outlines by {self.outline:.2f} ({OUTLINE:g}), sizes by a factor of {self.size:.2f} ({SIZE:g})"
        )


def difference(one: Entity, other: Entity, pack: AssetPack | None = None) -> AppearanceDifference:
    """Return the difference in appearance between two entities at the same position.

    ``pack`` defaults to the pack that is used for planning.
    """
    pack = pack or planning_pack()
    # A common name, because portraits are cached by entity.
    anonymous = (Entity("entity", entity.category, entity.finish, entity.size) for entity in (one, other))
    first, second = (portrait(entity, pack) for entity in anonymous)
    pixels = sorted((first.pixels, second.pixels))
    means = [_lab(image.colour.sum(axis=(0, 1)) / max(image.pixels, 1e-9)) for image in (first, second)]
    colour = float(np.linalg.norm(means[0] - means[1]))
    pattern, outline = _align(first, second)
    if one.category == other.category:  # outlines differ only in size
        outline = 0.0
    return AppearanceDifference(colour, pattern, outline, pixels[1] / max(pixels[0], 1e-9))


def alike(
    entities: Sequence[Entity], pack: AssetPack | None = None
) -> tuple[Entity, Entity, AppearanceDifference] | None:
    """Return the first two entities that a person cannot tell apart, with their difference; None if none exist."""
    for one, other in combinations(entities, 2):
        contrast = difference(one, other, pack)
        if not contrast.is_distinguishable:
            return one, other, contrast
    return None


def _align(one: Portrait, other: Portrait) -> tuple[float, float]:
    """Return the pattern and outline differences, each at the shift that minimizes it."""
    shape = [max(sizes) + 2 * _SHIFT for sizes in zip(one.cover.shape, other.cover.shape, strict=True)]
    frames = []  # of equal size with centered entities: CIELAB and cover, (height, width, 4)
    for image in (one, other):
        frame = np.zeros((*shape, 4))
        top, left = ((size - own) // 2 for size, own in zip(shape, image.cover.shape, strict=True))
        inner = frame[top : top + image.cover.shape[0], left : left + image.cover.shape[1]]
        inner[..., :3] = _lab(image.colour / np.maximum(image.cover, 1e-9)[..., None])
        inner[..., 3] = image.cover
        frames.append(frame)
    first, second = frames
    pattern, outline = np.inf, 1.0
    shifts = range(-_SHIFT, _SHIFT + 1)
    height, width, _ = second.shape
    around = np.pad(second, ((_SHIFT, _SHIFT), (_SHIFT, _SHIFT), (0, 0)))
    # Turned by 180 degrees an entity looks like its mirror image, so the side of a handle must not count.
    for seen, down, right in product((around, around[:, ::-1]), shifts, shifts):
        moved = seen[_SHIFT - down :, _SHIFT - right :][:height, :width]
        covers = first[..., 3], moved[..., 3]
        shared = np.minimum(*covers)
        outline = min(outline, 1.0 - float(shared.sum() / max(np.maximum(*covers).sum(), 1e-9)))
        both = shared > 0.99
        if both.any():
            distance = np.linalg.norm(first[both][:, :3] - moved[both][:, :3], axis=1)
            pattern = min(pattern, float(distance.mean()))
    return pattern if np.isfinite(pattern) else 0.0, outline


def _lab(rgb: np.ndarray) -> np.ndarray:
    """Convert sRGB colours, 0 to 1, (..., 3), to CIELAB, in which distances approximate perceived differences."""
    rgb = np.clip(rgb, 0.0, 1.0)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    ratio = linear @ _TO_XYZ.T / _WHITE
    root = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    x, y, z = np.moveaxis(root, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)
