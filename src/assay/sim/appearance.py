"""Sizes, colours and patterns of entities and surfaces, applied to MJCF documents.

MuJoCo has no built-in stripes, checkers, speckles, grids, waves or gradients. A document therefore contains a plain
texture whose name encodes the pattern, and `paint` overwrites it in the compiled model. Tiles are seamless: opposite
edges match.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import product
from xml.etree.ElementTree import Element, SubElement

import mujoco
import numpy as np

from assay.sim.texture_coordinates import parse_numbers, wrap
from assay.tasks.scene import Colour, Finish, Pattern

PIXELS = 128
"""Width and height of a pattern's tile, in pixels."""
PERIODS = 2
"""Number of stripes or waves per tile, and of pairs of checkerboard cells along each side of a tile."""
WAVE = 0.45
"""Amplitude of a wave, relative to the distance between waves; the wavelength is the width of a tile."""
LINES = 3
"""Number of grid lines per tile in each direction."""
LINE = 0.28
"""Width of a grid line, as a fraction of the distance between lines."""
SPOTS = 3
"""Number of rows of speckles per tile, and of speckles per row."""
SPOT = 0.34
"""Mean radius of a speckle, as a fraction of the distance between speckles."""
DARK = 0.5
"""Maximum luminance (Rec. 709, 0 to 1) of a dark colour, whose pattern has a lighter second colour."""
DARKER, LIGHTER = 0.22, 0.75
"""Factors for the second colour of a pattern: a bright colour is multiplied by the first factor, and a dark one is
moved towards white by the second.
"""

LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
"""Luminance weights of red, green and blue (Rec. 709)."""
_PATTERN_NAME = re.compile(r"_pattern_(?P<pattern>[a-z]+)")
GREY = (0.6, 0.6, 0.6)
"""Default colour of a pattern."""
PROJECTED_TILES = {"plane": 12}
"""Number of pattern tiles along each axis of a geom without texture coordinates, by geom type."""
DEFAULT_PROJECTED_TILES = 4
TINY = 1e-30
"""Magnitude below which numbers are written as zero, because MuJoCo rejects values that underflow a float32."""
_SCALING = {"pos": 1, "size": 1, "fromto": 1, "range": 1, "mass": 3, "diaginertia": 5, "fullinertia": 5}
"""MJCF attribute -> exponent of its size factor; a joint's range is a length only if the joint slides."""


def resize(body: Element, assets: Element, factor: float) -> None:
    """Scale an entity's body, sites and meshes by ``factor``, and explicit masses by its cube."""
    for element in body.iter():
        for name in _SCALING.keys() & element.attrib.keys():
            is_angle = name == "range" and element.get("type") != "slide"
            if not is_angle and (element is not body or name != "pos"):
                numbers = parse_numbers(element.attrib[name]) * factor ** _SCALING[name]
                element.set(name, format_numbers(numbers))
    for mesh in assets.iter("mesh"):
        mesh.set("scale", format_numbers(parse_numbers(mesh.get("scale", "1 1 1")) * factor))


def dress(root: Element, geoms: Iterable[Element], finish: Finish, name: str) -> None:
    """Apply a finish to a document's visible geoms, as a material called ``name``."""
    if finish == Finish():
        return
    assets = root.find("asset")
    assert assets is not None
    textured = geoms = list(geoms)
    colour = finish.colour or GREY
    material = {"name": name, "rgba": format_numbers((*colour, 1.0)), "specular": "0.2", "shininess": "0.2"}
    if finish.pattern is not None:
        texture = f"{name}_pattern_{finish.pattern.value}"
        image = {"type": "2d", "builtin": "flat", "width": str(PIXELS), "height": str(PIXELS)}
        colours = {"rgb1": format_numbers(colour), "rgb2": format_numbers(_contrast(colour))}
        SubElement(assets, "texture", {"name": texture} | image | colours)
        whole = finish.pattern is Pattern.GRADIENT
        material |= {"texture": texture, "rgba": "1 1 1 1", "texuniform": "false"}
        wrapped = wrap(root, geoms, whole=whole)
        for number, geom in enumerate(geoms):
            if geom not in wrapped:
                own = f"{name}_{number}"
                tiles = (
                    1 if whole else PROJECTED_TILES.get(geom.get("type", "sphere"), DEFAULT_PROJECTED_TILES)
                )
                SubElement(assets, "material", material | {"name": own, "texrepeat": f"{tiles} {tiles}"})
                geom.set("material", own)
        textured = wrapped
    SubElement(assets, "material", material)
    for geom in geoms:
        geom.attrib.pop("rgba", None)
    for geom in textured:
        geom.set("material", name)


def format_numbers(values: Iterable[float]) -> str:
    """Format numbers as the value of an MJCF attribute, without loss of precision."""
    return " ".join(repr(float(value)) if abs(value) > TINY else "0.0" for value in values)


def _contrast(colour: Colour) -> Colour:
    """Return the second colour of a pattern whose first colour is ``colour``: the same hue, but much darker, or much
    lighter if ``colour`` is dark.
    """
    own = np.array(colour)
    other = own * DARKER if own @ LUMINANCE > DARK else own + LIGHTER * (1.0 - own)
    red, green, blue = map(float, other)
    return red, green, blue


def paint(model: mujoco.MjModel, document: Element) -> None:
    """Paint the patterns into a newly compiled model: overwrite the textures whose names encode a pattern."""
    for texture in document.iterfind("./asset/texture"):
        name = str(texture.get("name"))
        match = _PATTERN_NAME.search(name)
        if match is None or texture.get("builtin") != "flat":
            continue
        first, second = (parse_numbers(str(texture.get(key))) for key in ("rgb1", "rgb2"))
        fraction = _second_colour_fraction(Pattern(match["pattern"]))[..., None]
        image = np.rint(255 * (first + fraction * (second - first))).astype(np.uint8)
        index = model.texture(name).id
        start = int(model.tex_adr[index])
        model.tex_data[start : start + image.size] = image.ravel()


@cache
def _second_colour_fraction(pattern: Pattern) -> np.ndarray:
    """Return the fraction of the second colour in each pixel of a tile, (PIXELS, PIXELS); rows are v, columns u."""
    fine = 4  # antialiasing: 4 x 4 samples per pixel
    along = (np.arange(fine * PIXELS) + 0.5) / (fine * PIXELS)
    u, v = np.meshgrid(along, along)
    mask: np.ndarray
    match pattern:
        case Pattern.STRIPES:
            mask = u * PERIODS % 1.0 < 0.5
        case Pattern.CHECKER:
            mask = (u * PERIODS % 1.0 < 0.5) ^ (v * PERIODS % 1.0 < 0.5)
        case Pattern.GRID:
            mask = (u * LINES % 1.0 < LINE) | (v * LINES % 1.0 < LINE)
        case Pattern.WAVY:
            mask = (v * PERIODS + WAVE * np.sin(2 * np.pi * u)) % 1.0 < 0.5
        case Pattern.SPECKLES:  # round spots of different sizes, one near each point of a lattice
            rng = np.random.default_rng(7)  # fixed, so that every model has the same image
            mask = np.zeros_like(u, dtype=bool)
            for row, column in product(range(SPOTS), repeat=2):
                x, y = (np.array([column, row]) + rng.uniform(-0.25, 0.25, 2)) / SPOTS
                radius = SPOT * rng.uniform(0.75, 1.25) / SPOTS
                dx, dy = np.abs(u - x) % 1.0, np.abs(v - y) % 1.0
                mask |= np.hypot(np.minimum(dx, 1.0 - dx), np.minimum(dy, 1.0 - dy)) < radius
        case Pattern.GRADIENT:
            mask = 1.0 - np.abs(2.0 * v - 1.0)
    return np.asarray(mask.astype(np.float64).reshape(PIXELS, fine, PIXELS, fine).mean(axis=(1, 3)))
