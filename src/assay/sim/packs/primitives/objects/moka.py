"""The moka pot: an eight-sided coffee maker with a spout (-y), a handle (+y) and a knob on its lid."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from xml.etree.ElementTree import Element

from assay.sim.packs.primitives.objects import palette as p
from assay.sim.packs.primitives.objects.meshes import Section, loft, prism, sweep, turned
from assay.sim.packs.primitives.objects.sculpture import Facts, Sculpture
from assay.sim.packs.primitives.shapes import Rgba


def build(category: str, metal: Rgba) -> Element:
    """The document of a moka pot: stands on z = -66.1 mm, 152 mm tall."""
    thing = Sculpture(category, Facts(68.2))
    thing.octagon(39.0, (-66.1, 67.0))
    thing.block((-8.0, -56.3, 34.0), (8.0, -34.0, 60.0))
    thing.block((-6.6, 34.0, 53.5), (6.6, 80.0, 67.2))
    thing.beam((0.0, 83.5, 61.0), (0.0, 59.0, -9.0), width=13.2, thickness=12.0)
    thing.block((-5.2, -7.0, 67.0), (5.2, 5.0, 85.7))

    corner = 1.0 / math.cos(math.pi / 8)
    profile = [
        (0.0, -66.1),
        (39.0, -66.1),
        (35.0, -16.0),
        (33.0, -14.0),
        (33.0, -4.0),
        (35.0, -2.0),
        (39.0, 58.0),
    ]
    lid = [(39.3, 58.0), (39.3, 61.0), (8.0, 69.0), (0.0, 69.0)]

    def facets(profile: list[tuple[float, float]]) -> list[Section]:
        return [Section(z, r * corner, r * corner) for r, z in profile]

    eighth = (math.pi / 8, 2.0 * math.pi + math.pi / 8)
    thing.draw(metal, loft(facets(profile), segments=8, arc=eighth, faceted=True))
    thing.draw(p.STEEL, loft(facets(lid), segments=8, arc=eighth, faceted=True))
    thing.draw(p.GREY, loft(facets([(33.4, -14.0), (33.4, -4.0)]), segments=8, arc=eighth, faceted=True))
    spout = prism(
        [(-3.0, -33.0, 28.0), (3.0, -33.0, 28.0), (10.0, -30.0, 28.0), (-10.0, -30.0, 28.0)],
        [(-2.0, -57.0, 58.0), (2.0, -57.0, 58.0), (13.0, -34.0, 58.0), (-13.0, -34.0, 58.0)],
    )
    thing.draw(metal, spout)
    grip = [
        (0.0, 36.0, 60.0),
        (0.0, 62.0, 62.5),
        (0.0, 78.0, 60.0),
        (0.0, 82.5, 50.0),
        (0.0, 76.0, 28.0),
        (0.0, 66.0, 4.0),
        (0.0, 59.0, -10.0),
    ]
    knob = [(4.5, 68.0), (4.5, 74.0), (7.0, 79.0), (7.0, 84.0), (4.5, 85.7), (0.0, 85.7)]
    thing.draw(p.BLACK, sweep(grip, 13.0, 13.0), turned(knob, (0.0, -1.0), segments=12))
    return thing.document()


BUILDERS: Mapping[str, Callable[[], Element]] = {
    "moka_pot": partial(build, "moka_pot", p.STEEL),
    "yellow_moka_pot": partial(build, "yellow_moka_pot", p.YELLOW),
}
"""From category to document."""
