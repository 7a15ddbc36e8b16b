"""Which shapes and textures a level of novelty draws from, and what a difficulty changes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from assay.errors import TaskError, did_you_mean
from assay.extensions.tabletop.world.scene import SOLIDS, TURNABLE
from assay.extensions.tabletop.world.textures import DARK, FIRST_HALF, SECOND_HALF, TEXTURES, TWINNED

T = TypeVar("T", bound=StrEnum)


class Level(StrEnum):
    """How new an episode is to a policy that was trained on the training pools."""

    L1 = "L1"
    """Placement: the training pools in new poses."""
    L2 = "L2"
    """Combination: pieces and containers exchange their textures."""
    L3 = "L3"
    """Objects: shapes and textures that training held back."""
    L4 = "L4"
    """Tasks: kinds of task that training held back."""


class Difficulty(StrEnum):
    """What makes an episode harder."""

    DEFAULT = "default"
    DISTRACTING = "distracting"
    """More things that do not matter."""
    EXTREME = "extreme"
    """Unusual containers, angles, words, layouts."""
    EXTREMELY_DISTRACTING = "extremely-distracting"

    @property
    def distracting(self) -> bool:
        """Whether there are more things that do not matter."""
        return self in (Difficulty.DISTRACTING, Difficulty.EXTREMELY_DISTRACTING)

    @property
    def extreme(self) -> bool:
        """Whether what matters is unusual."""
        return self in (Difficulty.EXTREME, Difficulty.EXTREMELY_DISTRACTING)


def parse_level(kind: type[T], text: str) -> T:
    """The level or difficulty of that name. Raises TaskError that says what is valid."""
    try:
        return kind(text)
    except ValueError:
        name = kind.__name__.lower()
        raise TaskError(
            f"there is no {name} '{text}': {did_you_mean(text, [str(e) for e in kind])}"
        ) from None


def _pairs(pattern: str, text: str) -> tuple[str, ...]:
    return tuple(f"{a} and {b} {pattern}" for a, b in (pair.split("-") for pair in text.split()))


HELD_BACK = ("letter R", "diamond", "hexagon", "round", "star")
SEEN_PIECES = (
    "letter A", "letter E", "letter G", "letter M", "letter T", "letter V", "block", "cross", "triangle",
    "flower", "heart", "ring", "pentagon", "L-shaped block",
)  # fmt: skip
SEEN_CONTAINERS, NEW_CONTAINERS = ("bowl", "frame", "container", "square"), ("pallet", "pan")
SET_1 = (
    "red", "green", "yellow", "granite", "polka dot", "tiger", "rainbow",
    *_pairs("stripe", "red-yellow yellow-green"),
    *_pairs("polka dot", "red-yellow red-green red-blue yellow-blue green-blue"),
    "red swirl", "green swirl", "red paisley", "yellow paisley", "green paisley",
)  # fmt: skip
SET_2 = (
    "blue", "purple", "cyan", "olive", "tiles", "wooden", "plastic", "checkerboard",
    *_pairs("stripe", "red-blue yellow-blue red-purple yellow-purple green-purple blue-purple"),
    *_pairs("polka dot", "yellow-purple green-purple blue-purple"),
    "purple swirl", "blue swirl", "blue paisley",
)  # fmt: skip
NEW_TEXTURES = tuple(name for name in TEXTURES if name not in SET_1 + SET_2)
"""Textures that training never shows: ten."""
ALL_PIECES = SEEN_PIECES + HELD_BACK


@dataclass(frozen=True, slots=True)
class Pools:
    """What may be drawn."""

    pieces: tuple[str, ...]
    containers: tuple[str, ...]
    looks: tuple[str, ...]
    """Textures of pieces."""
    container_looks: tuple[str, ...]
    any_look: tuple[str, ...]
    """Textures in tasks in which no container plays."""

    @property
    def turnable(self) -> tuple[str, ...]:
        """Pieces that look different at every yaw."""
        return tuple(name for name in self.pieces if name in TURNABLE)

    @property
    def textures_with_dark_version(self) -> tuple[str, ...]:
        """Textures of pieces that exist in a light and a dark version."""
        return tuple(name for name in self.looks if name in TWINNED)

    def with_profile(self, profile: str) -> tuple[str, ...]:
        """Pieces of a profile, the flat block in place of the tall one."""
        names = dict.fromkeys(
            "shorter block" if name == "block" else name for name in (*self.pieces, "block")
        )
        return tuple(name for name in names if SOLIDS[name].profile == profile)


def pools_of(level: Level) -> Pools:
    """What a level draws from."""
    if level is Level.L1:
        return Pools(SEEN_PIECES, SEEN_CONTAINERS, SET_1, SET_2, SET_1)
    if level is Level.L2:
        return Pools(SEEN_PIECES, SEEN_CONTAINERS, SET_2, SET_1, SET_2)
    if level is Level.L3:
        return Pools(HELD_BACK, NEW_CONTAINERS, NEW_TEXTURES, NEW_TEXTURES, NEW_TEXTURES)
    return Pools(ALL_PIECES, SEEN_CONTAINERS + NEW_CONTAINERS, FIRST_HALF, SECOND_HALF, TEXTURES)


def dark_version(name: str) -> str:
    """The dark version of a texture."""
    return DARK + name
