"""Mugs: a ring of planks with a bottom, and a handle of three bars."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from xml.etree.ElementTree import Element

from assay.sim.packs.primitives.objects import palette as p
from assay.sim.packs.primitives.objects.meshes import Point, sweep, turned
from assay.sim.packs.primitives.objects.sculpture import RECESS, Facts, Sculpture
from assay.sim.packs.primitives.shapes import Rgba

_PIECES = 10


@dataclass(frozen=True, slots=True)
class Mug:
    """A mug with one handle along x. Millimetres."""

    facts: Facts
    centre: tuple[float, float]
    """The axis of the cup relative to the frame of the object."""
    z: tuple[float, float]
    """Lowest and highest point."""
    foot: float
    """Greatest radius of the cup at its bottom."""
    rim: float
    """Radius at its top."""
    wall: float
    """Thickness of its wall."""
    handle: tuple[Point, Point, Point, Point]
    """The corners of the handle's middle line, from the upper end on the cup to the lower one."""
    grip: tuple[float, float]
    """Width and thickness of the handle."""
    outside: Rgba
    inside: Rgba
    lower: Rgba | None = None
    """The colour of the lower part of the outside; None if it is like the rest."""
    grip_colour: Rgba | None = None
    """The colour of the handle; None if it is like the outside."""
    belly: float = 0.0
    """How far the outside bulges halfway up, relative to a straight cone."""
    handle_heaviness: float = 1.0


def build(category: str, mug: Mug) -> Element:
    """The document of a mug."""
    thing = Sculpture(category, mug.facts)
    (low, high), t = mug.z, mug.wall
    floor = low + 6.0
    base = 0.64 * mug.foot
    cx, cy = mug.centre
    thing.block((cx - base, cy - base, low), (cx + base, cy + base, floor))
    thing.ring((mug.foot - t, mug.rim), (low + RECESS, high), t, pieces=_PIECES, centre=mug.centre)
    width, thickness = mug.grip
    for start, end in pairwise(mug.handle):
        thing.beam(start, end, width=width, thickness=thickness, heaviness=mug.handle_heaviness)

    def radius(share: float) -> float:
        bulge = 4.0 * share * (1.0 - share) * mug.belly
        return mug.foot + share * (mug.rim - mug.foot) + bulge

    def outline(start: float, stop: float, inset: float = 0.0) -> list[tuple[float, float]]:
        shares = [start + (stop - start) * i / 4 for i in range(5)]
        return [(radius(share) - inset, low + share * (high - low)) for share in shares]

    sole, lip = [(0.0, low), (mug.foot - 3.0, low)], [(mug.rim - t, high)]
    if mug.lower is None:
        thing.draw(mug.outside, turned([*sole, *outline(0.03, 1.0), *lip], mug.centre))
    else:
        thing.draw(mug.lower, turned([*sole, *outline(0.03, 0.45)], mug.centre))
        thing.draw(mug.outside, turned([*outline(0.45, 1.0), *lip], mug.centre))
    hollow = [*reversed(outline(0.12, 1.0, t)), (mug.foot - t - 3.0, floor), (0.0, floor)]
    thing.draw(mug.inside, turned(hollow, mug.centre))
    thing.draw(mug.grip_colour or mug.outside, sweep(_rounded(mug.handle), width, thickness))
    return thing.document()


def _rounded(corners: tuple[Point, ...]) -> list[Point]:
    """A path past ``corners`` with the inner ones cut off."""

    def between(a: Point, b: Point, share: float) -> Point:
        x, y, z = (u + share * (v - u) for u, v in zip(a, b, strict=True))
        return x, y, z

    path = [corners[0]]
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        path += [between(corner, before, 0.35), between(corner, after, 0.25)]
    return [*path, corners[-1]]


_PORCELAIN = Mug(
    Facts(16.5),
    centre=(13.3, -1.3),
    z=(2.4, 108.5),
    foot=35.0,
    rim=46.7,
    wall=4.5,
    handle=((-27.0, 0.0, 94.0), (-59.8, 0.0, 76.0), (-59.8, 0.0, 40.0), (-22.0, 0.0, 21.0)),
    grip=(16.0, 7.6),
    outside=p.WHITE,
    inside=p.PORCELAIN,
    belly=3.0,
)
_COFFEE = Mug(
    Facts(29.4),
    centre=(-15.3, -0.6),
    z=(-1.8, 130.8),
    foot=35.0,
    rim=45.2,
    wall=5.0,
    handle=((22.0, 1.1, 112.0), (58.0, 1.1, 110.0), (58.5, 1.1, 78.0), (17.0, 1.1, 27.0)),
    grip=(14.5, 5.6),
    outside=p.RED,
    inside=p.DARK_RED,
)
_WHITE_YELLOW = Mug(
    Facts(30.9),
    centre=(-18.6, 0.0),
    z=(-0.1, 103.1),
    foot=36.0,
    rim=51.6,
    wall=5.5,
    handle=((26.0, 0.0, 81.5), (64.1, 0.0, 80.5), (64.1, 0.0, 31.0), (16.0, 0.0, 22.0)),
    grip=(17.6, 8.2),
    outside=p.YELLOW,
    inside=p.WHITE,
    lower=p.WHITE,
)

_MUGS: Mapping[str, Mug] = {
    "porcelain_mug": _PORCELAIN,
    "white_porcelain_mug": replace(_PORCELAIN, inside=p.WHITE),
    "red_coffee_mug": _COFFEE,
    "white_yellow_mug": _WHITE_YELLOW,
}

BUILDERS: Mapping[str, Callable[[], Element]] = {
    category: partial(build, category, mug) for category, mug in _MUGS.items()
}
"""From category to document."""
