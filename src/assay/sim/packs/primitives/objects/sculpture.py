"""A movable object in the making: what collides, what is drawn, what it weighs.

Everything collides as boxes, because boxes rest on boxes with four contacts and a gripper's pads lie flat
on them. Lengths here and in the families of objects are millimetres and masses grams, read as from a ruler
and a scale; the document that comes out is in metres and kilograms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from assay.sim.packs.primitives import shapes
from assay.sim.packs.primitives.objects.meshes import Mesh, Point, join
from assay.sim.packs.primitives.shapes import Rgba

Quaternion = tuple[float, float, float, float]

RECESS = 0.3
"""How far parts that should carry no weight stay above the base, millimetres."""

_MILLIMETRE = 1e-3
_GRAM = 1e-3
_UPRIGHT: Quaternion = (1.0, 0.0, 0.0, 0.0)
_TIPPED: Quaternion = (math.sqrt(0.5), -math.sqrt(0.5), 0.0, 0.0)
"""Turns z, the upward axis of a sculpture, into y, the upward axis of some objects."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What an object has in common with the real one, besides its outline."""

    mass: float
    """Grams."""
    bottom: float = -60.0
    """Height of the bottom site, millimetres."""
    top: float = 40.0
    """Height of the top site, millimetres."""
    radius: float = 25.0
    """Radius of the footprint, millimetres."""
    tipped: bool = False
    """Whether the y axis of the object points up when it stands, instead of z."""


@dataclass(frozen=True, slots=True)
class _Box:
    """A box that collides: half lengths, centre (millimetres) and orientation, and its relative density."""

    half: Point
    centre: Point
    quat: Quaternion
    heaviness: float

    @property
    def weight(self) -> float:
        """Volume times relative density."""
        return 8.0 * math.prod(self.half) * self.heaviness


class Sculpture:
    """Collects boxes, drawings and regions in an upright frame and writes them in the object's frame."""

    def __init__(self, category: str, facts: Facts) -> None:
        self._category = category
        self._facts = facts
        self._boxes: list[_Box] = []
        self._drawings: dict[Rgba, list[Mesh]] = {}
        self._regions: list[tuple[str, Point, Point, Quaternion]] = []

    def box(self, half: Point, centre: Point, quat: Quaternion = _UPRIGHT, *, heaviness: float = 1.0) -> None:
        """Add a box that collides. ``heaviness`` is its density relative to the other boxes."""
        self._boxes.append(_Box(half, centre, quat, heaviness))

    def block(self, lo: Point, hi: Point, *, heaviness: float = 1.0) -> None:
        """Add an axis-aligned box that collides, between two opposite corners."""
        x, y, z = ((a + b) / 2 for a, b in zip(lo, hi, strict=True))
        hx, hy, hz = ((b - a) / 2 for a, b in zip(lo, hi, strict=True))
        self.box((hx, hy, hz), (x, y, z), heaviness=heaviness)

    def beam(
        self, start: Point, end: Point, *, width: float, thickness: float, heaviness: float = 1.0
    ) -> None:
        """Add a box that collides, from one point to another.

        ``width`` is measured level and across it, ``thickness`` in the upright plane through both points.
        """
        along = np.subtract(end, start)
        length = float(np.linalg.norm(along))
        heading = math.atan2(along[1], along[0]) if np.any(np.abs(along[:2]) > 1e-9) else 0.0
        pitch = math.asin(float(along[2]) / length)
        x, y, z = ((a + b) / 2 for a, b in zip(start, end, strict=True))
        turn = _product(about("z", heading), about("y", -pitch))
        self.box((length / 2, width / 2, thickness / 2), (x, y, z), turn, heaviness=heaviness)

    def octagon(
        self,
        apothem: float,
        z: tuple[float, float],
        centre: tuple[float, float] = (0.0, 0.0),
        *,
        heaviness: float = 1.0,
    ) -> None:
        """Add an upright octagonal column that collides: four boxes, of which two carry the weight."""
        half_side = apothem * math.tan(math.pi / 8)
        for i in range(4):
            low = z[0] + (RECESS if i % 2 else 0.0)
            self.box(
                (apothem, half_side, (z[1] - low) / 2),
                (*centre, (z[1] + low) / 2),
                about("z", i * math.pi / 4),
                heaviness=heaviness,
            )

    def ring(
        self,
        r: tuple[float, float],
        z: tuple[float, float],
        thickness: float,
        *,
        pieces: int,
        centre: tuple[float, float] = (0.0, 0.0),
        heaviness: float = 1.0,
    ) -> None:
        """Add a wall that collides: planks in a ring, leaning outwards.

        ``r`` is the least and greatest distance of its surface from the axis, at the middle of a plank, and
        ``z`` its lowest and highest point.
        """
        lean, length = _inscribed(r[1] - r[0], z[1] - z[0], thickness)
        middle = (r[0] + r[1]) / 2
        half_width = r[1] * math.tan(math.pi / pieces)
        for i in range(pieces):
            angle = 2.0 * math.pi * i / pieces
            self.box(
                (thickness / 2, half_width, length / 2),
                (
                    centre[0] + middle * math.cos(angle),
                    centre[1] + middle * math.sin(angle),
                    (z[0] + z[1]) / 2,
                ),
                _product(about("z", angle), about("y", lean)),
                heaviness=heaviness,
            )

    def draw(self, rgba: Rgba, *meshes: Mesh) -> None:
        """Add surfaces that are drawn in one colour."""
        self._drawings.setdefault(rgba, []).extend(meshes)

    def region(self, name: str, half: Point, centre: Point, quat: Quaternion = _UPRIGHT) -> None:
        """Add a region that atoms can name; upright objects only."""
        self._regions.append((name, half, centre, quat))

    def document(self) -> Element:
        """The finished ``<mujoco>`` document."""
        facts = self._facts
        root, asset, body = shapes.entity(
            self._category,
            bottom=facts.bottom * _MILLIMETRE,
            top=facts.top * _MILLIMETRE,
            radius=facts.radius * _MILLIMETRE,
        )
        for name, half, centre, quat in self._regions:
            shapes.region(body, name, _metres(half), _metres(centre), quat=quat)
        density = facts.mass * _GRAM / (sum(box.weight for box in self._boxes) * _MILLIMETRE**3)
        frame = _TIPPED if facts.tipped else _UPRIGHT
        for box in self._boxes:
            shapes.solid(
                body,
                "box",
                _metres(box.half),
                _metres(self._placed(np.asarray(box.centre))),
                rgba=(0.8, 0.8, 0.8, 1.0),
                quat=_product(frame, box.quat),
                density=density * box.heaviness,
                drawn=False,
            )
        for i, (rgba, meshes) in enumerate(self._drawings.items()):
            mesh = join(*meshes)
            vertices = self._placed(mesh.vertices) * _MILLIMETRE
            shapes.drawn_mesh(asset, body, f"coat{i}", vertices.tolist(), mesh.faces.tolist(), rgba=rgba)
        return root

    def _placed(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points of the upright frame, shape (..., 3), in the object's frame."""
        if not self._facts.tipped:
            return points
        return np.stack([points[..., 0], points[..., 2], -points[..., 1]], axis=-1)


def _metres(lengths: Point | NDArray[np.float64]) -> list[float]:
    return [float(length) * _MILLIMETRE for length in lengths]


def about(axis: str, angle: float) -> Quaternion:
    """A rotation about one axis."""
    s = math.sin(angle / 2)
    return math.cos(angle / 2), s * (axis == "x"), s * (axis == "y"), s * (axis == "z")


def _product(a: Quaternion, b: Quaternion) -> Quaternion:
    """The rotation ``b`` followed by ``a``."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def _inscribed(run: float, rise: float, thickness: float) -> tuple[float, float]:
    """Lean (radians from upright) and length of a plank whose section just fills ``run`` by ``rise``.

    Its length l and lean a satisfy run = l sin a + t cos a and rise = l cos a + t sin a; eliminating l leaves
    run cos a - rise sin a = t cos 2a, which is solved by bisection between upright and flat.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        lean = (low + high) / 2
        if run * math.cos(lean) - rise * math.sin(lean) > thickness * math.cos(2.0 * lean):
            low = lean
        else:
            high = lean
    return lean, (rise - thickness * math.sin(lean)) / math.cos(lean)
