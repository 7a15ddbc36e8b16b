"""What categories of things do, whatever they are made of: how they lie, open, and turn on.

The numbers are LIBERO's. They belong to the category and not to an asset pack, so that the same task means
the same thing on every pack.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi, sqrt

from assay.sim.variants import with_variants

Quaternion = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Pose:
    """How an object is put down: tilted first, then turned about the vertical."""

    tilt: Quaternion = (1.0, 0.0, 0.0, 0.0)
    """Orientation at yaw zero, (w, x, y, z)."""
    yaw: tuple[float, float] = (pi / 2, pi / 2)
    """Lower and upper bound of the turn about the world's z axis, radians."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A bound on a joint value."""

    value: float
    """Radians or metres."""
    above: bool
    """Whether the joint must be above the bound (else below)."""
    inclusive: bool = False
    """Whether the bound itself counts."""

    def holds(self, joint: float) -> bool:
        """Whether the joint value is on the right side of the bound."""
        if self.inclusive and joint == self.value:
            return True
        return joint > self.value if self.above else joint < self.value


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A category's moving part: when it counts as being in a state, and how to put it there."""

    active: Threshold
    """When it counts as open, or turned on."""
    passive: Threshold
    """When it counts as closed, or turned off."""
    active_range: tuple[float, float]
    """Joint values an initial relation Open or TurnOn samples from."""
    passive_range: tuple[float, float]
    """Joint values an initial relation Close or TurnOff samples from."""


_DRAWER = Mechanism(
    active=Threshold(-0.14, above=False),
    passive=Threshold(0.0, above=True),
    active_range=(-0.16, -0.14),
    passive_range=(0.0, 0.005),
)

OPENING: Mapping[str, Mechanism] = with_variants(
    {
        "wooden_cabinet": _DRAWER,
        "white_cabinet": _DRAWER,
        "microwave": Mechanism(
            active=Threshold(-1.3, above=False),
            passive=Threshold(-0.005, above=True),
            active_range=(-2.094, -1.3),
            passive_range=(-0.005, 0.0),
        ),
        "short_cabinet": Mechanism(
            active=Threshold(0.10, above=True),
            passive=Threshold(0.0, above=False),
            active_range=(0.10, 0.16),
            passive_range=(-0.005, 0.0),
        ),
        "short_fridge": Mechanism(
            active=Threshold(2.0, above=True),
            passive=Threshold(0.0, above=False),
            active_range=(2.0, 2.7),
            passive_range=(-0.005, 0.0),
        ),
    }
)
"""Categories that open and close."""

SWITCHING: Mapping[str, Mechanism] = with_variants(
    {
        "flat_stove": Mechanism(
            active=Threshold(0.5, above=True, inclusive=True),
            passive=Threshold(0.0, above=False),
            active_range=(0.5, 2.1),
            passive_range=(-0.005, 0.0),
        ),
    }
)
"""Categories that turn on and off."""

GLOWING: Mapping[str, str] = with_variants({"flat_stove": "burner"})
"""Categories with a site that is visible exactly while they are on."""

_STANDING = (0.0, 0.0, sqrt(0.5), sqrt(0.5))
_UPRIGHT_BOX = (0.5, 0.5, 0.5, 0.5)
_TURNED = Pose(yaw=(pi, pi))
_MUG = Pose(yaw=(3 * pi / 2, 3 * pi / 2))
_BOOK = Pose(yaw=(5 * pi / 4, 3 * pi / 2))
_CAN = Pose(tilt=_STANDING, yaw=(0.0, 0.0))
# LIBERO's caddy is a fixture, LIBERO-X's stands on the left, at the back or on the right and can be moved.
_CADDIES = {
    "desk_caddy": Pose(yaw=(pi / 4, pi / 2)),
    "desk_caddy_back": Pose(yaw=(49 * pi / 50, 51 * pi / 50)),
    "desk_caddy_right": Pose(yaw=(3 * pi / 2, 7 * pi / 4)),
}
_CARTON = Pose(tilt=_UPRIGHT_BOX, yaw=(0.0, 0.0))

_POSES: Mapping[str, Pose] = with_variants(
    dict.fromkeys(("alphabet_soup", "tomato_sauce"), _CAN)
    | dict.fromkeys(
        (
            "ketchup",
            "macaroni_and_cheese",
            "mayo",
            "milk",
            "orange_juice",
            "salad_dressing",
            "new_salad_dressing",
        ),
        _CARTON,
    )
    | dict.fromkeys(
        (
            "butter",
            "chocolate_pudding",
            "cream_cheese",
            "popcorn",
            "rack",
            "wooden_tray",
            "white_storage_box",
            "wooden_shelf",
            "wooden_two_layer_shelf",
            "wine_rack",
            "wine_bottle",
            "dining_set_group",
            "bowl_drainer",
            "moka_pot",
            "flat_stove",
        ),
        _TURNED,
    )
    | dict.fromkeys(("red_coffee_mug", "porcelain_mug", "white_yellow_mug"), _MUG)
    | _CADDIES
)


def resting_pose(category: str) -> Pose:
    """How an object of the category is put down by the sampler."""
    if category.endswith("_book") or "_book_" in category:
        return _BOOK
    return _POSES.get(category, Pose())
