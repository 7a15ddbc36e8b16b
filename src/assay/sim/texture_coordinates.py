"""Texture coordinates for drawn geoms, so that a pattern covers them like wrapping paper.

MuJoCo has texture coordinates only for meshes that define them. On all other geoms it projects the texture along one
axis, which smears it along the sides. Every drawn geom (inline meshes, boxes, cylinders, capsules, spheres and
ellipsoids) is therefore converted to a mesh with texture coordinates: cylindrical where a surface is round, otherwise
projected along the nearest axis. Meshes in files keep their coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TILE = 0.6
"""Side of a pattern's tile, as a fraction of the entity's size."""
TILES = (0.05, 0.14)
"""Smallest and largest side of a tile, in metres."""
MAX_TILES = 4
"""Maximum number of tiles along a side of a large surface such as a wall; its tiles are enlarged accordingly."""
SIDES = 20
"""Number of sides of a cylinder that is converted to a mesh."""
_RADIAL = 0.92
"""Minimum cosine of the angle between normal and radius for a face to count as part of a round surface."""
_STEEP = 0.5
"""Minimum component, perpendicular to the axis, of the unit normal of a face on the side of a round geom."""
_SOLIDS = frozenset({"box", "cylinder", "capsule", "sphere", "ellipsoid"})
_OTHER_ROTATIONS = frozenset({"euler", "axisangle", "xyaxes", "zaxis"})
_ROUND = 0.6
"""Minimum fraction, by area, of a geom's side faces whose normals must be radial for the geom to count as round."""
_CLEARLY_ROUND = 0.9
"""Fraction of side faces with radial normals above which a geom counts as round without trying other axes."""


class _Surface(NamedTuple):
    """The triangles of a geom."""

    points: Floats
    """Vertices in the mesh's frame, in metres, (n, 3)."""
    faces: NDArray[np.int64]
    """Vertex indices of the triangles, (m, 3)."""
    placed: Floats
    """Vertices in the frame of the geom's body, in metres, (n, 3)."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """Axis of a round surface."""

    along: int
    """Index of the axis: 0, 1 or 2 for x, y or z."""
    across: tuple[int, int]
    centre: Floats
    """Position of the axis in the plane perpendicular to it, in metres, (2,)."""
    radius: float
    """Largest radius of the surface, in metres."""


class _GeomText(NamedTuple):
    """Attributes of a geom and its mesh that define its shape and pose, as text; empty if absent."""

    kind: str
    size: str
    pos: str
    quat: str
    fromto: str
    vertex: str
    face: str
    scale: str


def wrap(root: Element, geoms: Sequence[Element], *, whole: bool = False) -> list[Element]:
    """Give a document's drawn geoms texture coordinates in units of tiles; return the converted geoms.

    ``whole``: stretch half a tile over the entity, for a texture that must not repeat.
    """
    assets = root.find("asset")
    assert assets is not None
    meshes = {str(mesh.get("name")): mesh for mesh in assets.iter("mesh")}
    texts: dict[int, _GeomText] = {}
    for geom in geoms:  # without file meshes, planes, colliding geoms and rotations that are not quaternions
        kind = geom.get("type", "sphere")
        mesh = meshes[str(geom.get("mesh"))] if kind == "mesh" else None
        is_drawn = geom.get("contype") == "0" and geom.get("conaffinity") == "0"
        has_shape = kind in _SOLIDS if mesh is None else "vertex" in mesh.attrib
        if is_drawn and has_shape and not _OTHER_ROTATIONS.intersection(geom.attrib):
            shape = [geom.get(key, "") for key in ("size", "pos", "quat", "fromto")]
            shape += ["" if mesh is None else mesh.get(key, "") for key in ("vertex", "face", "scale")]
            texts[id(geom)] = _GeomText(kind, *shape)
    bodies = [
        own
        for body in (*root.iter("worldbody"), *root.iter("body"))
        if (own := [geom for geom in body.iterfind("geom") if id(geom) in texts])
    ]
    shapes = tuple(tuple(texts[id(geom)] for geom in own) for own in bodies)
    textured = _texture_meshes(shapes, whole, TILES, MAX_TILES) if shapes else ()
    for geom, attributes in zip(
        (geom for own in bodies for geom in own), (mesh for own in textured for mesh in own), strict=True
    ):
        old = geom.get("mesh")
        name = f"{geom.get('name', old or 'geom')}_textured_{len(assets)}"
        SubElement(assets, "mesh", {"name": name, "inertia": "shell"} | attributes)
        if old is None:  # a solid, whose mesh has the same frame
            position, rotation = _pose(geom.get("pos", ""), geom.get("quat", ""), geom.get("fromto", ""))
            quat = np.empty(4)
            mujoco.mju_mat2Quat(quat, rotation.ravel())
            geom.set("pos", " ".join(map(repr, position.tolist())))
            geom.set("quat", " ".join(map(repr, quat.tolist())))
            geom.set("type", "mesh")
            for attribute in ("size", "fromto"):
                geom.attrib.pop(attribute, None)
        geom.set("mesh", name)
        if old is not None and not any(other.get("mesh") == old for other in root.iter("geom")):
            assets.remove(meshes[old])
    return [geom for geom in geoms if id(geom) in texts]


@lru_cache(maxsize=64)
def _texture_meshes(
    bodies: tuple[tuple[_GeomText, ...], ...], whole: bool, tiles: tuple[float, float], max_tiles: float
) -> tuple[tuple[dict[str, str], ...], ...]:
    """Return the attributes of textured meshes for each body's geoms; cached, because scenes are reused."""
    surfaces = [[_surface(text) for text in own] for own in bodies]
    every = [surface for own in surfaces for surface in own]
    extent = np.max([np.sort(np.ptp(surface.placed, axis=0)) for surface in every], axis=0)
    size, (least, most) = float(np.sqrt(extent[1] * extent[2])), tiles
    tile = 2.0 * float(extent[2]) if whole else max(min(max(size * TILE, least), most), size / max_tiles)
    meshes = []
    for own in surfaces:
        axes = [axis for surface in own if (axis := _axis(surface)) is not None]
        axes.sort(key=lambda axis: -axis.radius)
        low = np.min([surface.placed.min(axis=0) for surface in own], axis=0)
        meshes.append(tuple(_mesh(surface, _coordinates(surface, axes, low, tile)) for surface in own))
    return tuple(meshes)


def _mesh(surface: _Surface, coordinates: Floats) -> dict[str, str]:
    """Return a mesh's attributes; triangle corners with equal coordinates are shared."""
    corners = surface.faces.ravel()
    uses = np.column_stack([corners, np.rint(coordinates.reshape(-1, 2) * 1e4).astype(np.int64)])
    corners_used, faces = np.unique(uses, axis=0, return_inverse=True)
    arrays = {
        "vertex": surface.points[corners_used[:, 0]],
        "normal": _normals(surface)[corners_used[:, 0]],
        "texcoord": corners_used[:, 1:] / 1e4,
    }
    return {"face": " ".join(map(str, faces.ravel().tolist()))} | {
        key: " ".join([f"{value:.5f}" for value in values.ravel().tolist()]) for key, values in arrays.items()
    }


def _surface(geom: _GeomText) -> _Surface:
    """Return the triangles of a geom."""
    if geom.kind != "mesh":
        points, faces = _solid(geom)
        corners = points[faces]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        # Orient the faces counter-clockwise seen from outside; the solid is convex around the origin.
        inward = np.einsum("ij,ij->i", normals, corners.mean(axis=1)) < 0
        faces = np.where(inward[:, None], faces[:, ::-1], faces)
    else:
        points = parse_numbers(geom.vertex).reshape(-1, 3) * parse_numbers(geom.scale or "1 1 1")
        if geom.face:
            faces = np.array(geom.face.split(), dtype=np.int64).reshape(-1, 3)
        else:  # MuJoCo uses the convex hull
            vertices = " ".join(map(repr, points.ravel().tolist()))
            text = f"<mujoco><asset><mesh name='hull' vertex='{vertices}'/></asset></mujoco>"
            faces = np.asarray(mujoco.MjModel.from_xml_string(text).mesh_face, dtype=np.int64)
    position, rotation = _pose(geom.pos, geom.quat, geom.fromto)
    return _Surface(points, faces, points @ rotation.T + position)


def _solid(geom: _GeomText) -> tuple[Floats, NDArray[np.int64]]:
    """Return the triangles of a box or a round solid in its frame; vertices at sharp edges are duplicated."""
    kind, size = geom.kind, parse_numbers(geom.size)
    if kind == "box":
        square = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], dtype=np.float64)
        corners = [
            np.insert(square[:: int(side)], axis, side, axis=1) for axis in range(3) for side in (-1.0, 1.0)
        ]
        points = np.concatenate(corners) * size
        first = 4 * np.arange(6)[:, None]
        return points, np.concatenate([first + (0, 1, 2), first + (0, 2, 3)])
    if kind in ("sphere", "ellipsoid"):
        radii = size if kind == "ellipsoid" else np.repeat(size[0], 3)
        profile = [(float(np.sin(a)), float(-np.cos(a))) for a in np.linspace(0.0, np.pi, 9)]
        points, faces = _revolve([profile])
        return points * radii, faces
    radius = float(size[0])
    if geom.fromto:
        start, stop = parse_numbers(geom.fromto).reshape(2, 3)
        half = float(np.linalg.norm(stop - start)) / 2
    else:
        half = float(size[1])
    if kind == "cylinder":
        end = [(0.0, half), (radius, half)]
        sides = [[(radius, -half), (radius, half)], end, [(r, -z) for r, z in end]]
    else:
        arc = [(radius * float(np.cos(a)), radius * float(np.sin(a))) for a in np.linspace(0, np.pi / 2, 5)]
        sides = [[*((r, -half - z) for r, z in reversed(arc)), *((r, half + z) for r, z in arc)]]
    return _revolve(sides)


def _revolve(profiles: Sequence[Sequence[tuple[float, float]]]) -> tuple[Floats, NDArray[np.int64]]:
    """Return surfaces of revolution around z, each from its profile, given as (radius, z) pairs."""
    angles = np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False)
    points: list[Floats] = []
    faces: list[tuple[int, int, int]] = []
    for profile in profiles:
        start = len(points) * SIDES
        for number, (radius, z) in enumerate(profile):
            ring = (radius * np.cos(angles), radius * np.sin(angles), np.full(SIDES, z))
            points.append(np.stack(ring, axis=1))
            for side in range(SIDES if number else 0):
                a, b = (start + number * SIDES + corner for corner in (side, (side + 1) % SIDES))
                faces += [(a - SIDES, b - SIDES, b), (a - SIDES, b, a)]
    stacked = np.concatenate(points)
    corners = stacked[np.array(faces)]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return stacked, np.array(faces)[area > 1e-12]


def _axis(surface: _Surface) -> _Axis | None:
    """Return the axis of a mostly round surface, parallel to one of the body's axes; None if it is not round."""
    corners, normals, areas = _faces(surface)
    middles = corners.mean(axis=1)
    best: tuple[float, _Axis | None] = (_ROUND, None)
    for along in (2, 1, 0):
        across = tuple(axis for axis in range(3) if axis != along)
        flat = normals[:, across]
        steep = np.linalg.norm(flat, axis=1)
        side = steep > _STEEP
        if areas[side].sum() < 0.3 * areas.sum():
            continue
        away, points, weights = flat[side] / steep[side, None], middles[side][:, across], areas[side].copy()
        # Lines through the faces along their normals meet at the axis: solve for it by reweighted least squares, in
        # which faces whose normals are not radial, such as those of a handle, lose their weight.
        crossing = np.stack([away[:, 1], -away[:, 0]], axis=1)
        offset = np.einsum("ij,ij->i", crossing, points)
        for _ in range(4):
            matrix = np.einsum("i,ij,ik->jk", weights, crossing, crossing)
            if np.linalg.det(matrix) < 1e-4 * np.trace(matrix) ** 2:
                break
            centre = np.linalg.solve(matrix, np.einsum("i,i,ij->j", weights, offset, crossing))
            out = points - centre
            reach = np.maximum(np.linalg.norm(out, axis=1), 1e-9)
            radial = np.abs(np.einsum("ij,ij->i", out, away)) / reach > _RADIAL
            weights = areas[side] * np.where(radial, 1.0, 0.05)
        else:
            fraction = float(areas[side][radial].sum() / areas[side].sum())
            sectors = np.floor(np.arctan2(out[radial, 1], out[radial, 0]) / (np.pi / 4)).astype(int) % 8
            if fraction > best[0] and len(np.unique(sectors)) == 8:  # the surface goes all the way round
                radius = float(reach[radial].max())
                best = fraction, _Axis(along, (across[0], across[1]), centre, radius)
                if fraction > _CLEARLY_ROUND:
                    break
    return best[1]


def _coordinates(surface: _Surface, axes: Sequence[_Axis], low: Floats, tile: float) -> Floats:
    """Return the texture coordinates of every face's corners, in tiles, (m, 3, 2)."""
    corners, normals, _ = _faces(surface)
    nearest = np.abs(normals).argmax(axis=1)
    seen = corners - low
    # Axes of u and v for faces seen along x, y, z: chosen so that stripes, along v, continue from the top to the front.
    pairs = np.array([(1, 2), (0, 2), (1, 0)])[nearest]
    coordinates = np.take_along_axis(seen, np.repeat(pairs[:, None, :], 3, axis=1), axis=2) / tile
    free = np.ones(len(corners), dtype=bool)
    for axis in axes:
        out = corners[..., axis.across] - axis.centre
        away = normals[:, axis.across]
        steep = np.linalg.norm(away, axis=1)
        middle = out.mean(axis=1)
        reach = np.linalg.norm(middle, axis=1)
        radial = np.abs(np.einsum("ij,ij->i", middle, away)) > _RADIAL * steep * reach
        mine = free & (steep > _STEEP) & radial & (reach < 1.1 * axis.radius)
        angle = np.arctan2(out[mine, :, 1], out[mine, :, 0])
        first = angle[:, :1]
        angle = first + (angle - first + np.pi) % (2 * np.pi) - np.pi
        tiles = max(1, round(2 * np.pi * axis.radius / tile))
        coordinates[mine, :, 0] = angle / (2 * np.pi) * tiles
        coordinates[mine, :, 1] = seen[mine, :, axis.along] / tile
        free &= ~mine
    return coordinates


def _faces(surface: _Surface) -> tuple[Floats, Floats, Floats]:
    """Return the corners (m, 3, 3), unit normals (m, 3) and areas (m,) of the faces in the body's frame."""
    corners = surface.placed[surface.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.maximum(np.linalg.norm(normals, axis=1), 1e-15)
    return corners, normals / lengths[:, None], lengths / 2


def _normals(surface: _Surface) -> Floats:
    """Return area-weighted vertex normals, (n, 3), as MuJoCo computes them."""
    corners = surface.points[surface.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.zeros_like(surface.points)
    for corner in range(3):
        np.add.at(total, surface.faces[:, corner], normals)
    lengths = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(lengths > 0, total / np.maximum(lengths, 1e-15), (0.0, 0.0, 1.0))


def _pose(pos: str, quat: str, fromto: str) -> tuple[Floats, Floats]:
    """Return the position (3,) and rotation (3, 3) of a geom in the frame of its body."""
    rotation, turn = np.empty(9), np.empty(4)
    if fromto:
        start, end = parse_numbers(fromto).reshape(2, 3)
        position = (start + end) / 2
        mujoco.mju_quatZ2Vec(turn, (start - end) / np.linalg.norm(start - end))
    else:
        position, turn = parse_numbers(pos or "0 0 0"), parse_numbers(quat or "1 0 0 0")
    mujoco.mju_quat2Mat(rotation, turn / np.linalg.norm(turn))
    return position, rotation.reshape(3, 3)


def parse_numbers(text: str) -> Floats:
    """Parse the numbers in an MJCF attribute."""
    return np.array([float(word) for word in text.split()])
