"""Things in a picture from above: where they are, what shape and what texture they have. From pixels alone.

What shapes and textures look like is known, as their names are; what lies on this table is not. Shapes are compared in
polar coordinates around their centres, in which a turn is a shift.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.ndimage import binary_erosion, distance_transform_edt, map_coordinates, uniform_filter

from assay.extensions.tabletop.world.model import EXTENT
from assay.extensions.tabletop.world.render import HEIGHT, WIDTH, Views
from assay.extensions.tabletop.world.scene import SOLIDS, X_HIGH, X_LOW
from assay.extensions.tabletop.world.textures import DARK, GREY, SIDE, SPAN, TEXTURES, TWINNED, texture

PIXEL = EXTENT["top"] / HEIGHT
"""Metres."""
_RADII, _ANGLES = 44, 120
"""Of the polar grid, a pixel and three degrees apart."""
_RADIUS = np.arange(_RADII) + 0.5
_ANGLE = np.arange(_ANGLES) * 2 * np.pi / _ANGLES
_GRID = np.stack([np.outer(_RADIUS, np.cos(_ANGLE)), np.outer(_RADIUS, np.sin(_ANGLE))])
"""Rows and columns from the centre, pixels, (2, _RADII, _ANGLES)."""
_LEVELS = 8
"""Of each colour, in histograms."""
_LIGHTS = (0.72, 0.78, 0.83, 0.87, 0.93, 1.0)
"""How bright textures come out: on rims, on tops, on markings."""
_ALIKE = 0.09
"""How much worse a texture may fit than the one that fits best."""
_FEWEST = 6
"""Pixels of a thing."""
_TIP_CLEARANCE = 0.012
"""Room around the tip beyond which more is of no use, metres."""
LINES = ("line", "three-sided rectangle")
_KNOWN = tuple(name for name in SOLIDS if name not in (*LINES, "shorter block"))


@dataclass(frozen=True, slots=True, eq=False)
class SeenObject:
    """One thing as it is seen."""

    box: tuple[float, float, float, float]
    """x_min, y_min, x_max, y_max, metres."""
    centre: np.ndarray
    """Of its pixels, metres, (2,)."""
    outline: np.ndarray
    """Its mask around its centre, 0 to 1, (_RADII, _ANGLES)."""
    pixels: np.ndarray
    """Where it is seen: rows and columns, (n, 2)."""
    colours: np.ndarray
    """Histogram."""
    light: float
    """Mean brightness, 0 to 255."""
    tall: float
    """Rows from its foot to its top in the front view, less what its depth takes up: about its height, pixels."""

    @property
    def middle(self) -> np.ndarray:
        """Of its box, metres, (2,)."""
        return np.array([self.box[0] + self.box[2], self.box[1] + self.box[3]]) / 2

    def shape(self) -> tuple[str, np.ndarray, float]:
        """The most similar shape, where its origin is, metres, and its yaw."""
        overlaps = {name: _overlaps(_template(name)[0], self.outline) for name in _KNOWN}
        name = max(overlaps, key=lambda each: overlaps[each].max())
        yaw = float(_ANGLE[int(overlaps[name].argmax())])
        c, s = np.cos(yaw), np.sin(yaw)
        x, y = _template(name)[1]
        return name, self.centre - (c * x - s * y, s * x + c * y), yaw

    def like(self, name: str) -> float:
        """How much it looks like a shape, 0 to 1."""
        return float(_overlaps(_template(name)[0], self.outline).max())

    def grip(self, attempt: int = 0) -> np.ndarray:
        """A place near its middle with room around the tip, metres, (2,); others at later attempts."""
        first = self.pixels.min(axis=0) - 1
        mask = np.zeros(self.pixels.max(axis=0) - first + 2, dtype=bool)
        rows, columns = (self.pixels - first).T
        mask[rows, columns] = True
        depth = distance_transform_edt(mask)[rows, columns] * PIXEL
        away = np.linalg.norm(_metres(self.pixels) - self.middle, axis=1)
        order = np.argsort(away - 3 * np.minimum(depth, _TIP_CLEARANCE), kind="stable")
        return np.asarray(_metres(self.pixels[order[min(attempt * 7, len(order) - 1)]][None])[0])


def see_objects(views: Views) -> list[SeenObject]:
    """The things in the view from above; the front view tells how tall they are."""
    picture, labels = views["top"]
    front = views["front"][1]
    objects = []
    for label in np.unique(labels[labels > 0]):
        pixels = np.argwhere(labels == label)
        if len(pixels) >= _FEWEST:
            objects.append(_see_object(picture, labels, front, int(label), pixels))
    return objects


def _see_object(
    picture: np.ndarray, labels: np.ndarray, front: np.ndarray, label: int, pixels: np.ndarray
) -> SeenObject:
    low, high = _metres(pixels.min(axis=0)[None] - 0.5)[0], _metres(pixels.max(axis=0)[None] + 0.5)[0]
    # What lies within its box, as a piece in a container, hides a part of it.
    (top, left), (bottom, right) = pixels.min(axis=0), pixels.max(axis=0)
    whole = (labels == label).astype(float)
    for other in np.unique(labels[top : bottom + 1, left : right + 1]):
        inside = np.argwhere(labels == other)
        if other not in (0, label) and (inside >= (top, left)).all() and (inside <= (bottom, right)).all():
            whole[labels == other] = 1.0
    centre = np.argwhere(whole > 0).mean(axis=0)
    outline = map_coordinates(whole, _GRID + centre[:, None, None], order=1)
    # At its edges colours are mixed with those behind it.
    inner = np.argwhere(binary_erosion(labels == label))
    inner = inner if len(inner) >= _FEWEST else pixels
    colours = picture[inner[:, 0], inner[:, 1]].astype(float)
    rows = np.flatnonzero((front == label).any(axis=1))
    # Seen at 45 degrees, depth and height are both foreshortened alike.
    tall = (np.ptp(rows) + 1 - (bottom - top + 1) / np.sqrt(2)) if len(rows) else 0.0
    return SeenObject(
        (float(low[0]), float(low[1]), float(high[0]), float(high[1])),
        _metres(centre[None])[0],
        outline,
        pixels,
        histogram(colours),
        float(colours.mean()),
        float(tall),
    )


def _metres(pixels: np.ndarray) -> np.ndarray:
    """Where on the table pixels (n, 2) lie, (n, 2)."""
    x = (X_LOW + X_HIGH) / 2 + (pixels[:, 0] + 0.5 - HEIGHT / 2) * PIXEL
    return np.column_stack([x, (pixels[:, 1] + 0.5 - WIDTH / 2) * PIXEL])


def histogram(colours: np.ndarray) -> np.ndarray:
    """Shares of colours (n, 3), each spread over the bins next to it, (_LEVELS ** 3,)."""
    scaled = np.clip(colours / 256 * _LEVELS - 0.5, 0, _LEVELS - 1 - 1e-6)
    low = scaled.astype(int)
    part = scaled - low
    bins = np.zeros(_LEVELS**3)
    for corner in np.ndindex(2, 2, 2):
        weight = np.prod(np.where(corner, part, 1 - part), axis=1)
        place = np.ravel_multi_index(tuple((low + corner).T), (_LEVELS,) * 3)
        bins += np.bincount(place, weight, _LEVELS**3)
    return np.asarray(bins / len(colours))


def histogram_difference(one: np.ndarray, other: np.ndarray) -> float:
    """How different two histograms are, 0 to 1."""
    return 1.0 - float(np.minimum(one, other).sum())


def nearest_texture(thing: SeenObject) -> str:
    """The texture that it seems to have, by name."""
    return min(_texture_histograms(), key=lambda name: texture_difference(thing, name))


def may_have_texture(thing: SeenObject, name: str) -> bool:
    """Whether it may have a texture: no other fits it much better. Stripes and dots of two colours are hard to tell."""
    return texture_difference(thing, name) < texture_difference(thing, nearest_texture(thing)) + _ALIKE


def texture_difference(thing: SeenObject, name: str) -> float:
    """How much a thing differs from a texture, 0 to 1."""
    return min(histogram_difference(thing.colours, histogram) for histogram in _texture_histograms()[name])


@cache
def _texture_histograms() -> Mapping[str, tuple[np.ndarray, ...]]:
    """The histograms of every texture in every light, as blurred as they are seen."""
    blur = max(1, round(PIXEL / SPAN * SIDE))
    histograms = {}
    for name in (*TEXTURES, *(DARK + texture_name for texture_name in TWINNED), GREY):
        seen = uniform_filter(texture(name).astype(float), (blur, blur, 1), mode="wrap")
        seen = seen[::2, ::2].reshape(-1, 3)
        histograms[name] = tuple(histogram(seen * light) for light in _LIGHTS)
    return histograms


@cache
def _template(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A shape's mask around its centre at yaw 0, and where its centre is, metres from its origin."""
    cells = (np.mgrid[-_RADII : _RADII + 1, -_RADII : _RADII + 1] * PIXEL).reshape(2, -1)
    filled = cells[:, _covers(name, cells)]
    centre = filled.mean(axis=1)
    mask = _covers(name, _GRID.reshape(2, -1) * PIXEL + centre[:, None]).reshape(_RADII, _ANGLES)
    return mask.astype(float), centre


def _covers(name: str, places: np.ndarray) -> np.ndarray:
    """Which places (2, n), metres from its origin, a shape covers, (n,)."""
    covered = np.zeros(places.shape[1], dtype=bool)
    for piece in SOLIDS[name].pieces:
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):  # walls lean
            outline = (1 - share) * piece.bottom + share * piece.top
            sides = np.roll(outline, -1, axis=0) - outline  # counter-clockwise: what is inside is to the left
            offsets = places.T[:, None] - outline  # (n, sides, 2)
            covered |= (sides[:, 0] * offsets[..., 1] - sides[:, 1] * offsets[..., 0] >= -1e-9).all(axis=1)
    return covered


def _overlaps(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Shared area as a share of what either covers, for every turn of the first, (_ANGLES,)."""
    turned = np.fft.ifft(np.conj(np.fft.fft(one, axis=1)) * np.fft.fft(other, axis=1), axis=1).real
    both = _RADIUS @ turned
    return np.asarray(both / ((_RADIUS @ one).sum() + (_RADIUS @ other).sum() - both))


def shape_similarity(one: SeenObject, other: SeenObject) -> float:
    """How alike two things are in shape, whichever way they lie, 0 to 1."""
    return float(_overlaps(one.outline, other.outline).max())


def turn_between(pairs: list[tuple[SeenObject, SeenObject]]) -> float:
    """By how much things were turned, the same in every pair: radians, counter-clockwise."""
    worth = sum(_overlaps(before.outline, after.outline) for before, after in pairs)
    return float(_ANGLE[int(np.argmax(worth))])
