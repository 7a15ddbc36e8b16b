"""Bowls, plates, the ramekin and the frying pan: hollow, with a rim that fits between two fingers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from xml.etree.ElementTree import Element

from assay.sim.packs.primitives.objects import palette as p
from assay.sim.packs.primitives.objects.meshes import join, sweep, turned
from assay.sim.packs.primitives.objects.sculpture import RECESS, Facts, Sculpture
from assay.sim.packs.primitives.shapes import Rgba

_PIECES = 12
_FLARED_PIECES = 16
"""Planks of a wall that flares: its planks are as wide at its narrow end, and so need to be slimmer."""


@dataclass(frozen=True, slots=True)
class Bowl:
    """A round bowl. Millimetres."""

    facts: Facts
    radius: float
    """Of its rim."""
    z: tuple[float, float]
    """Lowest and highest point relative to the frame of the object."""
    outside: Rgba
    inside: Rgba


def build_bowl(category: str, bowl: Bowl) -> Element:
    """The document of a bowl: a small foot, a lower wall that flares, an upper wall that is almost upright.

    What it stands in touches the lower wall. LIBERO's stored states begin with bowls inside the rims of
    plates, so that wall is thin and ends where the upper one begins: every contact then pushes the two apart
    in much the same direction, where planks crossing each other would fling them across the room.
    """
    thing = Sculpture(category, bowl.facts)
    r, (low, high) = bowl.radius, bowl.z
    tall = high - low
    foot, waist = 0.39 * r, low + 0.3 * tall
    thing.block((-foot, -foot, low), (foot, foot, low + 0.1 * tall))
    thing.ring((0.42 * r, 0.815 * r), (low + 0.02 * tall, waist), 0.034 * r, pieces=_FLARED_PIECES)
    thing.ring((0.78 * r, 0.983 * r), (waist + 0.005 * tall, high), 0.048 * r, pieces=_PIECES)
    outer = [
        (0.0, 0.0),
        (0.43, 0.0),
        (0.45, 0.04),
        (0.60, 0.13),
        (0.74, 0.22),
        (0.82, 0.31),
        (0.87, 0.46),
        (0.95, 0.75),
        (1.0, 1.0),
    ]
    inner = [(0.94, 1.0), (0.89, 0.75), (0.81, 0.46), (0.75, 0.33), (0.6, 0.19), (0.47, 0.11), (0.0, 0.1)]
    thing.draw(bowl.outside, turned([(x * r, low + y * tall) for x, y in [*outer, inner[0]]]))
    thing.draw(bowl.inside, turned([(x * r, low + y * tall) for x, y in inner]))
    return thing.document()


def build_plate(category: str, glaze: Rgba, border: Rgba) -> Element:
    """The document of a plate: stands on z = -2.5 mm, its floor is at 5.4 mm, its rim at 16.4 mm."""
    thing = Sculpture(category, Facts(11.5))
    thing.block((-28.5, -28.5, -2.5), (28.5, 28.5, 5.4))
    thing.ring((29.0, 67.3), (-2.5 + RECESS, 16.4), 5.2, pieces=_PIECES)
    under = [(0.0, -2.5), (42.0, -2.5), (44.0, 0.0), (56.0, 6.0), (68.3, 13.5), (68.8, 15.4), (67.6, 16.4)]
    thing.draw(glaze, turned([*under, (66.5, 16.2)], segments=24))
    thing.draw(border, turned([(66.5, 16.2), (58.0, 13.0)], segments=24))
    thing.draw(glaze, turned([(58.0, 13.0), (46.0, 8.3), (40.0, 6.0), (34.0, 5.4)], segments=24))
    thing.draw(border, turned([(34.0, 5.4), (32.5, 5.4)], segments=24))
    thing.draw(glaze, turned([(32.5, 5.4), (0.0, 5.4)], segments=24))
    return thing.document()


def build_ramekin(category: str) -> Element:
    """The document of a small fluted baking dish: stands on z = 0.7 mm, 42 mm tall."""
    thing = Sculpture(category, Facts(9.7))
    thing.block((-28.0, -28.0, 0.7), (28.0, 28.0, 7.3))
    thing.ring((33.2, 44.0), (0.7 + RECESS, 42.7), 5.2, pieces=_PIECES)
    foot = [(0.0, 0.7), (37.5, 0.7), (39.0, 3.0)]
    rim = [(41.8, 33.0), (44.3, 36.0), (44.6, 41.0), (43.5, 42.7), (39.8, 42.7)]
    hollow = [(39.8, 42.7), (37.5, 36.0), (35.5, 30.0), (34.5, 9.0), (31.0, 7.3), (0.0, 7.3)]
    flutes = turned([(39.2, 3.0), (41.6, 33.0)], segments=28, faceted=True)
    thing.draw(p.WHITE, turned(foot), turned(rim, segments=24), flutes)
    thing.draw(p.PORCELAIN, turned(hollow, segments=24))
    return thing.document()


def build_frypan(category: str, metal: Rgba, coating: Rgba) -> Element:
    """The document of a frying pan: stands on z = 0.8 mm, its handle points along +x."""
    thing = Sculpture(category, Facts(50.2))
    centre = (5.0, -1.0)
    thing.block((5.0 - 54.0, -55.0, 0.8), (5.0 + 54.0, 53.0, 8.0))
    thing.ring((60.0, 101.8), (0.8 + RECESS, 42.4), 5.0, pieces=_PIECES, centre=centre)
    thing.beam((103.0, 0.0, 32.7), (258.5, 0.0, 52.5), width=25.4, thickness=12.4, heaviness=0.6)
    outer = [(0.0, 0.8), (68.0, 0.8), (76.0, 4.0), (88.0, 18.0), (97.0, 34.0), (102.0, 42.4)]
    inner = [(97.5, 42.4), (92.0, 34.0), (82.0, 18.0), (73.0, 9.5), (66.0, 8.0), (0.0, 8.0)]
    thing.draw(metal, turned([*outer, inner[0]], centre, segments=24))
    thing.draw(coating, turned(inner, centre, segments=24))
    grip = sweep(
        [(130.0, 0.0, 36.0), (160.0, 0.0, 42.0), (200.0, 0.0, 47.5), (245.0, 0.0, 50.5), (258.5, 0.0, 51.0)],
        25.0,
        14.0,
    )
    stem = sweep([(96.0, 0.0, 31.0), (114.0, 0.0, 33.0), (134.0, 0.0, 37.0)], 16.0, 9.0)
    thing.draw(p.BLACK, grip)
    thing.draw(p.STEEL, join(stem))
    return thing.document()


def _akita(outside: Rgba, inside: Rgba | None = None, scale: float = 1.0) -> Bowl:
    """LIBERO's black bowl in a colour and size."""
    return Bowl(
        Facts(5.6 * scale**3), 53.4 * scale, (1.6 * scale, 52.1 * scale), outside, inside or _lighter(outside)
    )


def _small(outside: Rgba) -> Bowl:
    """LIBERO's white bowl in a colour."""
    return Bowl(Facts(2.1), 40.7, (0.6, 35.1), outside, _lighter(outside))


def _lighter(rgba: Rgba) -> Rgba:
    """A colour a little nearer to white, so that the inside of a thing tells from its outside."""
    r, g, b, a = rgba
    return r + 0.12 * (1 - r), g + 0.12 * (1 - g), b + 0.12 * (1 - b), a


_BOWLS: Mapping[str, Bowl] = {
    "akita_black_bowl": _akita(p.BLACK, p.CHARCOAL),
    "black_bowl": _akita(p.BLACK, p.CHARCOAL),
    "small_akita_black_bowl": _akita(p.BLACK, p.CHARCOAL, 0.55 / 0.7),
    "large_akita_black_bowl": _akita(p.BLACK, p.CHARCOAL, 0.85 / 0.7),
    "bigger_akita_black_bowl": _akita(p.BLACK, p.CHARCOAL, 1.2),
    "red_akita_black_bowl": _akita(p.RED),
    "akita_red_bowl": _akita(p.RED),
    "akita_green_bowl": _akita(p.GREEN),
    "akita_blue_bowl": _akita(p.BLUE),
    "akita_yellow_bowl": _akita(p.YELLOW),
    "akita_purple_bowl": _akita(p.PURPLE),
    "pink_bowl": _akita(p.PINK),
    "teal_bowl": _akita(p.TEAL),
    "white_bowl": _small(p.WHITE),
    "red_bowl": _small(p.RED),
    "yellow_bowl": _small(p.YELLOW),
}

BUILDERS: Mapping[str, Callable[[], Element]] = {
    **{category: partial(build_bowl, category, bowl) for category, bowl in _BOWLS.items()},
    "plate": partial(build_plate, "plate", p.WHITE, p.DARK_RED),
    "yellow_plate": partial(build_plate, "yellow_plate", p.YELLOW, p.WHITE),
    "glazed_rim_porcelain_ramekin": partial(build_ramekin, "glazed_rim_porcelain_ramekin"),
    "chefmate_8_frypan": partial(build_frypan, "chefmate_8_frypan", p.BLACK, p.CHARCOAL),
}
"""From category to document."""
