"""Surfaces for the eye: turned, swept and boxed meshes with few faces.

Lengths are millimetres. Faces are counter-clockwise seen from outside; edges that should look sharp do not
share vertices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Point = tuple[float, float, float]

SEGMENTS = 20
"""Sides of a round thing."""

_SHARP = math.cos(math.radians(35.0))
"""Cosine of the turn of a profile above which its edge is drawn sharp."""


class Mesh(NamedTuple):
    """Triangles."""

    vertices: NDArray[np.float64]
    """Points, shape (n, 3), millimetres."""
    faces: NDArray[np.int64]
    """Indices of corners, shape (m, 3)."""


class Section(NamedTuple):
    """One horizontal cut through a turned thing: an ellipse, or a point on the axis."""

    z: float
    rx: float
    ry: float


def join(*meshes: Mesh) -> Mesh:
    """All the triangles of ``meshes`` as one mesh."""
    offsets = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([mesh.faces + offset for mesh, offset in zip(meshes, offsets, strict=True)]),
    )


def quads(corners: Sequence[Sequence[Point]]) -> Mesh:
    """Flat quadrilaterals, each given by its four corners counter-clockwise."""
    vertices = np.asarray(corners, dtype=np.float64).reshape(-1, 3)
    first = np.arange(0, len(vertices), 4)[:, None]
    faces = np.concatenate([first + np.array([0, 1, 2]), first + np.array([0, 2, 3])])
    return Mesh(vertices, faces)


def prism(lower: Sequence[Point], upper: Sequence[Point]) -> Mesh:
    """A block between two quadrilaterals, both counter-clockwise seen from above."""
    sides = [(lower[i], lower[(i + 1) % 4], upper[(i + 1) % 4], upper[i]) for i in range(4)]
    return quads([tuple(upper), tuple(reversed(lower)), *sides])


def cuboid(lo: Point, hi: Point) -> Mesh:
    """An axis-aligned box between two opposite corners."""
    outline = ((lo[0], lo[1]), (hi[0], lo[1]), (hi[0], hi[1]), (lo[0], hi[1]))
    return prism([(x, y, lo[2]) for x, y in outline], [(x, y, hi[2]) for x, y in outline])


def loft(
    sections: Sequence[Section],
    centre: tuple[float, float] = (0.0, 0.0),
    *,
    segments: int = SEGMENTS,
    arc: tuple[float, float] = (0.0, 2.0 * math.pi),
    faceted: bool = False,
) -> Mesh:
    """A surface through ``sections``, in the order that keeps the outside on the right.

    Going up draws the outside of a thing, going down its inside. ``arc`` is the range of angles about the
    axis, radians; ``faceted`` keeps the edges between the segments sharp.
    """
    if faceted:
        step = (arc[1] - arc[0]) / segments
        slices = [
            loft(sections, centre, segments=1, arc=(arc[0] + i * step, arc[0] + (i + 1) * step))
            for i in range(segments)
        ]
        return join(*slices)
    angles = np.linspace(arc[0], arc[1], segments + 1)
    strips = [_strip(sections[start : stop + 1], centre, angles) for start, stop in _smooth_runs(sections)]
    return join(*strips)


def _smooth_runs(sections: Sequence[Section]) -> list[tuple[int, int]]:
    """First and last index of the stretches of a profile that have no sharp edge inside."""
    steps = [np.array([b.rx - a.rx, b.z - a.z]) for a, b in pairwise(sections)]
    runs, start = [], 0
    for i, (before, after) in enumerate(pairwise(steps), start=1):
        lengths = float(np.linalg.norm(before) * np.linalg.norm(after))
        if lengths == 0.0 or float(before @ after) / lengths < _SHARP:
            runs.append((start, i))
            start = i
    return [*runs, (start, len(sections) - 1)]


def _strip(sections: Sequence[Section], centre: tuple[float, float], angles: NDArray[np.float64]) -> Mesh:
    """The bands between consecutive ``sections``, with shared vertices."""
    across = len(angles)
    rings = [
        np.stack(
            [
                centre[0] + section.rx * np.cos(angles),
                centre[1] + section.ry * np.sin(angles),
                np.full(across, section.z),
            ],
            axis=1,
        )
        for section in sections
    ]
    faces = []
    for i, (below, above) in enumerate(pairwise(sections)):
        for j in range(across - 1):
            a, b = i * across + j, i * across + j + 1
            c, d = b + across, a + across
            if below.rx > 0.0:
                faces.append((a, b, c))
            if above.rx > 0.0:
                faces.append((a, c, d))
    return _merge_seam(Mesh(np.concatenate(rings), np.array(faces)), across)


def _merge_seam(mesh: Mesh, across: int) -> Mesh:
    """Let the last vertex of each closed ring be its first, so that no seam shows."""
    first, last = mesh.vertices[0::across], mesh.vertices[across - 1 :: across]
    if not np.allclose(first, last):
        return mesh
    faces = np.where(mesh.faces % across == across - 1, mesh.faces - (across - 1), mesh.faces)
    return Mesh(mesh.vertices, faces)


def turned(
    profile: Sequence[tuple[float, float]],
    centre: tuple[float, float] = (0.0, 0.0),
    *,
    segments: int = SEGMENTS,
    faceted: bool = False,
) -> Mesh:
    """A round thing from its ``profile`` of (radius, z)."""
    sections = [Section(z, r, r) for r, z in profile]
    return loft(sections, centre, segments=segments, faceted=faceted)


def sweep(path: Sequence[Point], width: float, thickness: float) -> Mesh:
    """A bar of octagonal section along ``path``, which lies in an upright plane.

    ``width`` is measured across that plane, ``thickness`` within it.
    """
    points = np.asarray(path, dtype=np.float64)
    tangents = np.gradient(points, axis=0)
    tangents /= np.linalg.norm(tangents, axis=1, keepdims=True)
    level = (points - points[0]) * [1.0, 1.0, 0.0]
    side = np.cross([0.0, 0.0, 1.0], level[np.argmax(np.linalg.norm(level, axis=1))])
    side /= np.linalg.norm(side)
    out = np.cross(tangents, side)
    angles = np.linspace(0.0, 2.0 * math.pi, 8, endpoint=False)
    rings = (
        points[:, None, :]
        + width / 2 * np.cos(angles)[None, :, None] * side
        + thickness / 2 * np.sin(angles)[None, :, None] * out[:, None, :]
    )
    faces = []
    for i in range(len(path) - 1):
        for j in range(8):
            a, b = i * 8 + j, i * 8 + (j + 1) % 8
            faces += [(a, b, b + 8), (a, b + 8, a + 8)]
    last = (len(path) - 1) * 8
    for j in range(1, 7):
        faces += [(0, j + 1, j), (last, last + j, last + j + 1)]
    return Mesh(rings.reshape(-1, 3), np.array(faces))
