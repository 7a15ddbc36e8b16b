"""Whether two things can be told apart by their looks: where a task's words do so, a person must be able to.

Their portraits are compared: how different their colours are, all in all; how different what is drawn on them is,
wherever on them it begins; and how different their outlines and sizes are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from assay.sim.packs.pack import AssetPack
from assay.sim.packs.registry import planning_pack
from assay.sim.portraits import Portrait, portrait
from assay.tasks.scene import Entity

COLOUR = 12.0
"""How far apart the mean colours of two things must be, in CIELAB; from about 2 on one sees that two patches differ."""
PATTERN = 12.0
"""How far apart the colours of two things must be pixel by pixel, in the mean, however their patterns are shifted."""
OUTLINE = 0.1
"""The share of the pixels of both that only one of them must have, however their pictures are shifted."""
SIZE = 1.3
"""How many times as many pixels the larger one must have."""
_SHIFT = 3
"""By how many pixels one picture is shifted against the other at most, each way."""

_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
_WHITE = _TO_XYZ.sum(axis=1)


@dataclass(frozen=True, slots=True)
class Difference:
    """How different two things look in the main camera's picture of 256 x 256."""

    colour: float
    """Between their mean colours, CIELAB."""
    pattern: float
    """Pixel by pixel, in the mean, with the pictures shifted so that they are most alike, CIELAB."""
    outline: float
    """The share of the pixels of both that only one has, with the pictures shifted so that it is least, 0 to 1."""
    size: float
    """How many times as many pixels the larger one has."""

    @property
    def enough(self) -> bool:
        """Whether a person tells them apart."""
        return (
            self.colour >= COLOUR or self.pattern >= PATTERN or self.outline >= OUTLINE or self.size >= SIZE
        )

    def __str__(self) -> str:
        return (
            f"colours {self.colour:.0f} of {COLOUR:.0f}, patterns {self.pattern:.0f} of {PATTERN:.0f}, "
            f"outlines {self.outline:.2f} of {OUTLINE:g}, sizes {self.size:.2f} of {SIZE:g}"
        )


def difference(one: Entity, other: Entity, pack: AssetPack | None = None) -> Difference:
    """How different two entities look, standing at the same place; ``pack``: that the scene is planned for, if None."""
    pack = pack or planning_pack()
    first, second = (portrait(_anonymous(each), pack) for each in (one, other))
    pixels = sorted((first.pixels, second.pixels))
    means = [_lab(each.colour.sum(axis=(0, 1)) / max(each.pixels, 1e-9)) for each in (first, second)]
    colour = float(np.linalg.norm(means[0] - means[1]))
    pattern, outline = _shifted(first, second)
    outline = 0.0 if one.category == other.category else outline  # then they differ in size alone
    return Difference(colour, pattern, outline, pixels[1] / max(pixels[0], 1e-9))


def alike(
    entities: Sequence[Entity], pack: AssetPack | None = None
) -> tuple[Entity, Entity, Difference] | None:
    """Two of some entities that nobody tells apart by their looks, if there are such."""
    for one, other in combinations(entities, 2):
        found = difference(one, other, pack)
        if not found.enough:
            return one, other, found
    return None


def _anonymous(entity: Entity) -> Entity:
    """One name for all that look the same: portraits are kept."""
    return Entity("thing", entity.category, entity.finish, entity.size)


def _shifted(one: Portrait, other: Portrait) -> tuple[float, float]:
    """The mean distance of colours where both are, and the share where one is alone: each of its best shift."""
    first, second = _framed(one, other)
    pattern, outline = np.inf, 1.0
    shifts = range(-_SHIFT, _SHIFT + 1)
    height, width, _ = second.shape
    around = np.pad(second, ((_SHIFT, _SHIFT), (_SHIFT, _SHIFT), (0, 0)))
    # Turned by half, a thing is about its mirror image: on which side a handle is tells nothing apart.
    for seen, down, right in product((around, around[:, ::-1]), shifts, shifts):
        moved = seen[_SHIFT - down :, _SHIFT - right :][:height, :width]
        covers = first[..., 3], moved[..., 3]
        shared = np.minimum(*covers)
        outline = min(outline, 1.0 - float(shared.sum() / max(np.maximum(*covers).sum(), 1e-9)))
        both = shared > 0.99
        if both.any():
            distance = np.linalg.norm(first[both][:, :3] - moved[both][:, :3], axis=1)
            pattern = min(pattern, float(distance.mean()))
    return pattern if np.isfinite(pattern) else 0.0, outline


def _framed(*portraits: Portrait) -> list[np.ndarray]:
    """Pictures of one size with their things in the middle: CIELAB and cover, (height, width, 4)."""
    height, width = (max(each.cover.shape[axis] for each in portraits) + 2 * _SHIFT for axis in (0, 1))
    frames = []
    for each in portraits:
        rows, columns = each.cover.shape
        top, left = (height - rows) // 2, (width - columns) // 2
        frame = np.zeros((height, width, 4))
        own = frame[top : top + rows, left : left + columns]
        own[..., :3] = _lab(each.colour / np.maximum(each.cover, 1e-9)[..., None])
        own[..., 3] = each.cover
        frames.append(frame)
    return frames


def _lab(rgb: np.ndarray) -> np.ndarray:
    """Colours of a screen (sRGB, 0 to 1, (..., 3)) in CIELAB, where distances are about as large as they look."""
    rgb = np.clip(rgb, 0.0, 1.0)
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    share = linear @ _TO_XYZ.T / _WHITE
    root = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    x, y, z = np.moveaxis(root, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)
