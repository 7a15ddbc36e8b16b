"""What generated scenes are made of: furniture, receptacles, kinds of objects, and how often each is drawn.

The data are in ``kit.yaml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter

from assay.tasks import Arena, Predicate
from assay.tasks.scene import Colour, Pattern

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """Objects of one noun, which colours, sizes and patterns tell apart."""

    noun: str
    category: str
    resized: bool = True
    """Whether the gripper can grasp it at every size."""
    similar_groceries: tuple[str, ...] = ()
    """Groceries to which the noun applies as well."""


@dataclass(frozen=True, slots=True)
class TargetPlace:
    """A place in or on a receptacle or a piece of furniture where objects can be put."""

    words: str
    """The place in an instruction: ``on top of the cabinet``."""
    takes: frozenset[str]
    """Nouns and names of the objects that can be put there."""
    predicate: Predicate = Predicate.ON
    """What becomes true of an object that was put there."""
    region: str = ""
    """The region of the receptacle; empty for the receptacle itself."""
    capacity: int = 1
    """Number of objects that fit."""

    @property
    def inside(self) -> bool:
        """Whether objects go into it, and not onto it."""
        return self.predicate in (Predicate.IN, Predicate.EXACT_IN)


@dataclass(frozen=True, slots=True)
class Receptacle:
    """A movable object that others are put into or onto."""

    noun: str
    category: str
    places: tuple[TargetPlace, ...]

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions of its places."""
        return tuple(place.region for place in self.places if place.region)


@dataclass(frozen=True, slots=True)
class Opening:
    """A drawer or a door."""

    words: str
    """``the top drawer of the cabinet``."""
    region: str
    takes: frozenset[str]
    whole: bool = False
    """Whether the piece of furniture itself opens in the goal, and not its region."""


@dataclass(frozen=True, slots=True)
class Furniture:
    """A fixture: where it may stand, and what can be done with it."""

    noun: str
    category: str
    stations: tuple[tuple[float, float, float], ...]
    """x, y in metres from the workspace's centre, and yaw in radians."""
    places: tuple[TargetPlace, ...] = ()
    openings: tuple[Opening, ...] = ()
    switches: bool = False
    front: float = 0.0
    """Depth of the free space in front of it, metres."""

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions of its places and openings."""
        parts: tuple[TargetPlace | Opening, ...] = (*self.places, *self.openings)
        return tuple(dict.fromkeys(part.region for part in parts))


class Variation(Enum):
    """The attribute in which objects of one kind differ."""

    COLOUR = "colour"
    PATTERN = "pattern"
    SIZE = "size"
    COLOUR_AND_SIZE = "colour and size"


@dataclass(frozen=True, slots=True)
class Composition:
    """Relative frequencies of everything in a scene; what is listed is drawn equally often."""

    rooms: tuple[Arena, ...]
    furniture: Mapping[Arena, tuple[Furniture, ...]]
    """Furniture of each room; one or two pieces are drawn."""
    kinds: tuple[ObjectKind, ...]
    ways: tuple[Variation, ...]
    """In which the objects of the first kind differ."""
    doubled: float
    """Probability that one of the first kind has a double, where they differ in colour or pattern."""
    alike: tuple[int, ...]
    """Numbers of objects of the second kind, which look the same."""
    coloured: float
    """Probability that they have a colour that instructions name."""
    groceries: tuple[int, ...]
    """Maximal numbers of objects that are referred to by their name."""


_DATA: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("kit.yaml").read_text(encoding="utf-8"))


def _read(kind: type[T], key: str) -> Mapping[str, T]:
    adapter = TypeAdapter(kind)
    return MappingProxyType({name: adapter.validate_python(value) for name, value in _DATA[key].items()})


COLOURS: Mapping[str, Colour] = MappingProxyType(
    {name: (red, green, blue) for name, (red, green, blue) in _DATA["colours"].items()}
)
"""Red, green, blue from 0 to 1, by the words for them."""
SIZES, SUPERLATIVES = _read(float, "sizes"), _read(float, "superlatives")
"""Factors of two and of three sizes, by the words for them."""
PATTERNS = _read(Pattern, "patterns")
_KINDS = _read(ObjectKind, "kinds")
GROCERIES = _read(str, "groceries")
"""Category -> name."""
RECEPTACLES = _read(Receptacle, "receptacles")
FURNITURE = _read(Furniture, "furniture")
LIBERO_X_LABELS: Mapping[str, Mapping[str, int]] = _DATA["libero_x_labels"]
LIBERO_X_TASKS = 600


def load_composition(name: str) -> Composition:
    """The composition ``even`` (some of everything) or ``libero-x`` (as in LIBERO-X's training set)."""
    data = _DATA["compositions"][name]
    rooms = {
        Arena(room): tuple(FURNITURE[piece] for piece in pieces) for room, pieces in data["furniture"].items()
    }
    kinds = tuple(_KINDS[noun] for noun in data["kinds"])
    return TypeAdapter(Composition).validate_python({**data, "furniture": rooms, "kinds": kinds})
