"""Tins: an octagonal column that collides, a round can that is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from xml.etree.ElementTree import Element

from assay.sim.packs.primitives.objects import palette as p
from assay.sim.packs.primitives.objects.decals import around, disc, letters, width_of
from assay.sim.packs.primitives.objects.meshes import turned
from assay.sim.packs.primitives.objects.sculpture import Facts, Sculpture
from assay.sim.packs.primitives.shapes import Rgba


@dataclass(frozen=True, slots=True)
class Can:
    """A tin with a paper label. Millimetres."""

    facts: Facts
    label: Rgba
    """The paper around most of it."""
    band: Rgba
    """A stripe around its middle, behind the name."""
    ink: Rgba
    """The name."""
    name: str
    fruit: Rgba
    """Dots below the band: what is inside."""
    radius: float = 31.2
    z: tuple[float, float] = (-38.6, 37.6)
    """Bottom and top of the can, upright, relative to the frame of the object."""
    centre: tuple[float, float] = (-0.1, 3.5)
    """Where the axis of the can is, upright, relative to the frame of the object."""

    def scaled(self, factor: float) -> Can:
        """The same tin in another size."""
        return replace(
            self,
            facts=replace(self.facts, mass=self.facts.mass * factor**3),
            radius=self.radius * factor,
            z=(self.z[0] * factor, self.z[1] * factor),
            centre=(self.centre[0] * factor, self.centre[1] * factor),
        )


def build(category: str, can: Can) -> Element:
    """The document of a tin."""
    thing = Sculpture(category, can.facts)
    (low, high), r, centre = can.z, can.radius, can.centre
    thing.octagon(r, can.z, centre)

    def up(share: float) -> float:
        return low + share * (high - low)

    foot = [(0.0, low), (r - 1.0, low), (r, up(0.03)), (r, up(0.06))]
    lid = [
        (r, up(0.93)),
        (r + 0.6, up(0.95)),
        (r + 0.6, high),
        (r - 2.0, high),
        (r - 2.5, up(0.96)),
        (0.0, up(0.96)),
    ]
    thing.draw(p.STEEL, turned(foot, centre))
    thing.draw(p.TIN, turned(lid, centre))
    for colour, bottom, top in (
        (can.label, 0.06, 0.40),
        (can.band, 0.40, 0.74),
        (can.label, 0.74, 0.93),
    ):
        thing.draw(colour, turned([(r, up(bottom)), (r, up(top))], centre))
    for angle in (0.0, 0.5 * math.pi, math.pi, 1.5 * math.pi):
        thing.draw(can.fruit, disc(around(r, angle, up(0.23), centre), 0.24 * r, 0.24 * r))
    size = 0.15 * (high - low)
    copies = int(2.0 * math.pi * r / (width_of(can.name, size) + 6.0))
    for i in range(copies):
        angle = math.pi + 2.0 * math.pi * i / copies
        thing.draw(can.ink, letters(around(r, angle, up(0.57), centre), can.name, size))
    return thing.document()


_SOUP = Can(Facts(25.9, -40.0, tipped=True), p.BLUE, p.SKY, p.YELLOW, "SOUP", p.ORANGE)
_TOMATO = Can(
    Facts(26.6, tipped=True),
    p.RED,
    p.GREEN,
    p.WHITE,
    "TOMATO",
    p.BRIGHT_RED,
    z=(-38.6, 37.6),
    centre=(-0.1, 3.3),
)

_CANS: Mapping[str, Can] = {
    "alphabet_soup": _SOUP,
    "bigger_alphabet_soup": _SOUP.scaled(1.2),
    "red_alphabet_soup": replace(_SOUP, label=p.RED, band=p.LIGHT_RED),
    "tomato_sauce": _TOMATO,
    "yellow_tomato_sauce": replace(_TOMATO, label=p.YELLOW),
    "corn": replace(_TOMATO, label=p.GREEN, band=p.YELLOW, ink=p.GREEN, name="CORN", fruit=p.YELLOW),
    "cherries": replace(_TOMATO, label=p.PINK, band=p.WHITE, ink=p.RED, name="CHERRY", fruit=p.RED),
}

BUILDERS: Mapping[str, Callable[[], Element]] = {
    category: partial(build, category, can) for category, can in _CANS.items()
}
"""From category to document."""
