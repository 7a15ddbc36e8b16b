"""Building blocks of generated scenes (furniture, receptacles, kinds of objects) and their frequencies.

The data is in ``kit.yaml``.
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
    """A kind of object, named by one noun; instances are distinguished by colour, size or pattern."""

    noun: str
    category: str
    resized: bool = True
    """Whether the object may be scaled: true if the gripper can grasp it at every size."""
    similar_groceries: tuple[str, ...] = ()
    """Grocery categories to which the noun also applies."""


@dataclass(frozen=True, slots=True)
class TargetPlace:
    """A location in or on a receptacle or a piece of furniture where objects can be put."""

    words: str
    """Phrase for the location in an instruction: ``on top of the cabinet``."""
    takes: frozenset[str]
    """Nouns and names of the objects that can be put there."""
    predicate: Predicate = Predicate.ON
    """Predicate that holds for an object placed at this location."""
    region: str = ""
    """Region of the receptacle; empty for the receptacle as a whole."""
    capacity: int = 1
    """Number of objects that fit."""

    @property
    def inside(self) -> bool:
        """Whether objects are placed inside rather than on top."""
        return self.predicate in (Predicate.IN, Predicate.EXACT_IN)


@dataclass(frozen=True, slots=True)
class Receptacle:
    """A movable object into or onto which other objects are placed."""

    noun: str
    category: str
    places: tuple[TargetPlace, ...]

    @property
    def regions(self) -> tuple[str, ...]:
        """Regions of the receptacle in which objects can be put."""
        return tuple(place.region for place in self.places if place.region)


@dataclass(frozen=True, slots=True)
class Opening:
    """A drawer or a door."""

    words: str
    """Phrase for the opening in an instruction: ``the top drawer of the cabinet``."""
    region: str
    takes: frozenset[str]
    whole: bool = False
    """Whether goals apply ``open`` to the whole piece of furniture instead of one of its regions."""


@dataclass(frozen=True, slots=True)
class Furniture:
    """A fixture, with its possible poses and the actions it affords."""

    noun: str
    category: str
    stations: tuple[tuple[float, float, float], ...]
    """Possible poses: x and y in metres relative to the centre of the workspace, and yaw in radians."""
    places: tuple[TargetPlace, ...] = ()
    openings: tuple[Opening, ...] = ()
    switches: bool = False
    front: float = 0.0
    """Depth of the free space in front of the furniture, in metres."""

    @property
    def regions(self) -> tuple[str, ...]:
        """Regions of the furniture in which objects can be put or that can be opened."""
        parts: tuple[TargetPlace | Opening, ...] = (*self.places, *self.openings)
        return tuple(dict.fromkeys(part.region for part in parts))


class Variation(Enum):
    """The attribute in which objects of the same kind differ."""

    COLOUR = "colour"
    PATTERN = "pattern"
    SIZE = "size"
    COLOUR_AND_SIZE = "colour and size"


@dataclass(frozen=True, slots=True)
class Composition:
    """Distribution from which the contents of scenes are drawn; the entries of a list are equally likely."""

    rooms: tuple[Arena, ...]
    furniture: Mapping[Arena, tuple[Furniture, ...]]
    """Furniture available in each room; one or two pieces are drawn."""
    kinds: tuple[ObjectKind, ...]
    ways: tuple[Variation, ...]
    """Attributes in which the objects of the first kind may differ."""
    doubled: float
    """Probability that an object of the first kind is duplicated, if the objects differ in colour or pattern."""
    alike: tuple[int, ...]
    """Possible numbers of objects of the second kind, which all look the same."""
    coloured: float
    """Probability that objects of the second kind have a colour, which instructions then mention."""
    groceries: tuple[int, ...]
    """Possible upper limits on the number of objects that instructions refer to by product name."""


_DATA: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("kit.yaml").read_text(encoding="utf-8"))


def _read(kind: type[T], key: str) -> Mapping[str, T]:
    adapter = TypeAdapter(kind)
    return MappingProxyType({name: adapter.validate_python(value) for name, value in _DATA[key].items()})


COLOURS: Mapping[str, Colour] = MappingProxyType(
    {name: (red, green, blue) for name, (red, green, blue) in _DATA["colours"].items()}
)
"""Mapping from colour name to red, green and blue values from 0 to 1."""
SIZES, SUPERLATIVES = _read(float, "sizes"), _read(float, "superlatives")
"""Mappings from size adjective to scale factor, for two sizes and for three sizes."""
PATTERNS = _read(Pattern, "patterns")
_KINDS = _read(ObjectKind, "kinds")
GROCERIES = _read(str, "groceries")
"""Mapping from category to product name."""
RECEPTACLES = _read(Receptacle, "receptacles")
FURNITURE = _read(Furniture, "furniture")
LIBERO_X_LABELS: Mapping[str, Mapping[str, int]] = _DATA["libero_x_labels"]
LIBERO_X_TASKS = 600


def load_composition(name: str) -> Composition:
    """Return the composition ``even`` (a balanced mix) or ``libero-x`` (as in LIBERO-X's training set)."""
    data = _DATA["compositions"][name]
    rooms = {
        Arena(room): tuple(FURNITURE[piece] for piece in pieces) for room, pieces in data["furniture"].items()
    }
    kinds = tuple(_KINDS[noun] for noun in data["kinds"])
    return TypeAdapter(Composition).validate_python({**data, "furniture": rooms, "kinds": kinds})
