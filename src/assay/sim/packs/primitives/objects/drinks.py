"""Milk and juice in cartons with a gable top."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from xml.etree.ElementTree import Element

from assay.sim.packs.primitives.objects import palette as p
from assay.sim.packs.primitives.objects.decals import disc, letters, patch, plane
from assay.sim.packs.primitives.objects.meshes import cuboid, prism
from assay.sim.packs.primitives.objects.sculpture import Facts, Sculpture
from assay.sim.packs.primitives.shapes import Rgba

_HALF = 26.3
_BOTTOM, _EAVES, _RIDGE = -69.8, 39.8, 61.4


@dataclass(frozen=True, slots=True)
class Gable:
    """A carton with a gable top. Millimetres, upright."""

    facts: Facts
    card: Rgba
    roof: Rgba
    foot: Rgba
    ink: Rgba
    name: str
    fruit: Rgba | None = None
    """A big disc below the name: what it was pressed from."""
    shift: float = 0.0
    """How far the box is off the frame of the object, along x."""
    scale: float = 1.0


def build(category: str, gable: Gable) -> Element:
    """The document of a carton."""
    thing = Sculpture(category, gable.facts)
    s = gable.scale
    half, bottom, eaves, ridge = _HALF * s, _BOTTOM * s, _EAVES * s, _RIDGE * s
    left, right = gable.shift * s - half, gable.shift * s + half
    knee = eaves + 0.45 * (ridge - eaves)
    thing.block((left, -half, bottom), (right, half, eaves))
    thing.block((left, -0.55 * half, eaves), (right, 0.55 * half, knee))
    thing.block((left, -3.0 * s, knee), (right, 3.0 * s, ridge))

    fold = ridge - 6.0 * s
    outline = ((left, -half), (right, -half), (right, half), (left, half))
    crest = ((left, -1.5), (right, -1.5), (right, 1.5), (left, 1.5))
    thing.draw(gable.card, cuboid((left, -half, bottom), (right, half, eaves)))
    thing.draw(gable.roof, prism([(x, y, eaves) for x, y in outline], [(x, y, fold) for x, y in crest]))
    thing.draw(p.WHITE, cuboid((left, -1.5, fold), (right, 1.5, ridge)))
    tall = eaves - bottom
    for centre, along, edge in (
        ((gable.shift * s, -half, bottom), (1, 0, 0), half),
        ((gable.shift * s, half, bottom), (-1, 0, 0), half),
        ((right, 0.0, bottom), (0, 1, 0), half),
        ((left, 0.0, bottom), (0, -1, 0), half),
    ):
        face = plane(centre, along, (0, 0, 1))
        thing.draw(gable.foot, patch(face, (-edge, edge), (0.0, 0.16 * tall)))
        size = min(1.7 * edge / (4 * len(gable.name)) * 5, 0.2 * tall)
        thing.draw(gable.ink, letters(face, gable.name, size, (0.0, 0.76 * tall)))
        if gable.fruit is not None:
            thing.draw(gable.fruit, disc(face, 0.62 * edge, 0.62 * edge, (0.0, 0.42 * tall), sides=16))
    return thing.document()


_MILK = Gable(Facts(31.7, radius=30.0, tipped=True), p.WHITE, p.RED, p.RED, p.RED, "MILK", shift=0.2)
_JUICE = Gable(
    Facts(31.7, tipped=True), p.ORANGE, p.YELLOW, p.GREEN, p.WHITE, "ORANGE", fruit=p.YELLOW, shift=-0.2
)

_GABLES: Mapping[str, Gable] = {
    "milk": _MILK,
    "yellow_milk": replace(_MILK, card=p.YELLOW),
    "bigger_milk": replace(_MILK, facts=replace(_MILK.facts, mass=31.7 * 1.2**3), scale=1.2),
    "orange_juice": _JUICE,
}

BUILDERS: Mapping[str, Callable[[], Element]] = {
    category: partial(build, category, gable) for category, gable in _GABLES.items()
}
"""From category to document."""
