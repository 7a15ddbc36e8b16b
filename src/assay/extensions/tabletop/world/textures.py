"""Appearance of objects: procedural flat colours and patterns."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Mapping
from functools import cache
from itertools import combinations
from types import MappingProxyType

import numpy as np

from assay.errors import TaskError, did_you_mean
from assay.support.streams import stream

SIDE = 64
"""Side of a texture, in pixels; one texture covers `SPAN` metres of an object."""
SPAN = 0.1

COLOURS: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "blue": (78, 121, 167),
        "red": (255, 87, 89),
        "green": (89, 169, 79),
        "orange": (242, 142, 43),
        "yellow": (237, 201, 72),
        "purple": (176, 122, 161),
        "pink": (255, 157, 167),
        "cyan": (118, 183, 178),
        "olive": (128, 128, 0),
    }
)
GREY = "grey"
"""Texture of objects in a prompt that are identified by their shape alone."""
_NEUTRAL = (186, 176, 172)
_FIVE = ("red", "yellow", "green", "blue", "purple")
_V, _U = np.mgrid[0:SIDE, 0:SIDE] / SIDE


def _two(where: np.ndarray, one: tuple[int, ...], other: tuple[int, ...]) -> np.ndarray:
    return np.where(np.asarray(where)[..., None], one, other)


def _blend(share: np.ndarray, one: tuple[int, ...], other: tuple[int, ...]) -> np.ndarray:
    weight = np.clip(share, 0, 1)[..., None]
    return np.asarray(weight * one + (1 - weight) * other)


def _noise(name: str, coarse: int) -> np.ndarray:
    """Return smooth periodic noise, 0 to 1, (SIDE, SIDE)."""
    rng = stream("texture", name)
    total = np.zeros((SIDE, SIDE))
    for fx in range(-coarse, coarse + 1):
        for fy in range(-coarse, coarse + 1):
            strength = rng.normal() / (1.0 + fx * fx + fy * fy) ** 0.7
            total += strength * np.cos(2 * np.pi * (fx * _U + fy * _V + rng.random()))
    low, high = np.percentile(total, (2, 98))
    return np.asarray(np.clip((total - low) / (high - low), 0, 1))


def _spots(count: int, radius: float) -> np.ndarray:
    u, v = (_U * count) % 1 - 0.5, (_V * count) % 1 - 0.5
    return np.asarray(np.hypot(u, v) < radius)


_PICTURES: dict[str, Callable[[], np.ndarray]] = {
    "brick": lambda: _two(
        ((_V * 4) % 1 < 0.16) | ((_U * 2 + 0.5 * (np.floor(_V * 4) % 2)) % 1 < 0.09),
        (214, 206, 196),
        (158, 70, 52),
    ),
    "tiles": lambda: _two(((_U * 3) % 1 < 0.1) | ((_V * 3) % 1 < 0.1), (70, 90, 100), (196, 222, 226)),
    "wooden": lambda: _blend(
        0.5 + 0.5 * np.sin(2 * np.pi * (5 * _V + 0.9 * _noise("wood", 2))), (176, 122, 70), (122, 78, 40)
    ),
    "granite": lambda: _blend(_noise("granite", 9), (214, 210, 206), (112, 110, 114)),
    "plastic": lambda: _blend(_U + _V - 0.5, (226, 238, 244), (150, 176, 196)),
    "polka dot": lambda: _two(_spots(3, 0.28), (250, 250, 250), (104, 92, 132)),
    "checkerboard": lambda: _two(
        (np.floor(_U * 4) + np.floor(_V * 4)) % 2 == 0, (250, 250, 250), (24, 24, 26)
    ),
    "tiger": lambda: _two(
        np.sin(2 * np.pi * (4 * _U + 1.2 * _noise("tiger", 3))) > 0.25, (104, 62, 28), (236, 140, 40)
    ),
    "magma": lambda: _blend(_noise("magma", 4) ** 2, (255, 214, 60), (112, 14, 10)),
    "rainbow": lambda: np.broadcast_to(
        [
            [[255 * part for part in colorsys.hsv_to_rgb(hue, 0.85, 1.0)]]
            for hue in np.linspace(0, 0.85, SIDE)
        ],
        (SIDE, SIDE, 3),
    ),
}
_SWIRL = np.sin(22 * np.hypot(_U - 0.5, _V - 0.5) + 3 * np.arctan2(_V - 0.5, _U - 0.5))
_PAISLEY_U, _PAISLEY_V = (_U * 3) % 1 - 0.5, (_V * 3) % 1 - 0.5
_DROP = np.hypot(_PAISLEY_U - 0.2 * _PAISLEY_V, _PAISLEY_V) * (
    1 + 0.8 * np.sin(np.arctan2(_PAISLEY_V, _PAISLEY_U))
)
"""Distance from the centre of the nearest drop of a paisley pattern."""
_TEXTURE_MAKERS: dict[str, Callable[[], np.ndarray]] = (
    _PICTURES
    | {
        f"{a} and {b} stripe": lambda a=a, b=b: _two(((_U + _V) * 3) % 1 < 0.5, COLOURS[a], COLOURS[b])
        for a, b in combinations(_FIVE, 2)
    }
    | {
        f"{a} and {b} polka dot": lambda a=a, b=b: _two(_spots(3, 0.3), COLOURS[b], COLOURS[a])
        for a, b in combinations(_FIVE, 2)
    }
    | {
        f"{colour} swirl": lambda rgb=COLOURS[colour]: _blend(0.5 + 0.8 * _SWIRL, rgb, (245, 240, 235))
        for colour in _FIVE
    }
    | {
        f"{colour} paisley": lambda rgb=COLOURS[colour]: _two(
            (_DROP < 0.16) | ((_DROP > 0.26) & (_DROP < 0.36)), (250, 246, 236), rgb
        )
        for colour in _FIVE
    }
    | {colour: lambda rgb=rgb: np.full((SIDE, SIDE, 3), rgb) for colour, rgb in COLOURS.items()}
)

TEXTURES = tuple(_TEXTURE_MAKERS)
"""The 49 texture names, in the order on which `FIRST_HALF` and `SECOND_HALF` are based."""
FIRST_HALF, SECOND_HALF = TEXTURES[:24], TEXTURES[24:]
TWINNED = tuple(
    name for name in TEXTURES if name not in _PICTURES and not name.endswith("paisley") and name != "olive"
)
"""The 33 textures that also have a dark version."""
DARK = "dark "


@cache
def texture(name: str) -> np.ndarray:
    """Return a texture image: uint8, (SIDE, SIDE, 3). Raise TaskError with the valid names if it is unknown."""
    if name == GREY:
        return np.full((SIDE, SIDE, 3), _NEUTRAL, dtype=np.uint8)
    plain = name.removeprefix(DARK)
    if plain not in _TEXTURE_MAKERS or (plain != name and plain not in TWINNED):
        valid = [*TEXTURES, *(DARK + texture_name for texture_name in TWINNED), GREY]
        raise TaskError(f"unknown texture '{name}': {did_you_mean(name, valid)}")
    picture = np.asarray(_TEXTURE_MAKERS[plain](), dtype=np.float64)
    return np.clip(picture * (0.5 if plain != name else 1.0), 0, 255).astype(np.uint8)
