"""Geoms and sites from a few words: the alphabet the primitives are written in.

Every solid is two geoms: one of group 0 that collides and has mass but is not drawn, and one of group 1
that is drawn and nothing else. Lengths are metres; sizes are MuJoCo's half-lengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from xml.etree.ElementTree import Element, SubElement

Vector = Sequence[float]
Rgba = tuple[float, float, float, float]

FRICTION = (0.95, 0.3, 0.1)
"""Sliding, torsional, rolling: what LIBERO gives the things one picks up."""


@lru_cache(maxsize=1 << 16)
def number(value: float) -> str:
    """A length with a tenth of a micrometre, and no trailing zeros."""
    text = f"{float(value):.7f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def numbers(values: Iterable[float]) -> str:
    """Numbers separated by spaces, as MJCF wants them."""
    return " ".join(number(value) for value in values)


def solid(
    parent: Element,
    kind: str,
    size: Vector,
    pos: Vector = (0.0, 0.0, 0.0),
    *,
    rgba: Rgba,
    quat: Vector | None = None,
    density: float = 100.0,
    friction: Vector = FRICTION,
    collides: bool = True,
    drawn: bool = True,
    material: str | None = None,
    name: str | None = None,
) -> None:
    """Add a box, cylinder, capsule, sphere or ellipsoid to ``parent``.

    ``density`` is in kg/m^3 and counts only where the solid collides.
    """
    shape = {"type": kind, "size": numbers(size), "pos": numbers(pos)}
    if quat is not None:
        shape["quat"] = numbers(quat)
    if collides:
        collision = shape | {
            "group": "0",
            "density": number(density),
            "friction": numbers(friction),
            "solref": "0.001 1",
            "solimp": "0.998 0.998 0.001",
            "rgba": "0.8 0.8 0.8 0.3",
        }
        if name is not None:
            collision["name"] = f"{name}_collision"
        SubElement(parent, "geom", collision)
    if drawn:
        visual = shape | {"group": "1", "contype": "0", "conaffinity": "0", "rgba": numbers(rgba)}
        if material is not None:
            visual["material"] = material
        if name is not None:
            visual["name"] = f"{name}_visual"
        SubElement(parent, "geom", visual)


def region(
    parent: Element,
    name: str,
    size: Vector,
    pos: Vector = (0.0, 0.0, 0.0),
    *,
    quat: Vector = (1.0, 0.0, 0.0, 0.0),
) -> None:
    """Add an invisible box site: a region that atoms can name."""
    SubElement(
        parent,
        "site",
        {
            "name": name,
            "type": "box",
            "size": numbers(size),
            "pos": numbers(pos),
            "quat": numbers(quat),
            "group": "0",
            "rgba": "0.8 0.8 0.8 0",
        },
    )


def drawn_mesh(
    asset: Element,
    parent: Element,
    name: str,
    vertices: Iterable[Vector],
    faces: Iterable[Sequence[int]],
    *,
    rgba: Rgba,
) -> None:
    """Add a generated mesh that is drawn and nothing else.

    ``vertices`` are points in the frame of ``parent``; each of ``faces`` is three indices into them,
    counter-clockwise seen from outside. The mesh enters ``asset`` under ``name``.
    """
    SubElement(
        asset,
        "mesh",
        {
            "name": name,
            "vertex": " ".join(f"{x:.5f} {y:.5f} {z:.5f}" for x, y, z in vertices),
            "face": " ".join(f"{a} {b} {c}" for a, b, c in faces),
            # Drawn surfaces may be open: a label has no volume from which to compute an inertia.
            "inertia": "shell",
        },
    )
    SubElement(
        parent,
        "geom",
        {
            "type": "mesh",
            "mesh": name,
            "group": "1",
            "contype": "0",
            "conaffinity": "0",
            "rgba": numbers(rgba),
        },
    )


def entity(category: str, *, bottom: float, top: float, radius: float) -> tuple[Element, Element, Element]:
    """An empty entity document: ``(root, asset, object body)``.

    ``bottom`` and ``top`` are the z of the lowest and highest point in the object's frame; ``radius`` is
    that of its footprint. All in metres.
    """
    root = Element("mujoco", {"model": category})
    asset = SubElement(root, "asset")
    frame = SubElement(SubElement(root, "worldbody"), "body")
    body = SubElement(frame, "body", {"name": "object"})
    for name, pos in (
        ("bottom_site", (0.0, 0.0, bottom)),
        ("top_site", (0.0, 0.0, top)),
        ("horizontal_radius_site", (radius, radius, 0.0)),
    ):
        SubElement(frame, "site", {"name": name, "pos": numbers(pos), "size": "0.005", "rgba": "0 0 0 0"})
    return root, asset, body
