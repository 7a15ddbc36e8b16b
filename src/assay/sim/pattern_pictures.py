"""The pictures of patterns: one tile of stripes, checkers, speckles, a grid, waves or a gradient, in two colours.

A tile continues itself on every side. MuJoCo has no such pictures built in, and files would have to be shipped:
so a document asks for a plain texture whose name says the pattern, and the compiled model's is painted over.
"""

from __future__ import annotations

import re
from functools import cache
from xml.etree.ElementTree import Element

import mujoco
import numpy as np

from assay.tasks.scene import Colour, Pattern

PIXELS = 128
"""Width and height of a tile."""
PERIODS = 2
"""How often stripes and waves repeat in a tile; checkers have as many pairs of cells on each side."""
WAVE = 0.45
"""How high a wave is, as a share of the distance to the next; it is as long as a tile."""
LINES = 3
"""How many lines of a grid cross a tile each way."""
LINE = 0.28
"""Width of a grid's line, as a share of the distance to the next."""
SPOTS = 3
"""How many rows of speckles a tile has, and how many speckles a row."""
SPOT = 0.34
"""Mean radius of a speckle, as a share of the distance to the next."""
DARK = 0.5
"""How bright a colour is below which the second colour of a pattern is a lighter one (Rec. 709, 0 to 1)."""
DARKER, LIGHTER = 0.22, 0.75
"""The second colour: this share of a bright colour; a dark one moved so far towards white."""

_BRIGHTNESS = np.array([0.2126, 0.7152, 0.0722])
_NAMED = re.compile(r"_pattern_(?P<pattern>[a-z]+)")


def second_colour(colour: Colour) -> Colour:
    """What a pattern is drawn in on ``colour``: the same hue, much darker, or much lighter on what is dark."""
    own = np.array(colour)
    other = own * DARKER if own @ _BRIGHTNESS > DARK else own + LIGHTER * (1.0 - own)
    red, green, blue = map(float, other)
    return red, green, blue


def texture_name(stem: str, pattern: Pattern) -> str:
    """The name of the texture that `paint` paints with a pattern."""
    return f"{stem}_pattern_{pattern.value}"


def paint(model: mujoco.MjModel, document: Element) -> None:
    """Paint a fresh model's textures that its document names after a pattern."""
    for texture in document.iterfind("./asset/texture"):
        name = str(texture.get("name"))
        named = _NAMED.search(name)
        if named is None or texture.get("builtin") != "flat":
            continue
        first, second = (
            np.array([float(word) for word in str(texture.get(key)).split()]) for key in ("rgb1", "rgb2")
        )
        share = _share(Pattern(named["pattern"]))[..., None]
        picture = np.rint(255 * (first + share * (second - first))).astype(np.uint8)
        index = model.texture(name).id
        start = int(model.tex_adr[index])
        model.tex_data[start : start + picture.size] = picture.ravel()


@cache
def _share(pattern: Pattern) -> np.ndarray:
    """How much of the second colour each pixel of a tile has, 0 to 1, (PIXELS, PIXELS): rows are v, columns u."""
    fine = 4  # four by four points a pixel: soft edges
    along = (np.arange(fine * PIXELS) + 0.5) / (fine * PIXELS)
    u, v = np.meshgrid(along, along)
    inked = _inked(pattern, u, v).astype(np.float64)
    return np.asarray(inked.reshape(PIXELS, fine, PIXELS, fine).mean(axis=(1, 3)))


def _inked(pattern: Pattern, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """How much of the second colour points of a tile have; ``u`` and ``v`` run from 0 to 1."""
    if pattern is Pattern.STRIPES:
        return np.asarray(u * PERIODS % 1.0 < 0.5)
    if pattern is Pattern.CHECKER:
        return np.asarray((u * PERIODS % 1.0 < 0.5) ^ (v * PERIODS % 1.0 < 0.5))
    if pattern is Pattern.GRID:
        return np.asarray((u * LINES % 1.0 < LINE) | (v * LINES % 1.0 < LINE))
    if pattern is Pattern.WAVY:
        return np.asarray((v * PERIODS + WAVE * np.sin(2 * np.pi * u)) % 1.0 < 0.5)
    if pattern is Pattern.SPECKLES:
        return _speckled(u, v)
    return np.asarray(1.0 - np.abs(2.0 * v - 1.0))


def _speckled(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Round spots of different sizes, one about each point of a lattice."""
    rng = np.random.default_rng(7)  # one picture for everybody
    inked = np.zeros_like(u, dtype=bool)
    for row in range(SPOTS):
        for column in range(SPOTS):
            x, y = (np.array([column, row]) + rng.uniform(-0.25, 0.25, 2)) / SPOTS
            radius = SPOT * rng.uniform(0.75, 1.25) / SPOTS
            dx, dy = np.abs(u - x) % 1.0, np.abs(v - y) % 1.0
            inked |= np.hypot(np.minimum(dx, 1.0 - dx), np.minimum(dy, 1.0 - dy)) < radius
    return inked
