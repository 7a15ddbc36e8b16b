"""Bottles: stacked boxes that collide, a flattened or round body that is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from xml.etree.ElementTree import Element

from assay.sim.packs.primitives.objects import palette as p
from assay.sim.packs.primitives.objects.decals import letters, plane
from assay.sim.packs.primitives.objects.meshes import Point, Section, loft, turned
from assay.sim.packs.primitives.objects.sculpture import Facts, Sculpture
from assay.sim.packs.primitives.shapes import Rgba


@dataclass(frozen=True, slots=True)
class Bottle:
    """A flattened squeeze bottle with a cap. Millimetres, upright."""

    facts: Facts
    stack: tuple[tuple[Point, Point], ...]
    """The boxes that collide, as pairs of corners, from the base to the cap."""
    body: tuple[Section, ...]
    """The drawn body, from the base to the neck."""
    cap: tuple[Section, ...]
    """The drawn cap."""
    glass: Rgba
    lid: Rgba
    label: Rgba
    ink: Rgba
    name: str
    label_z: tuple[float, float]
    """Lower and upper edge of the label."""
    centre: tuple[float, float] = (0.0, 0.0)

    def raised(self, lift: float) -> Bottle:
        """The same bottle with its frame lower inside it."""
        return replace(
            self,
            stack=tuple(((a, b, c + lift), (d, e, f + lift)) for (a, b, c), (d, e, f) in self.stack),
            body=tuple(cut._replace(z=cut.z + lift) for cut in self.body),
            cap=tuple(cut._replace(z=cut.z + lift) for cut in self.cap),
            label_z=(self.label_z[0] + lift, self.label_z[1] + lift),
        )


def build(category: str, bottle: Bottle) -> Element:
    """The document of a squeeze bottle."""
    thing = Sculpture(category, bottle.facts)
    for lo, hi in bottle.stack:
        thing.block(lo, hi)
    thing.draw(bottle.glass, loft(bottle.body, bottle.centre))
    thing.draw(bottle.lid, loft(bottle.cap, bottle.centre))
    low, high = bottle.label_z
    edges = [_section(bottle.body, z) for z in (low, (2 * low + high) / 3, (low + 2 * high) / 3, high)]
    paper = [Section(e.z, e.rx + 0.5, e.ry + 0.5) for e in edges]
    middle = _section(bottle.body, (low + high) / 2)
    for side in (-1, 1):
        arc = (side * math.pi / 2 - 1.0, side * math.pi / 2 + 1.0)
        thing.draw(bottle.label, loft(paper, bottle.centre, segments=8, arc=arc))
        face = plane(
            (bottle.centre[0], bottle.centre[1] + side * (middle.ry + 0.5), middle.z),
            (-side, 0, 0),
            (0, 0, 1),
        )
        size = 1.0 * middle.rx / (4 * len(bottle.name)) * 5
        thing.draw(bottle.ink, letters(face, bottle.name, size))
    return thing.document()


def _section(body: tuple[Section, ...], z: float) -> Section:
    """The cut through a body at height ``z``."""
    for below, above in pairwise(body):
        if below.z <= z <= above.z and above.z > below.z:
            share = (z - below.z) / (above.z - below.z)
            return Section(
                z, below.rx + share * (above.rx - below.rx), below.ry + share * (above.ry - below.ry)
            )
    raise ValueError(f"no section at {z} mm")


def _sections(*cuts: tuple[float, float, float]) -> tuple[Section, ...]:
    return tuple(Section(*cut) for cut in cuts)


_KETCHUP = Bottle(
    Facts(23.2, tipped=True),
    stack=(
        ((-27.7, -17.7, -72.4), (28.6, 16.2, -6.3)),
        ((-21.5, -18.5, -6.3), (22.5, 17.0, 36.2)),
        ((-16.0, -16.8, 36.2), (16.6, 15.2, 73.2)),
    ),
    body=_sections(
        (-72.4, 0.0, 0.0),
        (-72.4, 25.0, 15.0),
        (-69.0, 28.0, 17.5),
        (-35.0, 29.5, 18.3),
        (-5.0, 27.5, 18.6),
        (20.0, 22.5, 18.6),
        (33.0, 17.5, 17.5),
        (38.0, 16.0, 16.0),
    ),
    cap=_sections(
        (36.2, 17.0, 17.0),
        (68.0, 17.0, 17.0),
        (70.0, 16.0, 16.0),
        (70.0, 9.0, 9.0),
        (73.2, 8.0, 8.0),
        (73.2, 0.0, 0.0),
    ),
    glass=p.BRIGHT_RED,
    lid=p.WHITE,
    label=p.CREAM,
    ink=p.RED,
    name="KETCHUP",
    label_z=(-52.0, -12.0),
    centre=(0.45, -0.75),
)

_DRESSING = Bottle(
    Facts(21.8, tipped=True),
    stack=(
        ((-18.3, -17.6, -72.7), (16.3, 17.1, -62.0)),
        ((-27.3, -17.6, -62.0), (25.4, 17.1, -9.0)),
        ((-19.0, -17.1, -9.0), (18.0, 17.1, 14.0)),
        ((-15.5, -15.5, 14.0), (15.5, 15.5, 72.8)),
    ),
    body=_sections(
        (-72.7, 0.0, 0.0),
        (-72.7, 18.5, 15.5),
        (-66.0, 22.5, 17.5),
        (-50.0, 26.5, 18.0),
        (-32.0, 27.5, 18.0),
        (-12.0, 25.0, 18.0),
        (6.0, 19.5, 17.5),
        (22.0, 17.0, 17.0),
        (36.0, 16.0, 16.0),
    ),
    cap=_sections((34.0, 17.2, 17.2), (70.0, 17.2, 17.2), (72.8, 15.0, 15.0), (72.8, 0.0, 0.0)),
    glass=p.WHITE,
    lid=p.GREEN,
    label=p.YELLOW,
    ink=p.GREEN,
    name="SALAD",
    label_z=(-56.0, -8.0),
    centre=(-0.5, 0.0),
)

_BBQ = Bottle(
    Facts(12.2, top=60.0, radius=15.0),
    stack=(
        ((-23.5, -14.6, -54.6), (23.5, 14.6, -1.0)),
        ((-18.1, -14.3, -1.0), (18.1, 14.3, 26.9)),
        ((-13.4, -13.4, 26.9), (13.4, 13.4, 52.5)),
    ),
    body=_sections(
        (-54.6, 0.0, 0.0),
        (-54.6, 21.0, 12.5),
        (-52.0, 23.0, 14.8),
        (-28.0, 24.2, 15.2),
        (-2.0, 22.5, 15.4),
        (15.0, 18.0, 15.2),
        (26.0, 13.8, 13.8),
        (29.0, 12.8, 12.8),
    ),
    cap=_sections((27.5, 14.0, 14.0), (50.5, 14.0, 14.0), (52.5, 12.0, 12.0), (52.5, 0.0, 0.0)),
    glass=p.BROWN,
    lid=p.DARK_RED,
    label=p.ORANGE,
    ink=p.DARK_BROWN,
    name="BBQ",
    label_z=(-42.0, -4.0),
)

_BOTTLES: Mapping[str, Bottle] = {
    "ketchup": _KETCHUP,
    "blue_ketchup": replace(_KETCHUP, glass=p.BLUE),
    "mayo": replace(_KETCHUP, glass=p.CREAM, lid=p.BLUE, label=p.SKY, ink=p.BLUE, name="MAYO"),
    "salad_dressing": _DRESSING,
    "new_salad_dressing": replace(_DRESSING.raised(50.0), lid=p.ORANGE),
    "red_salad_dressing": replace(_DRESSING, glass=p.RED),
    "bbq_sauce": _BBQ,
    "green_bbq_sauce": replace(_BBQ, glass=p.GREEN),
}


def build_wine(category: str, glass: Rgba, label: Rgba) -> Element:
    """The document of a bottle of wine: stands on z = 1.1 mm, 158 mm tall."""
    thing = Sculpture(category, Facts(15.4))
    thing.octagon(21.2, (1.1, 66.0))
    thing.block((-12.0, -12.0, 66.0), (12.0, 12.0, 90.0), heaviness=3.0)
    thing.block((-7.0, -7.0, 90.0), (7.0, 7.0, 158.0), heaviness=3.0)
    body = [(0.0, 1.1), (19.5, 1.1), (21.3, 4.0), (21.3, 60.0), (20.0, 69.0), (15.0, 82.0), (9.5, 95.0)]
    neck = [(7.6, 105.0), (6.8, 140.0), (8.0, 142.0), (8.0, 149.0), (6.5, 149.0)]
    thing.draw(glass, turned(body + neck))
    thing.draw(p.CORK, turned([(6.2, 149.0), (6.2, 158.0), (0.0, 158.0)], segments=12))
    thing.draw(label, turned([(21.8, 16.0), (21.8, 48.0)]))
    thing.draw(p.GOLD, turned([(22.0, 44.0), (22.0, 46.0)]), turned([(22.0, 18.0), (22.0, 20.0)]))
    thing.draw(p.DARK_RED, turned([(21.9, 27.0), (21.9, 37.0)]))
    return thing.document()


BUILDERS: Mapping[str, Callable[[], Element]] = {
    **{category: partial(build, category, bottle) for category, bottle in _BOTTLES.items()},
    "wine_bottle": partial(build_wine, "wine_bottle", p.DARK_GREEN, p.PAPER),
    "white_bottle": partial(build_wine, "white_bottle", p.WHITE, p.PAPER),
}
"""From category to document."""
