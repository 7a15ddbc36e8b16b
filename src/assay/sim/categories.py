"""Properties of object categories, read from ``categories.yaml``: resting poses, mechanisms that open or switch on, and
variants.

They belong to the category rather than to an asset pack, so that a task has the same meaning with every pack.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter

from assay.tasks.scene import Colour, Predicate

Value = TypeVar("Value")
Quaternion = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Pose:
    """Resting orientation of an object: a fixed tilt, then a sampled rotation about the vertical axis."""

    tilt: Quaternion = (1.0, 0.0, 0.0, 0.0)
    """Orientation at yaw zero, as a quaternion (w, x, y, z)."""
    yaw: tuple[float, float] = (pi / 2, pi / 2)
    """Lower and upper bound of the rotation about the world's z axis, in radians."""


@dataclass(frozen=True, slots=True)
class JointBound:
    """A bound on a joint value."""

    value: float
    """Value of the bound, in radians or metres."""
    above: bool
    """Whether the joint value must be above the bound (True) or below it (False)."""
    inclusive: bool = False
    """Whether a joint value equal to the bound satisfies the condition."""

    def holds(self, joint: float) -> bool:
        """Return whether a joint value satisfies the bound."""
        if self.inclusive and joint == self.value:
            return True
        return joint > self.value if self.above else joint < self.value


@dataclass(frozen=True, slots=True)
class Mechanism:
    """The two states of a category's moving part, and the joint values to sample for each."""

    active: JointBound
    """Condition for open, or for turned on."""
    passive: JointBound
    """Condition for closed, or for turned off."""
    active_range: tuple[float, float]
    """Range from which joint values are sampled for the initial relation Open or TurnOn."""
    passive_range: tuple[float, float]
    """Range from which joint values are sampled for the initial relation Close or TurnOff."""


@dataclass(frozen=True, slots=True)
class CategoryVariant:
    """A category derived from another one by changing its colour or size, such as LIBERO-PRO's ``yellow_cabinet``."""

    base: str
    """The pack's category or template from which the variant is derived; it is never a variant itself."""
    colour: Colour | None = None
    """Red, green and blue of the brightest part, 0 to 1; darker parts stay darker. None keeps the base's colours."""
    dark: Colour | None = None
    """Red, green and blue of the darkest part; others are interpolated. None: use shades of ``colour``."""
    size: float = 1.0
    """Scale factor for the base's lengths."""


_TABLE: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("categories.yaml").read_text("utf-8"))
VARIANTS = TypeAdapter(dict[str, CategoryVariant]).validate_python(_TABLE["variants"])
"""All variants, keyed by category."""


def with_variants(table: Mapping[str, Value]) -> Mapping[str, Value]:
    """Extend a table keyed by category: variants without an entry inherit the entry of their base."""
    inherited = {
        category: table[variant.base] for category, variant in VARIANTS.items() if variant.base in table
    }
    return MappingProxyType(inherited | dict(table))


_MECHANISMS = TypeAdapter(dict[str, Mechanism])
OPENING = with_variants(_MECHANISMS.validate_python(_TABLE["opening"]))
"""Categories that open and close."""
SWITCHING = with_variants(_MECHANISMS.validate_python(_TABLE["switching"]))
"""Categories that turn on and off."""
MECHANISMS: Mapping[Predicate, tuple[Mapping[str, Mechanism], bool]] = {
    Predicate.OPEN: (OPENING, True),
    Predicate.CLOSE: (OPENING, False),
    Predicate.TURN_ON: (SWITCHING, True),
    Predicate.TURN_OFF: (SWITCHING, False),
}
"""For each predicate, the categories to which it applies, and whether it refers to their active state."""
GLOWING: Mapping[str, str] = with_variants(_TABLE["glowing"])
"""For each category, the site that is visible only while an entity of the category is on."""

_POSE_ROWS = [(Pose(tuple(row.get("tilt", Pose().tilt)), tuple(row["yaw"])), row) for row in _TABLE["poses"]]
_POSES = with_variants({category: pose for pose, row in _POSE_ROWS for category in row.get("categories", ())})
_SUFFIX_POSES = {row["suffix"]: pose for pose, row in _POSE_ROWS if "suffix" in row}


def resting_pose(category: str) -> Pose:
    """Return the orientation in which the layout sampler places objects of a category."""
    for suffix, pose in _SUFFIX_POSES.items():
        if category.endswith(suffix) or f"{suffix}_" in category:
            return pose
    return _POSES.get(category, Pose())
