"""Contents of the table: items with a shape, a texture and a pose. Pure data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Literal

import numpy as np
from scipy.spatial import ConvexHull

from assay.errors import TaskError, did_you_mean

Profile = Literal["circle", "square", ""]
_BAR = 0.2
"""Width of a letter's strokes, as a fraction of the letter."""


@dataclass(frozen=True, slots=True, eq=False)
class ConvexPiece:
    """One convex piece of a solid."""

    bottom: np.ndarray
    """Lower outline, counter-clockwise, in metres, (n, 2)."""
    top: np.ndarray
    """Upper outline with the same number of points, in metres, (n, 2)."""
    low: float
    """Height of the lower face, in metres."""
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Solid:
    """A shape that can have any texture; its origin is the centre of its underside."""

    pieces: tuple[ConvexPiece, ...]
    flat: bool = False
    """Whether the shape is a marking on the table: visible, without collisions."""
    container: bool = False
    profile: Profile = ""

    @property
    def radius(self) -> float:
        """The distance of the outermost point from the axis, in metres."""
        points = np.vstack([ring for piece in self.pieces for ring in (piece.bottom, piece.top)])
        return float(np.linalg.norm(points, axis=1).max())

    @property
    def height(self) -> float:
        """The height of the shape, in metres."""
        return max(piece.high for piece in self.pieces)

    @property
    def half_size(self) -> np.ndarray:
        """Half the extent along x and y, in metres, (2,)."""
        points = np.vstack([piece.bottom for piece in self.pieces])
        return np.asarray(np.abs(points).max(axis=0))


def _box(x: float, y: float, width: float, depth: float) -> np.ndarray:
    """Return the corners of a rectangle centred at (x, y)."""
    signs = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    return np.array([x, y]) + signs * (width / 2, depth / 2)


def _stroke(start: Sequence[float], end: Sequence[float], width: float = _BAR) -> np.ndarray:
    """Return the corners of a bar from one point to another."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    along = (b - a) / np.linalg.norm(b - a)
    side = np.array([-along[1], along[0]]) * width / 2
    return np.array([a - side, b - side, b + side, a + side])


def _regular(corners: int, radius: float = 0.5, turn: float = np.pi / 2) -> np.ndarray:
    angles = turn + np.arange(corners) * 2 * np.pi / corners
    return radius * np.column_stack([np.cos(angles), np.sin(angles)])


def _hull(points: np.ndarray) -> np.ndarray:
    return np.asarray(points[ConvexHull(points).vertices])


def _annulus(inner: float, outer: float, parts: int) -> list[np.ndarray]:
    a, b = _regular(parts, outer), _regular(parts, inner)
    return [np.array([a[i - 1], a[i], b[i], b[i - 1]]) for i in range(parts)]


def _bars(width: float, depth: float, bar: float, sides: str = "nesw") -> list[np.ndarray]:
    """Return the bars that form the given sides of a frame; north is -x, as in the tasks."""
    x, y = (width - bar) / 2, (depth - bar) / 2
    places = {
        "n": (-x, 0, bar, depth),
        "s": (x, 0, bar, depth),
        "w": (0, -y, width, bar),
        "e": (0, y, width, bar),
    }
    return [_box(*places[side]) for side in sides]


def _prism(outline: np.ndarray, high: float, low: float = 0.0) -> ConvexPiece:
    return ConvexPiece(outline, outline, low, high)


def _marking(outlines: list[np.ndarray], *, container: bool = False, profile: Profile = "") -> Solid:
    return Solid(tuple(_prism(outline, 0.0015) for outline in outlines), True, container, profile)


@cache
def solids() -> Mapping[str, Solid]:
    """Return all shapes by name; ``three-sided rectangle`` and ``line`` are one metre wide before scaling."""
    tips, notches = _regular(5), _regular(5, 0.22, np.pi / 2 + np.pi / 5)
    outlines: dict[str, tuple[list[np.ndarray], tuple[float, float, float]]] = {
        # Convex parts of the outline in any unit, and the size to which they are scaled: x, y, height in metres.
        "block": ([_box(0, 0, 1, 1)], (0.07, 0.07, 0.064)),
        "shorter block": ([_box(0, 0, 1, 1)], (0.07, 0.07, 0.027)),
        "small block": ([_box(0, 0, 1, 1)], (0.03, 0.03, 0.03)),
        "L-shaped block": ([_box(-0.3, 0, 0.4, 1), _box(0, -0.3, 1, 0.4)], (0.096, 0.096, 0.029)),
        "letter A": (
            [_stroke((-0.4, -0.5), (0, 0.45)), _stroke((0.4, -0.5), (0, 0.45)), _box(0, -0.15, 0.5, 0.18)],
            (0.09, 0.103, 0.033),
        ),
        "letter E": (
            [_box(-0.4, 0, 0.3, 1), *(_box(0, y, 1, 0.2) for y in (-0.4, 0, 0.4))],
            (0.065, 0.102, 0.033),
        ),
        "letter G": (
            [
                _box(-0.39, 0, 0.22, 1),
                *(_box(0, y, 1, 0.2) for y in (0.4, -0.4)),
                _box(0.4, -0.25, 0.2, 0.5),
                _box(0.25, -0.08, 0.4, 0.16),
            ],
            (0.082, 0.105, 0.033),
        ),
        "letter M": (
            [
                *(_box(x, 0, 0.2, 1) for x in (-0.4, 0.4)),
                *(_stroke((x, 0.42), (0, -0.1)) for x in (-0.4, 0.4)),
            ],
            (0.1, 0.097, 0.031),
        ),
        "letter R": (
            [
                _box(-0.37, 0, 0.26, 1),
                _box(0, 0.41, 0.9, 0.18),
                _box(0.37, 0.22, 0.26, 0.5),
                _box(0, 0.02, 0.9, 0.18),
                _stroke((0, 0), (0.36, -0.45), 0.25),
            ],
            (0.075, 0.102, 0.033),
        ),
        "letter T": ([_box(0, 0.39, 1, 0.22), _box(0, 0, 0.24, 1)], (0.108, 0.108, 0.033)),
        "letter V": ([_stroke((x, 0.5), (0, -0.42)) for x in (-0.4, 0.4)], (0.085, 0.102, 0.033)),
        "cross": ([_box(0, 0, 1, 0.34), _box(0, 0, 0.34, 1)], (0.096, 0.096, 0.029)),
        "diamond": ([_regular(4)], (0.12, 0.096, 0.029)),
        "triangle": ([_regular(3)], (0.108, 0.096, 0.029)),
        "flower": (
            [_regular(10, 0.24) + spot for spot in _regular(4, 0.27, 0.0)] + [_regular(4, 0.3)],
            (0.108, 0.108, 0.033),
        ),
        "heart": (
            [
                _hull(np.vstack([_regular(14, 0.27) + (side * 0.23, 0.2), [(0, -0.5), (0, 0.2)]]))
                for side in (-1, 1)
            ],
            (0.103, 0.095, 0.033),
        ),
        "hexagon": ([_regular(6)], (0.094, 0.108, 0.033)),
        "pentagon": ([_regular(5)], (0.103, 0.098, 0.033)),
        "star": (
            [np.array([(0.0, 0.0), notches[i - 1], tips[i], notches[i]]) for i in range(5)],
            (0.112, 0.109, 0.033),
        ),
        "ring": (_annulus(0.27, 0.5, 10), (0.096, 0.096, 0.029)),
        "round": ([_regular(20)], (0.096, 0.096, 0.029)),
    }
    profiles: dict[str, Profile] = {"ring": "circle", "round": "circle"}
    profiles |= dict.fromkeys(("block", "shorter block", "small block"), "square")
    shapes: dict[str, Solid] = {}
    for name, (parts, size) in outlines.items():
        points = np.vstack(parts)
        low, high = points.min(axis=0), points.max(axis=0)
        fitted = [(part - (low + high) / 2) / (high - low) * size[:2] for part in parts]
        shapes[name] = Solid(tuple(_prism(part, size[2]) for part in fitted), profile=profiles.get(name, ""))
    return shapes | {
        "bowl": Solid(
            (
                _prism(_regular(12, 0.062), 0.006),
                *(
                    ConvexPiece(foot, rim, 0.0, 0.06)
                    for foot, rim in zip(_annulus(0.055, 0.062, 12), _annulus(0.088, 0.1, 12), strict=True)
                ),
            ),
            container=True,
            profile="circle",
        ),
        "pan": Solid(
            (
                _prism(_regular(12, 0.085), 0.005),
                *(_prism(outline, 0.03) for outline in _annulus(0.076, 0.085, 12)),
                _prism(_box(0.12, 0, 0.075, 0.026), 0.03, 0.015),
            ),
            container=True,
            profile="circle",
        ),
        "pallet": Solid(
            (
                *(_prism(_box(x, 0, 0.034, 0.175), 0.022, 0.014) for x in (-0.088, -0.044, 0, 0.044, 0.088)),
                *(_prism(_box(0, y, 0.21, 0.02), 0.014) for y in (-0.0775, 0, 0.0775)),
            ),
            container=True,
            profile="square",
        ),
        "frame": _marking(_bars(0.18, 0.18, 0.014), container=True, profile="square"),
        "container": Solid(
            (
                _prism(_box(0, 0, 0.16, 0.16), 0.003),
                *(_prism(bar, 0.045) for bar in _bars(0.16, 0.16, 0.006)),
            ),
            container=True,
            profile="square",
        ),
        "square": _marking(_bars(0.24, 0.24, 0.04), container=True, profile="square"),
        "three-sided rectangle": _marking(_bars(1.0, 1.0, 0.07, "nwe")),
        "line": _marking([_box(0, 0, 1.0, 1.0)]),
    }


@cache
def solid(name: str, size: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Solid:
    """Return the shape with the given name, scaled along x, y and z. Raise TaskError if the name is unknown."""
    shapes = solids()
    if name not in shapes:
        raise TaskError(f"unknown shape '{name}': {did_you_mean(name, shapes)}")
    scale, up = np.array(size[:2]), size[2]
    pieces = tuple(
        ConvexPiece(piece.bottom * scale, piece.top * scale, piece.low * up, piece.high * up)
        for piece in shapes[name].pieces
    )
    return replace(shapes[name], pieces=pieces)


X_LOW, X_HIGH, Y_LOW, Y_HIGH = 0.25, 0.75, -0.5, 0.5
"""Bounds of the workspace, in metres: x points away from the robot, y sideways."""


class Tool(StrEnum):
    """The robot's tool."""

    SUCTION = "suction"
    SPATULA = "spatula"


@dataclass(frozen=True, slots=True)
class TableItem:
    """One object on the table."""

    name: str
    """Name, unique in the scene, such as ``dragged_obj``."""
    shape: str
    """Name of the shape, one of `solids`."""
    texture: str
    x: float
    """Position along x, in metres."""
    y: float
    yaw: float = 0.0
    """Yaw, in radians, counter-clockwise seen from above."""
    z: float = 0.0
    """Height of the underside, in metres."""
    size: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Scale factors along the item's x, y and z axes."""
    fixed: bool = False
    """Whether the item is part of the table and cannot be moved or picked up."""

    @property
    def solid(self) -> Solid:
        """The item's geometry."""
        return solid(self.shape, self.size)

    @property
    def radius(self) -> float:
        """Radius of the circle that the item needs on the table, in metres."""
        return self.solid.radius

    @property
    def words(self) -> str:
        """Description of the item, for example ``tiger letter A``."""
        return f"{self.texture} {self.shape}"

    def at(self, x: float, y: float, yaw: float | None = None, z: float = 0.0) -> TableItem:
        """Return the same item at another pose."""
        return replace(self, x=x, y=y, z=z, yaw=self.yaw if yaw is None else yaw)


@dataclass(frozen=True, slots=True)
class TableScene:
    """All items on the table, in the order in which policies see them."""

    items: tuple[TableItem, ...]
    tool: Tool = Tool.SUCTION
    table: bool = True
    """Whether the table is drawn; otherwise objects are shown on a white background."""

    def __post_init__(self) -> None:
        names = [item.name for item in self.items]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise TaskError(f"the scene has more than one item named '{twice}'; names must be unique")

    def item(self, name: str) -> TableItem:
        """Return the item with the given name."""
        return self.items[self.index(name)]

    def index(self, name: str) -> int:
        """Return the index of the item with the given name. Raise TaskError for an unknown name."""
        for index, item in enumerate(self.items):
            if item.name == name:
                return index
        valid = ", ".join(item.name for item in self.items)
        raise TaskError(f"the scene has no item '{name}'; it has: {valid}")
