"""Objects in a top view: position, shape and texture, from pixels alone.

The shapes and textures that exist are known, with their names; the contents of this table are not. Shapes are
compared in polar coordinates around their centres, in which a rotation is a shift.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.ndimage import binary_erosion, distance_transform_edt, map_coordinates, uniform_filter

from assay.extensions.tabletop.world.model import EXTENT
from assay.extensions.tabletop.world.observation import HEIGHT, WIDTH, Views
from assay.extensions.tabletop.world.scene import X_HIGH, X_LOW, solids
from assay.extensions.tabletop.world.textures import DARK, GREY, SIDE, SPAN, TEXTURES, TWINNED, texture

PIXEL = EXTENT["top"] / HEIGHT
"""Size of a pixel in the top view, metres."""
_RADII, _ANGLES = 44, 120
"""Numbers of radii and angles of the polar grid, spaced by one pixel and three degrees."""
_RADIUS = np.arange(_RADII) + 0.5
_ANGLE = np.arange(_ANGLES) * 2 * np.pi / _ANGLES
_GRID = np.stack([np.outer(_RADIUS, np.cos(_ANGLE)), np.outer(_RADIUS, np.sin(_ANGLE))])
"""Row and column offsets of the polar grid from its centre, pixels, (2, _RADII, _ANGLES)."""
_LEVELS = 8
"""Number of histogram bins per colour channel."""
_LIGHTS = (0.72, 0.78, 0.83, 0.87, 0.93, 1.0)
"""Brightness factors of rendered textures: on rims, on tops, on markings."""
_ALIKE = 0.09
"""Maximum excess of a plausible texture's difference over that of the best fit."""
_FEWEST = 6
"""Minimum number of pixels of an object."""
_TIP_CLEARANCE = 0.012
"""Clearance around the tip beyond which more brings no advantage, metres."""
LINES = ("line", "three-sided rectangle")
_KNOWN = tuple(name for name in solids() if name not in (*LINES, "shorter block"))


@dataclass(frozen=True, slots=True, eq=False)
class SeenObject:
    """An object as perceived in the images."""

    box: tuple[float, float, float, float]
    """Bounding box: x_min, y_min, x_max, y_max, metres."""
    centre: np.ndarray
    """Centroid of the object's pixels, metres, (2,)."""
    outline: np.ndarray
    """Polar mask around the object's centre, 0 to 1, (_RADII, _ANGLES)."""
    pixels: np.ndarray
    """Rows and columns of the object's pixels, (n, 2)."""
    colours: np.ndarray
    """Colour histogram, (_LEVELS ** 3,)."""
    light: float
    """Mean brightness, 0 to 255."""
    tall: float
    """Approximate height: rows from foot to top in the front view minus the share due to its depth, pixels."""

    @property
    def middle(self) -> np.ndarray:
        """Centre of the bounding box, metres, (2,)."""
        return np.array([self.box[0] + self.box[2], self.box[1] + self.box[3]]) / 2

    def shape(self) -> tuple[str, np.ndarray, float]:
        """Return the most similar shape, the position of its origin, metres, and its yaw, radians."""
        overlaps = {name: _overlaps(_template(name)[0], self.outline) for name in _KNOWN}
        name = max(overlaps, key=lambda each: overlaps[each].max())
        yaw = float(_ANGLE[int(overlaps[name].argmax())])
        c, s = np.cos(yaw), np.sin(yaw)
        x, y = _template(name)[1]
        return name, self.centre - (c * x - s * y, s * x + c * y), yaw

    def like(self, name: str) -> float:
        """Return the similarity to a shape, 0 to 1."""
        return float(_overlaps(_template(name)[0], self.outline).max())

    def grip(self, attempt: int = 0) -> np.ndarray:
        """Return a grasp point near the centre with clearance around the tip, metres, (2,); it varies by attempt."""
        first = self.pixels.min(axis=0) - 1
        mask = np.zeros(self.pixels.max(axis=0) - first + 2, dtype=bool)
        rows, columns = (self.pixels - first).T
        mask[rows, columns] = True
        depth = distance_transform_edt(mask)[rows, columns] * PIXEL
        away = np.linalg.norm(_metres(self.pixels) - self.middle, axis=1)
        order = np.argsort(away - 3 * np.minimum(depth, _TIP_CLEARANCE), kind="stable")
        return np.asarray(_metres(self.pixels[order[min(attempt * 7, len(order) - 1)]][None])[0])


def see_objects(views: Views) -> list[SeenObject]:
    """Return the objects in the top view; their heights are estimated from the front view."""
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
    """Return the positions on the table of pixels (n, 2), metres, (n, 2)."""
    x = (X_LOW + X_HIGH) / 2 + (pixels[:, 0] + 0.5 - HEIGHT / 2) * PIXEL
    return np.column_stack([x, (pixels[:, 1] + 0.5 - WIDTH / 2) * PIXEL])


def histogram(colours: np.ndarray) -> np.ndarray:
    """Return the histogram of colours (n, 3), each distributed over adjacent bins, (_LEVELS ** 3,)."""
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
    """Return the difference between two histograms, 0 to 1."""
    return 1.0 - float(np.minimum(one, other).sum())


def nearest_texture(thing: SeenObject) -> str:
    """Return the name of the most similar texture."""
    return min(_texture_histograms(), key=lambda name: texture_difference(thing, name))


def may_have_texture(thing: SeenObject, name: str) -> bool:
    """Return whether a texture is plausible, with no other fitting much better.

    Two-coloured stripes and dots look similar.
    """
    return texture_difference(thing, name) < texture_difference(thing, nearest_texture(thing)) + _ALIKE


def texture_difference(thing: SeenObject, name: str) -> float:
    """Return the difference between an object and a texture, 0 to 1."""
    return min(histogram_difference(thing.colours, histogram) for histogram in _texture_histograms()[name])


@cache
def _texture_histograms() -> Mapping[str, tuple[np.ndarray, ...]]:
    """Return the histograms of every texture at every brightness, blurred as in the camera images."""
    blur = max(1, round(PIXEL / SPAN * SIDE))
    histograms = {}
    for name in (*TEXTURES, *(DARK + texture_name for texture_name in TWINNED), GREY):
        seen = uniform_filter(texture(name).astype(float), (blur, blur, 1), mode="wrap")
        seen = seen[::2, ::2].reshape(-1, 3)
        histograms[name] = tuple(histogram(seen * light) for light in _LIGHTS)
    return histograms


@cache
def _template(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the mask of a shape around its centre at yaw 0, and the centre relative to its origin, metres."""
    cells = (np.mgrid[-_RADII : _RADII + 1, -_RADII : _RADII + 1] * PIXEL).reshape(2, -1)
    filled = cells[:, _covers(name, cells)]
    centre = filled.mean(axis=1)
    mask = _covers(name, _GRID.reshape(2, -1) * PIXEL + centre[:, None]).reshape(_RADII, _ANGLES)
    return mask.astype(float), centre


def _covers(name: str, places: np.ndarray) -> np.ndarray:
    """Return a mask (n,) of the positions (2, n), metres from its origin, that a shape covers."""
    covered = np.zeros(places.shape[1], dtype=bool)
    for piece in solids()[name].pieces:
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):  # walls lean
            outline = (1 - share) * piece.bottom + share * piece.top
            sides = np.roll(outline, -1, axis=0) - outline  # counter-clockwise: what is inside is to the left
            offsets = places.T[:, None] - outline  # (n, sides, 2)
            covered |= (sides[:, 0] * offsets[..., 1] - sides[:, 1] * offsets[..., 0] >= -1e-9).all(axis=1)
    return covered


def _overlaps(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the intersection over union for every rotation of the first mask, (_ANGLES,)."""
    turned = np.fft.ifft(np.conj(np.fft.fft(one, axis=1)) * np.fft.fft(other, axis=1), axis=1).real
    both = _RADIUS @ turned
    return np.asarray(both / ((_RADIUS @ one).sum() + (_RADIUS @ other).sum() - both))


def shape_similarity(one: SeenObject, other: SeenObject) -> float:
    """Return the rotation-invariant similarity of two objects' shapes, 0 to 1."""
    return float(_overlaps(one.outline, other.outline).max())


def turn_between(pairs: list[tuple[SeenObject, SeenObject]]) -> float:
    """Return the rotation common to all pairs of objects, radians, counter-clockwise."""
    worth = sum(_overlaps(before.outline, after.outline) for before, after in pairs)
    return float(_ANGLE[int(np.argmax(worth))])
