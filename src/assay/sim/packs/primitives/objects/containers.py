"""Things that hold other things: the basket, the desk caddy, the tray and the storage box."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from xml.etree.ElementTree import Element

from assay.sim.packs.primitives.objects import palette as p
from assay.sim.packs.primitives.objects.meshes import Mesh, Point, cuboid, prism, quads
from assay.sim.packs.primitives.objects.sculpture import Facts, Sculpture
from assay.sim.packs.primitives.shapes import Rgba

_HALF_TURN = math.sqrt(0.5)

_Outline = tuple[float, float, float, float]
"""x and y of the least and the greatest corner of a level rectangle."""


def build_basket(category: str, light: Rgba, dark: Rgba) -> Element:
    """The document of a woven basket: stands on z = 4.2 mm, its floor is at 21.5 mm, its rim at 145.7 mm."""
    thing = Sculpture(category, Facts(136.1))
    thing.region("contain_region", (61.08, 61.08, 69.49), (0.0, 0.0, 71.85), (0.0, 0.0, 0.0, 1.0))
    low, floor, high, wall = 4.2, 21.5, 145.7, 6.0
    foot: _Outline = (-77.5, -72.5, 78.5, 72.5)
    rim: _Outline = (-84.1, -78.5, 85.3, 78.5)
    thing.block((foot[0] + wall, foot[1] + wall, low), (foot[2] - wall, foot[3] - wall, floor), heaviness=0.6)
    for axis in (0, 1):
        for end in (0, 2):
            inward = wall / 2 if end == 0 else -wall / 2
            bottom, top = [0.0, 0.0, low + 0.5], [0.0, 0.0, high - 0.2]
            bottom[axis], top[axis] = foot[axis + end] + inward, rim[axis + end] + inward
            across = 1 - axis
            span = (foot[across + 2] - foot[across] + rim[across + 2] - rim[across]) / 2
            middle = (rim[across] + rim[across + 2]) / 2
            bottom[across] = top[across] = middle
            thing.beam(_point(bottom), _point(top), width=span, thickness=wall)

    light_cells, dark_cells = _weave(foot, rim, (low, high))
    thing.draw(light, light_cells)
    thing.draw(dark, dark_cells)
    inner_foot, inner_rim = _shrunk(foot, wall), _shrunk(rim, wall)
    thing.draw(dark, *_sides(inner_foot, inner_rim, (floor, high - 4.0), inside=True))
    x0, y0, x1, y1 = inner_foot
    thing.draw(light, quads([((x0, y0, floor), (x1, y0, floor), (x1, y1, floor), (x0, y1, floor))]))
    edge = _shrunk(rim, -1.2)
    for a, b in (
        ((edge[0], edge[1]), (edge[2], inner_rim[1])),
        ((edge[0], inner_rim[3]), (edge[2], edge[3])),
        ((edge[0], inner_rim[1]), (inner_rim[0], inner_rim[3])),
        ((inner_rim[2], inner_rim[1]), (edge[2], inner_rim[3])),
    ):
        thing.draw(light, cuboid((*a, high - 8.0), (*b, high)))
    return thing.document()


def _weave(foot: _Outline, rim: _Outline, z: tuple[float, float]) -> tuple[Mesh, Mesh]:
    """The four outer sides of a tapered box as the light and the dark cells of a chequered pattern."""
    rows, columns = 9, 7
    cells: tuple[list[list[Point]], list[list[Point]]] = ([], [])
    for bottom, top in zip(_edges(foot, z[0]), _edges(rim, z[1]), strict=True):
        grid = [
            [_mix(_mix(*bottom, j / columns), _mix(*top, j / columns), i / rows) for j in range(columns + 1)]
            for i in range(rows + 1)
        ]
        for i in range(rows):
            for j in range(columns):
                corners = [grid[i][j], grid[i][j + 1], grid[i + 1][j + 1], grid[i + 1][j]]
                cells[(i + j) % 2].append(corners)
    return quads(cells[0]), quads(cells[1])


def _sides(foot: _Outline, rim: _Outline, z: tuple[float, float], *, inside: bool) -> list[Mesh]:
    """The four sides of a tapered box, seen from outside or from ``inside``."""
    sides = []
    for (a, b), (c, d) in zip(_edges(foot, z[0]), _edges(rim, z[1]), strict=True):
        sides.append(quads([(b, a, c, d) if inside else (a, b, d, c)]))
    return sides


def _edges(outline: _Outline, z: float) -> list[tuple[Point, Point]]:
    """The sides of a level rectangle, counter-clockwise seen from above."""
    x0, y0, x1, y1 = outline
    corners: list[Point] = [(x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)]
    return [(corners[i], corners[(i + 1) % 4]) for i in range(4)]


def _shrunk(outline: _Outline, by: float) -> _Outline:
    return outline[0] + by, outline[1] + by, outline[2] - by, outline[3] - by


def _mix(a: Point, b: Point, share: float) -> Point:
    return _point([u + share * (v - u) for u, v in zip(a, b, strict=True)])


def _point(values: list[float]) -> Point:
    x, y, z = values
    return x, y, z


def build_caddy(category: str) -> Element:
    """The document of a desk caddy with four compartments: stands on z = 1.4 mm, open towards -x."""
    thing = Sculpture(category, Facts(278.0))
    upside = (0.0, 0.0, 1.0, 0.0)
    thing.region("right_contain_region", (61.96, 62.16, 60.46), (6.31, -143.39, 65.58), upside)
    thing.region("left_contain_region", (61.96, 62.16, 60.46), (6.31, 145.51, 65.58), upside)
    thing.region("back_contain_region", (27.75, 62.16, 60.46), (33.64, -0.64, 85.58), upside)
    thing.region(
        "front_contain_region",
        (27.75, 35.95, 62.16),
        (-31.02, -0.64, 40.54),
        (0.0, 0.0, _HALF_TURN, -_HALF_TURN),
    )
    base = ((-75.5, -216.9, 1.4), (75.5, 216.9, 13.8))
    outer = (
        ((62.8, -209.8, 13.8), (70.8, 209.8, 168.3)),
        ((-70.9, -209.8, 13.8), (-62.9, 209.8, 74.0)),
        ((-70.9, -209.8, 74.0), (-62.9, -62.0, 164.3)),
        ((-70.6, -215.6, 13.8), (70.6, -203.2, 167.4)),
    )
    inner = (
        ((-62.9, -74.2, 13.8), (62.8, -61.8, 167.4)),
        ((-5.6, -61.8, 13.8), (2.5, 67.0, 98.6)),
    )
    for lo, hi in (base, *outer, *inner):
        thing.block(lo, hi)
    thing.draw(p.DARK_WICKER, cuboid(*base))
    thing.draw(p.WOOD, *(cuboid(lo, hi) for lo, hi in outer))
    thing.draw(p.LIGHT_WOOD, *(cuboid(lo, hi) for lo, hi in inner))
    for y, colour in ((70.7, p.LIGHT_WOOD), (208.6, p.WOOD)):
        thing.block((-70.6, y - 3.6, 13.8), (70.6, y + 3.6, 78.5))
        thing.beam((-54.0, y, 66.0), (58.0, y, 122.0), width=7.2, thickness=50.0)
        outline = ((-70.6, y - 3.6), (70.6, y - 3.6), (70.6, y + 3.6), (-70.6, y + 3.6))
        slope = (78.5, 150.0, 150.0, 78.5)
        thing.draw(
            colour,
            prism([(*xy, 13.8) for xy in outline], [(*xy, z) for xy, z in zip(outline, slope, strict=True)]),
        )
    return thing.document()


def build_tray(category: str) -> Element:
    """The document of a wooden tray with a handle at each end: stands on z = -1 mm."""
    thing = Sculpture(category, Facts(57.2))
    thing.region(
        "contain_region", (40.38, 78.39, 135.49), (8.63, -4.71, 42.55), (_HALF_TURN, 0.0, _HALF_TURN, 0.0)
    )
    floor = ((-136.2, -85.0, -1.0), (151.8, 75.0, 6.5))
    walls = (
        ((-141.6, -83.3, 1.0), (-136.6, 72.4, 54.5)),
        ((150.6, -83.3, 1.0), (155.6, 72.4, 54.5)),
        ((-141.6, -87.6, 1.0), (155.6, -82.6, 62.7)),
        ((-141.6, 73.9, 1.0), (155.6, 78.9, 59.6)),
    )
    posts = tuple(
        ((x - 6.0, y - 5.0, 54.0), (x + 6.0, y + 5.0, 78.0)) for x in (-134.0, 148.0) for y in (-78.0, 69.0)
    )
    rails = tuple(((x - 6.0, -83.5, 75.9), (x + 6.0, 73.7, 80.9)) for x in (-134.0, 148.0))
    for lo, hi in (floor, *walls, *posts, *rails):
        thing.block(lo, hi, heaviness=0.8 if lo[2] < 0 else 1.0)
    thing.draw(p.LIGHT_WOOD, cuboid(*floor))
    thing.draw(p.WOOD, *(cuboid(lo, hi) for lo, hi in walls))
    thing.draw(p.DARK_WICKER, *(cuboid(lo, hi) for lo, hi in (*posts, *rails)))
    return thing.document()


def build_storage_box(category: str) -> Element:
    """The document of a white box without front and back: stands on z = 1.8 mm, open along y."""
    thing = Sculpture(category, Facts(76.9))
    for name, half, centre in (
        ("top_side", (64.3, 58.3, 1.2), (0.0, 0.0, 142.5)),
        ("bottom_side", (64.3, 58.3, 2.2), (0.0, 0.0, 4.7)),
        ("right_side", (2.2, 58.3, 64.3), (68.0, 0.0, 71.7)),
        ("left_side", (2.2, 58.3, 64.3), (-67.2, 0.0, 71.7)),
    ):
        thing.region(name, half, centre)
    wall = 8.0
    lo, hi = (-70.2, -58.3, 1.8), (70.5, 58.3, 142.0)
    sides = (
        (lo, (hi[0], hi[1], lo[2] + wall)),
        ((lo[0], lo[1], hi[2] - wall), hi),
        ((lo[0], lo[1], lo[2] + wall), (lo[0] + wall, hi[1], hi[2] - wall)),
        ((hi[0] - wall, lo[1], lo[2] + wall), (hi[0], hi[1], hi[2] - wall)),
    )
    for a, b in sides:
        thing.block(a, b)
    thing.draw(p.WHITE, *(cuboid(a, b) for a, b in sides))
    return thing.document()


BUILDERS: Mapping[str, Callable[[], Element]] = {
    "basket": partial(build_basket, "basket", p.WICKER, p.DARK_WICKER),
    "red_basket": partial(build_basket, "red_basket", p.LIGHT_RED, p.RED),
    "desk_caddy": partial(build_caddy, "desk_caddy"),
    "wooden_tray": partial(build_tray, "wooden_tray"),
    "white_storage_box": partial(build_storage_box, "white_storage_box"),
}
"""From category to document."""
