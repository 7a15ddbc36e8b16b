"""Bodies of robots and rooms from a few words: shells, inertias, cameras and sites.

Lengths are metres, angles radians, masses kg, inertias kg m^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from xml.etree.ElementTree import Element, SubElement

from assay.sim.packs.primitives.shapes import Rgba, Vector, number, numbers

WHITE: Rgba = (0.93, 0.94, 0.95, 1.0)
SILVER: Rgba = (0.80, 0.82, 0.84, 1.0)
GREY: Rgba = (0.30, 0.31, 0.33, 1.0)
BLACK: Rgba = (0.13, 0.13, 0.14, 1.0)
ACCENT: Rgba = (0.20, 0.55, 0.75, 1.0)

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
QUARTER_TURN = (0.707107, 0.707107, 0.0, 0.0)
"""90 degrees about x, with the six digits the real model is written in."""


@dataclass(frozen=True, slots=True)
class Rod:
    """A capsule or cylinder between two points of a body's frame."""

    kind: Literal["capsule", "cylinder"]
    radius: float
    start: Vector
    end: Vector
    rgba: Rgba = WHITE


@dataclass(frozen=True, slots=True)
class Block:
    """A box between two corners, in a body's frame."""

    low: Vector
    high: Vector
    rgba: Rgba = WHITE


Part = Rod | Block


def body(parent: Element, name: str, pos: Vector = (0.0, 0.0, 0.0), quat: Vector = UPRIGHT) -> Element:
    """Add a body to ``parent`` and return it."""
    return SubElement(parent, "body", {"name": name, "pos": numbers(pos), "quat": numbers(quat)})


def inertial(parent: Element, pos: Vector, mass: float, moments: Vector, *, quat: Vector = UPRIGHT) -> None:
    """Say what ``parent`` weighs, whatever its geoms would weigh."""
    attributes = {"pos": numbers(pos), "quat": numbers(quat), "mass": number(mass)}
    SubElement(parent, "inertial", attributes | {"diaginertia": numbers(moments)})


def camera(parent: Element, name: str, pos: Vector, quat: Vector, *, fovy: float | None = None) -> None:
    """Add a fixed camera; ``fovy`` is its vertical field of view in degrees (MuJoCo's default if None)."""
    attributes = {"name": name, "mode": "fixed", "pos": numbers(pos), "quat": numbers(quat)}
    if fovy is not None:
        attributes["fovy"] = number(fovy)
    SubElement(parent, "camera", attributes)


def marker(
    parent: Element, name: str, kind: str, size: Vector, pos: Vector = (0.0, 0.0, 0.0), quat: Vector = UPRIGHT
) -> None:
    """Add an invisible site that code refers to by name."""
    place = {"name": name, "type": kind, "size": numbers(size), "pos": numbers(pos), "quat": numbers(quat)}
    SubElement(parent, "site", place | {"group": "1", "rgba": "1 0 0 0"})


def collide(parent: Element, name: str, parts: tuple[Part, ...], **contact: str) -> None:
    """Add parts that collide and are not drawn: ``NAME_collision``, ``NAME_collision_1``, ..."""
    for count, part in enumerate(parts):
        own = {"name": _numbered(f"{name}_collision", count), "group": "0", "rgba": "0 0.5 0 1"}
        SubElement(parent, "geom", own | _shape(part) | contact)


def draw(parent: Element, name: str, parts: tuple[Part, ...], *, material: str | None = None) -> None:
    """Add parts that are drawn and do not collide: ``NAME_visual``, ``NAME_visual_1``, ...

    A ``material`` takes the place of the parts' own colours.
    """
    for count, part in enumerate(parts):
        own = {"name": _numbered(f"{name}_visual", count), "group": "1", "contype": "0", "conaffinity": "0"}
        look = {"rgba": numbers(part.rgba)} if material is None else {"material": material}
        SubElement(parent, "geom", own | _shape(part) | look)


def _numbered(name: str, count: int) -> str:
    return f"{name}_{count}" if count else name


def _shape(part: Part) -> dict[str, str]:
    if isinstance(part, Rod):
        ends = numbers((*part.start, *part.end))
        return {"type": part.kind, "size": number(part.radius), "fromto": ends}
    centre = [(low + high) / 2 for low, high in zip(part.low, part.high, strict=True)]
    half = [abs(high - low) / 2 for low, high in zip(part.low, part.high, strict=True)]
    return {"type": "box", "pos": numbers(centre), "size": numbers(half)}
