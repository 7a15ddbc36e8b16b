"""Shapes that are nothing in particular: a cube, a sphere, a cylinder, a pyramid."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from xml.etree.ElementTree import Element

from assay.sim.packs.primitives.objects import palette as p
from assay.sim.packs.primitives.objects.meshes import Mesh, cuboid, prism, turned
from assay.sim.packs.primitives.objects.sculpture import Facts, Sculpture

HALF = 25.0
"""Half of their height, and of their width or a little more, millimetres: a hand can hold them."""
_FACTS = Facts(mass=20.0, bottom=-HALF, top=HALF, radius=HALF)


def build_cube(category: str) -> Element:
    """A cube."""
    thing = Sculpture(category, _FACTS)
    lo, hi = (-HALF,) * 3, (HALF,) * 3
    thing.block(lo, hi)
    return _painted(thing, cuboid(lo, hi))


def build_cylinder(category: str) -> Element:
    """An upright cylinder."""
    thing = Sculpture(category, _FACTS)
    thing.octagon(HALF, (-HALF, HALF))
    return _painted(thing, turned([(0.0, -HALF), (HALF, -HALF), (HALF, HALF), (0.0, HALF)]))


def build_sphere(category: str) -> Element:
    """A sphere, which collides as steps: it does not roll away."""
    thing = Sculpture(category, _FACTS)
    rims = [-1.0, -0.8, 0.8, 1.0]
    for low, high in pairwise(rims):
        reach = math.sqrt(1.0 - min(abs(low), abs(high)) ** 2) if low * high > 0 else 1.0
        thing.octagon(HALF * reach, (HALF * low, HALF * high))
    angles = [math.pi * step / 12 for step in range(13)]
    return _painted(thing, turned([(HALF * math.sin(angle), -HALF * math.cos(angle)) for angle in angles]))


def build_pyramid(category: str) -> Element:
    """A pyramid with a square base and a small flat top."""
    thing = Sculpture(category, _FACTS)
    base, top, steps = 30.0, 6.0, 5
    for step in range(steps):
        low, high = (-HALF + 2 * HALF * share / steps for share in (step, step + 1))
        half = base + (top - base) * step / steps
        thing.block((-half, -half, low), (half, half, high))
    lower, upper = _square(base, -HALF), _square(top, HALF)
    return _painted(thing, prism(lower, upper))


def _square(half: float, z: float) -> list[tuple[float, float, float]]:
    return [(-half, -half, z), (half, -half, z), (half, half, z), (-half, half, z)]


def _painted(thing: Sculpture, mesh: Mesh) -> Element:
    thing.draw(p.PURPLE, mesh)
    return thing.document()


BUILDERS: Mapping[str, Callable[[], Element]] = {
    "cube": partial(build_cube, "cube"),
    "sphere": partial(build_sphere, "sphere"),
    "cylinder": partial(build_cylinder, "cylinder"),
    "pyramid": partial(build_pyramid, "pyramid"),
}
"""From category to document."""
