"""Cardboard boxes that lie on their widest side, or stand on a narrow one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from xml.etree.ElementTree import Element

from assay.sim.packs.primitives.objects import palette as p
from assay.sim.packs.primitives.objects.decals import Place, disc, letters, patch, plane, width_of
from assay.sim.packs.primitives.objects.meshes import Point, cuboid
from assay.sim.packs.primitives.objects.sculpture import Facts, Sculpture
from assay.sim.packs.primitives.shapes import Rgba


@dataclass(frozen=True, slots=True)
class Carton:
    """A printed box. Millimetres, upright."""

    facts: Facts
    lo: Point
    """Its least corner relative to the frame of the object."""
    hi: Point
    """Its greatest corner."""
    card: Rgba
    trim: Rgba
    """Bars at two ends of the printed face, and stripes on the narrow sides."""
    ink: Rgba
    name: tuple[str, ...]
    """Lines of text on the printed face."""
    picture: Rgba | None = None
    """The colour of an ellipse behind the name or beside it; None for no picture."""
    specks: Rgba | None = None
    """Dots on the ellipse, e.g. chocolate in a cookie; then the name stands beside it."""


def build(category: str, carton: Carton) -> Element:
    """The document of a box."""
    thing = Sculpture(category, carton.facts)
    thing.block(carton.lo, carton.hi)
    thing.draw(carton.card, cuboid(carton.lo, carton.hi))
    mid = tuple((a + b) / 2 for a, b in zip(carton.lo, carton.hi, strict=True))
    half = tuple((b - a) / 2 for a, b in zip(carton.lo, carton.hi, strict=True))
    if carton.facts.tipped:
        faces = [
            (plane((mid[0], carton.lo[1], mid[2]), (1, 0, 0), (0, 0, 1)), half[0], half[2]),
            (plane((mid[0], carton.hi[1], mid[2]), (-1, 0, 0), (0, 0, 1)), half[0], half[2]),
        ]
    else:
        faces = [(plane((mid[0], mid[1], carton.hi[2]), (1, 0, 0), (0, 1, 0)), half[0], half[1])]
    for face, width, height in faces:
        _print(thing, carton, face, width, height)
    if not carton.facts.tipped:
        _stripe(thing, carton, (mid[0], mid[1], mid[2]), (half[0], half[1], half[2]))
    return thing.document()


def _print(thing: Sculpture, carton: Carton, face: Place, width: float, height: float) -> None:
    """The printed face: ``width`` and ``height`` are its half-lengths."""
    for u in ((-width, -0.84 * width), (0.84 * width, width)):
        thing.draw(carton.trim, patch(face, u, (-height, height)))
    beside = carton.specks is not None
    at = (0.0, -0.22 * height) if beside else (0.0, 0.0)
    if carton.picture is not None:
        radii = (0.6 * min(width, height),) * 2 if beside else (0.78 * width, 0.82 * height)
        thing.draw(carton.picture, disc(face, *radii, at))
    if carton.specks is not None:
        reach = 0.6 * min(width, height)
        for right, up in ((-0.4, 0.3), (0.35, 0.45), (0.1, -0.1), (-0.3, -0.5), (0.5, -0.35)):
            spot = (at[0] + right * reach, at[1] + up * reach)
            thing.draw(carton.specks, disc(_raised(face), 0.13 * reach, 0.13 * reach, spot, sides=6))
    room = 1.15 if carton.picture is not None and not beside else 1.5
    size = min(
        *(room * width / width_of(line, 1.0) for line in carton.name), 0.8 * room * height / len(carton.name)
    )
    if beside:
        size = min(size, 0.3 * height)
    for i, line in enumerate(carton.name):
        v = 0.68 * height if beside else ((len(carton.name) - 1) / 2 - i) * 1.3 * size
        thing.draw(carton.ink, letters(_raised(face), line, size, (0.0, v)))


def _raised(face: Place) -> Place:
    """A sheet on top of the markings of another one."""
    a, b, c = face(0.0, 0.0), face(1.0, 0.0), face(0.0, 1.0)
    right = (b[0] - a[0], b[1] - a[1], b[2] - a[2])
    up = (c[0] - a[0], c[1] - a[1], c[2] - a[2])
    return plane(a, right, up)


def _stripe(thing: Sculpture, carton: Carton, mid: Point, half: Point) -> None:
    """A stripe around the narrow sides of a box that lies."""
    v = (-0.45 * half[2], 0.45 * half[2])
    (x, y, z), (hx, hy, _) = mid, half
    for centre, right, reach in (
        ((x, y - hy, z), (1, 0, 0), hx),
        ((x, y + hy, z), (-1, 0, 0), hx),
        ((x + hx, y, z), (0, 1, 0), hy),
        ((x - hx, y, z), (0, -1, 0), hy),
    ):
        thing.draw(carton.trim, patch(plane(centre, right, (0, 0, 1)), (-reach, reach), v))


_BUTTER = Carton(
    Facts(5.2, -20.0, 20.0, 20.0),
    (-38.1, -19.8, -8.7),
    (38.1, 19.8, 8.7),
    p.YELLOW,
    p.CREAM,
    p.RED,
    ("BUTTER",),
)
_CREAM_CHEESE = Carton(
    Facts(6.2, -25.0, 25.0, 30.0),
    (-40.6, -21.3, -8.9),
    (40.6, 21.3, 8.9),
    p.FOIL,
    p.BLUE,
    p.WHITE,
    ("CREAM", "CHEESE"),
    picture=p.BLUE,
)
_PUDDING = Carton(
    Facts(10.2), (-40.6, -23.2, -13.1), (39.6, 23.2, 14.3), p.BROWN, p.SKY, p.CREAM, ("CHOCOLATE", "PUDDING")
)
_COOKIES = Carton(
    Facts(9.6),
    (-31.0, -41.3, -9.4),
    (31.0, 41.3, 9.4),
    p.RED,
    p.WHITE,
    p.WHITE,
    ("COOKIES",),
    p.TAN,
    p.DARK_BROWN,
)

_CARTONS: Mapping[str, Carton] = {
    "butter": _BUTTER,
    "green_butter": replace(_BUTTER, card=p.GREEN),
    "cream_cheese": _CREAM_CHEESE,
    "red_cream_cheese": replace(_CREAM_CHEESE, card=p.LIGHT_RED, trim=p.RED, picture=p.RED),
    "chocolate_pudding": _PUDDING,
    "green_chocolate_pudding": replace(_PUDDING, card=p.GREEN),
    "cookies": _COOKIES,
    "popcorn": Carton(
        Facts(5.2), (-31.0, -21.0, -10.0), (31.0, 21.0, 10.0), p.WHITE, p.RED, p.RED, ("POPCORN",)
    ),
    "macaroni_and_cheese": Carton(
        Facts(25.0, tipped=True),
        (-42.2, -12.7, -58.2),
        (42.2, 12.7, 58.2),
        p.BLUE,
        p.YELLOW,
        p.YELLOW,
        ("MACARONI",),
        p.ORANGE,
        p.YELLOW,
    ),
}

BUILDERS: Mapping[str, Callable[[], Element]] = {
    category: partial(build, category, carton) for category, carton in _CARTONS.items()
}
"""From category to document."""
