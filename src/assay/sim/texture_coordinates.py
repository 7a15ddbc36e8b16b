"""Texture coordinates for drawn geoms, so that a pattern lies on them as on paper they were wrapped in.

MuJoCo has texture coordinates for meshes only, and only those that a mesh brings along: on everything else it
projects a picture along one axis, which smears it over the sides. So every drawn geom, meshes of the document and
boxes, cylinders, capsules, spheres and ellipsoids, becomes a mesh with coordinates: around its axis where a surface
is round, else as seen along the nearest axis. Meshes in files keep their own coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TILE = 0.6
"""The side of a pattern's tile, as a share of the size of what it is on."""
TILES = (0.05, 0.14)
"""The least and the greatest side of a tile, metres."""
ROOM = 4
"""How many tiles go at most onto what is larger than that, such as a wall."""
SIDES = 20
"""Of a cylinder that is drawn as a mesh."""
_RADIAL = 0.92
"""Cosine of the angle to the radius up to which a face counts as one of a round surface."""
_STEEP = 0.5
"""How much of a face's normal is across the axis, of a round surface's side; else it is one of its ends."""
_TURNED = frozenset({"euler", "axisangle", "xyaxes", "zaxis"})
_ROUND = 0.6
"""The share of a geom's sides that must look away from its axis, for it to be round."""


class _Surface(NamedTuple):
    """The triangles of a geom."""

    points: Floats
    """(n, 3), metres, as the mesh has them."""
    faces: NDArray[np.int64]
    """(m, 3)."""
    placed: Floats
    """The same points in the frame of the geom's body, (n, 3)."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """What a round surface goes around."""

    along: int
    """0, 1 or 2: x, y or z."""
    across: tuple[int, int]
    centre: Floats
    """(2,), metres."""
    radius: float
    """The greatest, metres."""


def wrap(root: Element, geoms: Sequence[Element], *, whole: bool = False) -> list[Element]:
    """Give drawn geoms of a document texture coordinates that count tiles; returns those that have them now.

    ``whole``: half a tile goes over all of it, for a picture that is not to be repeated.
    """
    assets = root.find("asset")
    assert assets is not None
    meshes = {str(mesh.get("name")): mesh for mesh in assets.iter("mesh")}
    surfaces = {id(geom): surface for geom in geoms if (surface := _surface(geom, meshes)) is not None}
    if not surfaces:
        return []
    extent = np.max([np.sort(np.ptp(each.placed, axis=0)) for each in surfaces.values()], axis=0)
    tile = 2.0 * float(extent[2]) if whole else _tile(float(np.sqrt(extent[1] * extent[2])))
    for body in root.iter():
        own = [geom for geom in body.iterfind("geom") if id(geom) in surfaces]
        if own:
            placed = [surfaces[id(geom)] for geom in own]
            axes = [axis for surface in placed if (axis := _axis(surface)) is not None]
            axes.sort(key=lambda axis: -axis.radius)
            low = np.min([surface.placed.min(axis=0) for surface in placed], axis=0)
            for geom, surface in zip(own, placed, strict=True):
                _textured(assets, geom, surface, _coordinates(surface, axes, low, tile))
    return [geom for geom in geoms if id(geom) in surfaces]


def _tile(size: float) -> float:
    """The side of a tile on something of a size, metres."""
    least, most = TILES
    return max(min(max(size * TILE, least), most), size / ROOM)


def _textured(assets: Element, geom: Element, surface: _Surface, coordinates: Floats) -> None:
    """Draw a geom as a mesh of its own, whose triangles share no corners."""
    name = f"{geom.get('name', geom.get('mesh', 'geom'))}_textured_{len(assets)}"
    corners = surface.faces.ravel()
    given = {
        "vertex": surface.points[corners],
        "normal": _normals(surface)[corners],
        "texcoord": coordinates.reshape(-1, 2),
    }
    SubElement(
        assets,
        "mesh",
        {"name": name, "inertia": "shell", "face": " ".join(map(str, range(len(corners))))}
        | {key: " ".join(f"{value:.6g}" for value in values.ravel()) for key, values in given.items()},
    )
    if geom.get("type") != "mesh":
        position, rotation = _pose(geom)
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, rotation.ravel())
        geom.set("pos", " ".join(map(repr, position.tolist())))
        geom.set("quat", " ".join(map(repr, quat.tolist())))
        for attribute in ("size", "fromto"):
            geom.attrib.pop(attribute, None)
    geom.set("type", "mesh")
    geom.set("mesh", name)


def _surface(geom: Element, meshes: dict[str, Element]) -> _Surface | None:
    """The triangles of a geom; None for a mesh in a file, a plane, what collides, and what no quaternion turns."""
    if geom.get("contype") != "0" or geom.get("conaffinity") != "0" or _TURNED.intersection(geom.attrib):
        return None
    kind = geom.get("type", "sphere")
    if kind == "mesh":
        mesh = meshes[str(geom.get("mesh"))]
        if "vertex" not in mesh.attrib:
            return None
        points = _numbers(mesh.attrib["vertex"]).reshape(-1, 3) * _numbers(mesh.get("scale", "1 1 1"))
        given = mesh.get("face")
        faces = _hull(points) if given is None else np.array(given.split(), dtype=np.int64).reshape(-1, 3)
    elif kind in ("box", "cylinder", "capsule", "sphere", "ellipsoid"):
        points, faces = _solid(kind, geom)
    else:
        return None
    position, rotation = _pose(geom)
    return _Surface(points, faces, points @ rotation.T + position)


def _hull(points: Floats) -> NDArray[np.int64]:
    """The faces that MuJoCo gives a mesh of points alone: those of their convex hull, (m, 3)."""
    vertices = " ".join(map(repr, points.ravel().tolist()))
    text = f"<mujoco><asset><mesh name='hull' vertex='{vertices}'/></asset></mujoco>"
    return np.asarray(mujoco.MjModel.from_xml_string(text).mesh_face, np.int64)


def _solid(kind: str, geom: Element) -> tuple[Floats, NDArray[np.int64]]:
    """A box or a round solid as triangles, in its own frame; where it has an edge, points are there twice."""
    size = _numbers(geom.attrib["size"])
    if kind == "box":
        square = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], dtype=np.float64)
        corners = [
            np.insert(square[:: int(side)], axis, side, axis=1) for axis in range(3) for side in (-1.0, 1.0)
        ]
        points = np.concatenate(corners) * size
        first = 4 * np.arange(6)[:, None]
        faces = np.concatenate([first + (0, 1, 2), first + (0, 2, 3)])
        return points, _outwards(points, faces)
    if kind in ("sphere", "ellipsoid"):
        radii = size if kind == "ellipsoid" else np.repeat(size[0], 3)
        profile = [(float(np.sin(a)), float(-np.cos(a))) for a in np.linspace(0.0, np.pi, 9)]
        points, faces = _turned([profile])
        return points * radii, _outwards(points * radii, faces)
    radius, half = float(size[0]), _half_length(geom, size)
    if kind == "cylinder":
        end = [(0.0, half), (radius, half)]
        sides = [[(radius, -half), (radius, half)], end, [(r, -z) for r, z in end]]
    else:
        arc = [(radius * float(np.cos(a)), radius * float(np.sin(a))) for a in np.linspace(0, np.pi / 2, 5)]
        sides = [[*((r, -half - z) for r, z in reversed(arc)), *((r, half + z) for r, z in arc)]]
    points, faces = _turned(sides)
    return points, _outwards(points, faces)


def _turned(profiles: Sequence[Sequence[tuple[float, float]]]) -> tuple[Floats, NDArray[np.int64]]:
    """Surfaces around z, each from its profile of (radius, z)."""
    angles = np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False)
    points: list[Floats] = []
    faces: list[tuple[int, int, int]] = []
    for profile in profiles:
        start = len(points) * SIDES
        for number, (radius, z) in enumerate(profile):
            ring = (radius * np.cos(angles), radius * np.sin(angles), np.full(SIDES, z))
            points.append(np.stack(ring, axis=1))
            for side in range(SIDES if number else 0):
                a, b = (start + number * SIDES + each for each in (side, (side + 1) % SIDES))
                faces += [(a - SIDES, b - SIDES, b), (a - SIDES, b, a)]
    stacked = np.concatenate(points)
    corners = stacked[np.array(faces)]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return stacked, np.array(faces)[area > 1e-12]


def _outwards(points: Floats, faces: NDArray[np.int64]) -> NDArray[np.int64]:
    """Faces of a convex solid about the origin, turned so that they are counter-clockwise from outside."""
    corners = points[faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", normals, corners.mean(axis=1)) < 0
    return np.where(inward[:, None], faces[:, ::-1], faces)


def _axis(surface: _Surface) -> _Axis | None:
    """The axis that most of a surface goes around, parallel to one of its body's axes; None if there is none."""
    corners, normals, areas = _faces(surface)
    middles = corners.mean(axis=1)
    best: tuple[float, _Axis | None] = (_ROUND, None)
    for along in range(3):
        across = tuple(axis for axis in range(3) if axis != along)
        flat = normals[:, across]
        steep = np.linalg.norm(flat, axis=1)
        side = steep > _STEEP
        if areas[side].sum() < 0.3 * areas.sum():
            continue
        away, points, weights = flat[side] / steep[side, None], middles[side][:, across], areas[side].copy()
        # The lines through the faces along their normals meet in the axis; a handle's do not, and soon weigh little.
        crossing = np.stack([away[:, 1], -away[:, 0]], axis=1)
        offset = np.einsum("ij,ij->i", crossing, points)
        for _ in range(4):
            matrix = np.einsum("i,ij,ik->jk", weights, crossing, crossing)
            if np.linalg.cond(matrix) > 1e4:
                break
            centre = np.linalg.solve(matrix, np.einsum("i,i,ij->j", weights, offset, crossing))
            out = points - centre
            reach = np.maximum(np.linalg.norm(out, axis=1), 1e-9)
            radial = np.abs(np.einsum("ij,ij->i", out, away)) / reach > _RADIAL
            weights = areas[side] * np.where(radial, 1.0, 0.05)
        else:
            share = float(areas[side][radial].sum() / areas[side].sum())
            if share > best[0] and _goes_round(out[radial]):
                radius = float(reach[radial].max())
                best = share, _Axis(along, (across[0], across[1]), centre, radius)
    return best[1]


def _goes_round(out: Floats) -> bool:
    """Whether points (n, 2) lie on all sides of the origin: in each of eight sectors."""
    sectors = np.floor(np.arctan2(out[:, 1], out[:, 0]) / (np.pi / 4)).astype(int) % 8
    return len(np.unique(sectors)) == 8


def _coordinates(surface: _Surface, axes: Sequence[_Axis], low: Floats, tile: float) -> Floats:
    """The texture coordinates of every face's corners, (m, 3, 2), in tiles."""
    corners, normals, _ = _faces(surface)
    nearest = np.abs(normals).argmax(axis=1)
    seen = corners - low
    # Seen along x, y, z: u and v. Stripes, along v, run over the edge between the top and the front.
    pairs = np.array([(1, 2), (0, 2), (1, 0)])[nearest]
    found = np.take_along_axis(seen, np.repeat(pairs[:, None, :], 3, axis=1), axis=2) / tile
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
        found[mine, :, 0] = angle / (2 * np.pi) * tiles
        found[mine, :, 1] = seen[mine, :, axis.along] / tile
        free &= ~mine
    return found


def _faces(surface: _Surface) -> tuple[Floats, Floats, Floats]:
    """Corners (m, 3, 3), unit normals (m, 3) and areas (m,) of a surface's faces in its body's frame."""
    corners = surface.placed[surface.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.maximum(np.linalg.norm(normals, axis=1), 1e-15)
    return corners, normals / lengths[:, None], lengths / 2


def _normals(surface: _Surface) -> Floats:
    """The normals at a mesh's points, (n, 3): faces' normals by their areas, as MuJoCo's own."""
    corners = surface.points[surface.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.zeros_like(surface.points)
    for corner in range(3):
        np.add.at(total, surface.faces[:, corner], normals)
    lengths = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(lengths > 0, total / np.maximum(lengths, 1e-15), (0.0, 0.0, 1.0))


def _pose(geom: Element) -> tuple[Floats, Floats]:
    """Position (3,) and rotation (3, 3) of a geom in its body."""
    rotation = np.empty(9)
    if "fromto" in geom.attrib:
        start, end = _numbers(geom.attrib["fromto"]).reshape(2, 3)
        quat = np.empty(4)
        mujoco.mju_quatZ2Vec(quat, (start - end) / np.linalg.norm(start - end))
        mujoco.mju_quat2Mat(rotation, quat)
        return (start + end) / 2, rotation.reshape(3, 3)
    quat = _numbers(geom.get("quat", "1 0 0 0"))
    mujoco.mju_quat2Mat(rotation, quat / np.linalg.norm(quat))
    return _numbers(geom.get("pos", "0 0 0")), rotation.reshape(3, 3)


def _half_length(geom: Element, size: Floats) -> float:
    if "fromto" in geom.attrib:
        start, end = _numbers(geom.attrib["fromto"]).reshape(2, 3)
        return float(np.linalg.norm(end - start)) / 2
    return float(size[1])


def _numbers(text: str) -> Floats:
    return np.array([float(word) for word in text.split()])
