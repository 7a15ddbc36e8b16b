"""What new scenes are made of: furniture and where it stands, things and how they differ, receptacles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi
from types import MappingProxyType

from assay.tasks import Arena
from assay.tasks.staging import Colour

COLOURS: Mapping[str, Colour] = MappingProxyType(
    {
        "red": (0.80, 0.12, 0.12),
        "blue": (0.12, 0.32, 0.80),
        "green": (0.15, 0.55, 0.20),
        "yellow": (0.93, 0.78, 0.12),
        "orange": (0.93, 0.45, 0.08),
        "purple": (0.45, 0.18, 0.60),
        "pink": (0.95, 0.55, 0.70),
        "white": (0.94, 0.94, 0.92),
        "black": (0.07, 0.07, 0.08),
    }
)
"""Colours that can be told apart, by the words for them."""
SIZES: Mapping[str, float] = MappingProxyType({"small": 0.78, "large": 1.15})
"""Factors, by the words for them."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Things of one noun, which colours, sizes and patterns tell apart."""

    noun: str
    category: str
    resized: bool = True
    """Whether the hand can take it at every size."""
    like: tuple[str, ...] = ()
    """Groceries that somebody could call so too."""


KINDS = (
    Kind("bowl", "akita_black_bowl"),
    Kind("mug", "porcelain_mug", resized=False),
    Kind("can", "alphabet_soup", like=("tomato_sauce",)),
    Kind("box", "cookies", resized=False, like=("butter", "chocolate_pudding", "cream_cheese")),
    Kind("bottle", "wine_bottle", resized=False, like=("bbq_sauce", "ketchup", "salad_dressing")),
    Kind("book", "black_book", resized=False),
)
GROCERIES: Mapping[str, str] = MappingProxyType(
    {
        "butter": "butter",
        "chocolate_pudding": "chocolate pudding",
        "cream_cheese": "cream cheese",
        "ketchup": "ketchup",
        "milk": "milk",
        "orange_juice": "orange juice",
        "salad_dressing": "salad dressing",
        "tomato_sauce": "tomato sauce",
        "bbq_sauce": "bbq sauce",
    }
)
"""Things that are called by what they are: category -> name."""


@dataclass(frozen=True, slots=True)
class Receptacle:
    """A movable thing that others are put into or onto."""

    noun: str
    category: str
    region: str = ""
    """The region things go into; empty where they go onto the thing itself."""
    takes: frozenset[str] = frozenset()
    """The nouns and names it takes."""


_SMALL = frozenset({"can", "box", *GROCERIES.values()})
_FLAT = frozenset({"butter", "chocolate pudding", "cream cheese", "box"})
RECEPTACLES = (
    Receptacle("plate", "plate", takes=frozenset({"bowl", "mug", "can"}) | _FLAT),
    Receptacle("basket", "basket", "contain_region", takes=_SMALL),
    Receptacle("tray", "wooden_tray", "contain_region", takes=frozenset({"bowl", "mug"}) | _SMALL),
)


@dataclass(frozen=True, slots=True)
class Furniture:
    """A fixture: where it may stand, and what can be done with it."""

    noun: str
    category: str
    stations: tuple[tuple[float, float, float], ...]
    """x, y in metres from the workspace's centre, and yaw in radians."""
    regions: tuple[str, ...]
    surface: str = ""
    """The region on top of it."""
    surface_words: str = ""
    """How an instruction says that something goes there."""
    carries: frozenset[str] = frozenset()
    """The nouns and names that go there."""
    opening: tuple[str, ...] = ()
    """Regions that open and close; empty for none."""
    opens_as_one: bool = False
    """Whether the thing itself opens, and not its regions."""
    holds: frozenset[str] = frozenset()
    """The nouns and names that go into what opens."""
    switches: bool = False
    compartments: tuple[str, ...] = ()
    """Regions without a lid, and their words are their first."""
    front: float = 0.0
    """How much room is left before it, metres."""


_SIDES = ((0.0, -0.28, pi), (0.0, 0.28, 0.0))
_DRAWERS = ("top_region", "middle_region", "bottom_region")
_ON_TOP = frozenset({"bowl", "mug", "bottle", "can"}) | _FLAT
CABINETS = tuple(
    Furniture(
        "cabinet",
        category,
        _SIDES,
        (*_DRAWERS, "top_side"),
        surface="top_side",
        surface_words="on top of the cabinet",
        carries=_ON_TOP,
        opening=_DRAWERS,
        holds=frozenset({"bowl"}) | _FLAT,
        front=0.13,
    )
    for category in ("wooden_cabinet", "white_cabinet")
)
STOVE = Furniture(
    "stove",
    "flat_stove",
    ((-0.3, 0.22, 0.0), (-0.3, -0.22, 0.0), (-0.2, 0.22, 0.0), (-0.2, -0.22, 0.0)),
    ("cook_region",),
    surface="cook_region",
    surface_words="on the stove",
    carries=frozenset({"bowl", "moka pot", "can"}),
    switches=True,
)
MICROWAVE = Furniture(
    "microwave",
    "microwave",
    ((0.0, 0.34, 0.0), (0.0, -0.34, pi)),
    ("top_side", "heating_region"),
    surface="top_side",
    surface_words="on top of the microwave",
    carries=frozenset({"bowl", "mug", "can"}) | _FLAT,
    opening=("heating_region",),
    opens_as_one=True,
    holds=frozenset({"mug"}),
    front=0.16,
)
RACK = Furniture(
    "rack",
    "wine_rack",
    ((-0.1, -0.3, pi), (-0.1, 0.3, 0.0)),
    ("top_region",),
    surface="top_region",
    surface_words="on the rack",
    carries=frozenset({"bottle"}),
)
SHELF = Furniture(
    "shelf",
    "wooden_two_layer_shelf",
    _SIDES,
    ("top_side", "top_region", "bottom_region"),
    surface="top_side",
    surface_words="on top of the shelf",
    carries=_ON_TOP,
)
CADDY = Furniture(
    "caddy",
    "desk_caddy",
    ((-0.2, -0.2, pi), (-0.2, 0.2, 0.0)),
    tuple(f"{part}_contain_region" for part in ("left", "right", "front", "back")),
    compartments=("left_contain_region", "right_contain_region", "back_contain_region"),
    holds=frozenset({"book", "mug"}),
)
FURNITURE: Mapping[Arena, tuple[Furniture, ...]] = MappingProxyType(
    {
        Arena.KITCHEN: (*CABINETS, STOVE, MICROWAVE, SHELF),
        Arena.TABLE: (*CABINETS, STOVE, MICROWAVE, RACK),
        Arena.STUDY: (CADDY, SHELF),
        Arena.LIVING_ROOM: (),
        Arena.COFFEE_TABLE: (),
        Arena.FLOOR: (),
    }
)
"""What stands in which room."""
ROOMS = (Arena.KITCHEN, Arena.KITCHEN, Arena.TABLE, Arena.TABLE, Arena.STUDY, Arena.LIVING_ROOM, Arena.FLOOR)
"""Rooms as often as they are drawn; the tasks that need furniture are in kitchens and on tables."""
