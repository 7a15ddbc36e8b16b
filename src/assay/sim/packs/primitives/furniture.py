"""Furniture that is only drawn: what makes a kitchen look like one.

It stands well away from the workspace and collides with nothing.
"""

from __future__ import annotations

import math
from xml.etree.ElementTree import Element, SubElement

from assay.sim.packs.primitives.bodies import Block, Rod, draw
from assay.sim.packs.primitives.shapes import Rgba, Vector, numbers

_STEEL: Rgba = (0.62, 0.64, 0.66, 1.0)
_DARK: Rgba = (0.16, 0.16, 0.18, 1.0)
_SEGMENTS = 48


def kitchen(world: Element) -> None:
    """Base units with a worktop, wall units, a cooker with a hood and a fridge along the rear wall."""
    front: Rgba = (0.30, 0.46, 0.48, 1.0)
    worktop: Rgba = (0.86, 0.84, 0.80, 1.0)
    units: list[Block] = [
        Block((-2.0, -1.9, 0.09), (-1.42, 2.4, 0.86), front),
        Block((-2.0, -1.9, 0.86), (-1.38, 2.4, 0.90), worktop),
        Block((-2.0, -1.9, 1.50), (-1.66, -0.4, 2.10), front),
        Block((-2.0, 0.4, 1.50), (-1.66, 2.4, 2.10), front),
    ]
    handles = [
        Block((-1.42, y - 0.06, 0.74), (-1.40, y + 0.06, 0.76), _STEEL) for y in (-1.5, -0.9, 0.9, 1.5)
    ]
    doors = [
        Block((-1.425, y - 0.006, 0.12), (-1.415, y + 0.006, 0.86), _DARK) for y in (-1.2, -0.35, 0.35, 1.2)
    ]
    tiles = Block((-2.0, -1.9, 0.90), (-1.985, 2.4, 1.50), (0.90, 0.92, 0.88, 1.0))
    cooker = (
        Block((-1.44, -0.33, 0.12), (-1.405, 0.33, 0.86), _STEEL),
        Block((-1.405, -0.25, 0.25), (-1.40, 0.25, 0.62), _DARK),
        Block((-1.95, -0.30, 0.90), (-1.45, 0.30, 0.915), _DARK),
        Block((-2.0, -0.30, 1.60), (-1.62, 0.30, 1.75), _STEEL),
    )
    fridge = (
        Block((-2.0, -2.75, 0.0), (-1.38, -1.95, 1.85), _STEEL),
        Block((-1.385, -2.70, 1.20), (-1.365, -2.66, 1.70), _DARK),
        Block((-1.385, -2.75, 1.095), (-1.375, -1.95, 1.105), _DARK),
    )
    pot = Rod("cylinder", 0.12, (-1.72, 0.14, 0.915), (-1.72, 0.14, 1.06), (0.75, 0.20, 0.16, 1.0))
    draw(world, "kitchen", (*units, *handles, *doors, tiles, *cooker, *fridge, pot))


def living_room(world: Element) -> None:
    """A sofa with cushions, a picture above it, a plant and a floor lamp along the rear wall."""
    cloth: Rgba = (0.28, 0.40, 0.52, 1.0)
    seam: Rgba = (0.23, 0.33, 0.44, 1.0)
    sofa = (
        Block((-1.95, -1.0, 0.08), (-1.20, 1.0, 0.40), cloth),
        Block((-1.95, -1.0, 0.40), (-1.72, 1.0, 0.82), seam),
        Block((-1.95, -1.18, 0.08), (-1.20, -1.0, 0.60), seam),
        Block((-1.95, 1.0, 0.08), (-1.20, 1.18, 0.60), seam),
        Block((-1.73, -0.96, 0.40), (-1.56, -0.56, 0.76), (0.85, 0.62, 0.25, 1.0)),
        Block((-1.73, 0.56, 0.40), (-1.56, 0.96, 0.76), (0.80, 0.36, 0.28, 1.0)),
    )
    picture = (
        Block((-2.0, -0.45, 1.20), (-1.975, 0.45, 1.85), _DARK),
        Block((-1.98, -0.40, 1.25), (-1.97, 0.40, 1.55), (0.40, 0.58, 0.36, 1.0)),
        Block((-1.98, -0.40, 1.55), (-1.97, 0.40, 1.80), (0.62, 0.78, 0.90, 1.0)),
    )
    draw(world, "sofa", sofa)
    draw(world, "picture", picture)
    _plant(world, (-1.6, 1.75))
    _floor_lamp(world, (-1.6, -1.75))


def study(world: Element) -> None:
    """A shelf with books on the rear wall, a picture, a plant and a lamp on the desk."""
    wood: Rgba = (0.50, 0.33, 0.20, 1.0)
    boards = [Block((-2.0, -1.35, z), (-1.72, 0.05, z + 0.03), wood) for z in (0.0, 0.62, 1.02, 1.42, 1.82)]
    sides = [Block((-2.0, y - 0.02, 0.0), (-1.72, y + 0.02, 1.85), wood) for y in (-1.35, 0.05)]
    covers: tuple[Rgba, ...] = (
        (0.66, 0.20, 0.18, 1.0),
        (0.20, 0.36, 0.58, 1.0),
        (0.86, 0.68, 0.24, 1.0),
        (0.26, 0.48, 0.32, 1.0),
        (0.40, 0.26, 0.46, 1.0),
    )
    books = [
        Block(
            (-1.96, -1.30 + 0.24 * i, z + 0.03), (-1.76, -1.09 + 0.24 * i, z + 0.27 + 0.03 * (i % 2)), cover
        )
        for z in (1.02, 1.42)
        for i, cover in enumerate(covers)
    ]
    draw(world, "shelf", (*boards, *sides, *books))
    picture = (
        Block((-2.0, 0.45, 1.15), (-1.975, 1.15, 1.70), _DARK),
        Block((-1.98, 0.50, 1.20), (-1.97, 1.10, 1.65), (0.85, 0.72, 0.52, 1.0)),
    )
    draw(world, "picture", picture)
    _plant(world, (-1.65, 1.6))
    lamp = (
        Rod("cylinder", 0.07, (0.3, -0.85, 0.885), (0.3, -0.85, 0.905), _DARK),
        Rod("cylinder", 0.010, (0.3, -0.85, 0.905), (0.3, -0.85, 1.25), _DARK),
        Rod("cylinder", 0.075, (0.3, -0.85, 1.25), (0.3, -0.85, 1.38), (0.95, 0.86, 0.60, 1.0)),
    )
    draw(world, "desk_lamp", lamp)


def coffee_corner(world: Element) -> None:
    """Legs of a marble table, two leather seats beside it and a wall unit."""
    legs = tuple(
        Block((x - 0.02, y - 0.02, 0.0), (x + 0.02, y + 0.02, 0.396), _DARK)
        for x in (-0.3, 0.3)
        for y in (-0.68, 0.80)
    )
    draw(world, "coffee_table_leg", legs)
    leather: Rgba = (0.45, 0.26, 0.16, 1.0)
    seats = (
        Block((-0.30, -1.55, 0.05), (0.30, -1.0, 0.40), leather),
        Block((-0.30, -1.62, 0.40), (0.30, -1.45, 0.75), leather),
        Block((-0.30, 1.12, 0.05), (0.30, 1.67, 0.40), leather),
        Block((-0.30, 1.57, 0.40), (0.30, 1.74, 0.75), leather),
    )
    draw(world, "seat", seats)
    unit = (
        Block((-2.0, -1.1, 0.05), (-1.6, 1.1, 0.50), (0.34, 0.24, 0.18, 1.0)),
        Block((-2.0, -0.55, 0.75), (-1.95, 0.55, 1.40), _DARK),
    )
    draw(world, "wall_unit", unit)


def oval(
    root: Element, parent: Element, name: str, material: str, centre: Vector, half: Vector, heights: Vector
) -> None:
    """Draw a table top with rounded ends: the prism over x^4/a^4 + y^4/b^4 = 1.

    ``half`` holds a and b, ``heights`` the z of the lower and upper face, in ``parent``'s frame.
    """
    asset = root.find("asset")
    assert asset is not None
    points: list[float] = []
    for step in range(_SEGMENTS):
        angle = 2 * math.pi * step / _SEGMENTS
        x = math.copysign(math.sqrt(abs(math.cos(angle))), math.cos(angle)) * half[0]
        y = math.copysign(math.sqrt(abs(math.sin(angle))), math.sin(angle)) * half[1]
        points += [x, y, -0.5, x, y, 0.5]
    scale = numbers((1.0, 1.0, heights[1] - heights[0]))
    SubElement(asset, "mesh", {"name": f"{name}_top", "vertex": numbers(points), "scale": scale})
    middle = (*centre, (heights[0] + heights[1]) / 2)
    own = {"name": f"{name}_visual", "type": "mesh", "mesh": f"{name}_top", "pos": numbers(middle)}
    SubElement(parent, "geom", own | {"group": "1", "contype": "0", "conaffinity": "0", "material": material})


def _plant(world: Element, place: Vector) -> None:
    x, y = place
    leaf: Rgba = (0.20, 0.45, 0.22, 1.0)
    parts = (
        Rod("cylinder", 0.14, (x, y, 0.0), (x, y, 0.30), (0.72, 0.42, 0.28, 1.0)),
        Rod("capsule", 0.07, (x, y, 0.32), (x, y, 0.95), leaf),
        Rod("capsule", 0.06, (x, y, 0.45), (x + 0.15, y + 0.18, 0.85), leaf),
        Rod("capsule", 0.06, (x, y, 0.45), (x + 0.10, y - 0.20, 0.80), leaf),
    )
    draw(world, "plant", parts)


def _floor_lamp(world: Element, place: Vector) -> None:
    x, y = place
    parts = (
        Rod("cylinder", 0.14, (x, y, 0.0), (x, y, 0.03), _DARK),
        Rod("cylinder", 0.015, (x, y, 0.03), (x, y, 1.35), _DARK),
        Rod("cylinder", 0.16, (x, y, 1.35), (x, y, 1.62), (0.95, 0.88, 0.68, 1.0)),
    )
    draw(world, "floor_lamp", parts)
