"""Markings that lie on a surface: patches, discs and letters made of small rectangles.

A marking is laid out on paper, ``u`` to the right and ``v`` up, in millimetres; a `Place` says where a point
of the paper is on the thing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from assay.sim.packs.primitives.objects.meshes import Mesh, Point, join, quads

Place = Callable[[float, float], Point]

LIFT = 0.4
"""How far a marking is above the surface it lies on, millimetres: enough for a depth buffer."""

_GLYPHS = {
    "A": "010 101 111 101 101",
    "B": "110 101 110 101 110",
    "C": "011 100 100 100 011",
    "D": "110 101 101 101 110",
    "E": "111 100 110 100 111",
    "F": "111 100 110 100 100",
    "G": "011 100 101 101 011",
    "H": "101 101 111 101 101",
    "I": "1 1 1 1 1",
    "K": "101 101 110 101 101",
    "L": "100 100 100 100 111",
    "M": "10001 11011 10101 10001 10001",
    "N": "1001 1101 1011 1001 1001",
    "O": "010 101 101 101 010",
    "P": "110 101 110 100 100",
    "Q": "010 101 101 111 011",
    "R": "110 101 110 101 101",
    "S": "011 100 010 001 110",
    "T": "111 010 010 010 010",
    "U": "101 101 101 101 111",
    "Y": "101 101 010 010 010",
    " ": "00 00 00 00 00",
}


def plane(centre: Point, right: Point, up: Point) -> Place:
    """A flat sheet through ``centre``, lifted towards ``right`` x ``up``; both are unit vectors."""
    middle = np.asarray(centre) + LIFT * np.cross(right, up)

    def place(u: float, v: float) -> Point:
        x, y, z = middle + u * np.asarray(right) + v * np.asarray(up)
        return float(x), float(y), float(z)

    return place


def around(radius: float, angle: float, z: float, centre: tuple[float, float] = (0.0, 0.0)) -> Place:
    """A sheet wrapped around an upright cylinder, its middle at ``angle`` (radians) and height ``z``."""

    def place(u: float, v: float) -> Point:
        turn = angle + u / radius
        reach = radius + LIFT
        return centre[0] + reach * math.cos(turn), centre[1] + reach * math.sin(turn), z + v

    return place


def patch(place: Place, u: tuple[float, float], v: tuple[float, float], *, pieces: int = 1) -> Mesh:
    """A rectangle between two bounds in ``u`` and two in ``v``, bent in ``pieces``."""
    cuts = np.linspace(u[0], u[1], pieces + 1).tolist()
    return quads(
        [(place(a, v[0]), place(b, v[0]), place(b, v[1]), place(a, v[1])) for a, b in pairwise(cuts)]
    )


def disc(
    place: Place, ru: float, rv: float, at: tuple[float, float] = (0.0, 0.0), *, sides: int = 12
) -> Mesh:
    """An ellipse with radii ``ru`` and ``rv``."""
    angles = np.linspace(0.0, 2.0 * math.pi, sides, endpoint=False)
    rim = [place(at[0] + ru * math.cos(a), at[1] + rv * math.sin(a)) for a in angles]
    fan = [(0, i + 1, (i + 1) % sides + 1) for i in range(sides)]
    return Mesh(np.asarray([place(*at), *rim]), np.asarray(fan))


def width_of(text: str, height: float) -> float:
    """How wide ``text`` is in capitals of that ``height``."""
    return (sum(len(_GLYPHS[letter].split()[0]) + 1 for letter in text) - 1) * height / 5


def letters(place: Place, text: str, height: float, at: tuple[float, float] = (0.0, 0.0)) -> Mesh:
    """``text`` in capitals of that ``height``, its middle at ``at``."""
    pixel = height / 5
    left, top = at[0] - width_of(text, height) / 2, at[1] + height / 2
    strokes = []
    for letter in text:
        rows = _GLYPHS[letter].split()
        for i, row in enumerate(rows):
            for start, length in _strokes(row):
                u = left + start * pixel
                v = top - (i + 1) * pixel
                strokes.append(patch(place, (u, u + length * pixel), (v, v + pixel)))
        left += (len(rows[0]) + 1) * pixel
    return join(*strokes)


def _strokes(row: str) -> list[tuple[int, int]]:
    """Start and length of each run of ones."""
    found: list[tuple[int, int]] = []
    for i, bit in enumerate(row):
        if bit == "1" and i and row[i - 1] == "1":
            found[-1] = (found[-1][0], found[-1][1] + 1)
        elif bit == "1":
            found.append((i, 1))
    return found
