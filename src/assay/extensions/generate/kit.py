"""What new scenes are made of: furniture and where it stands, things and how they differ, receptacles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import pi
from types import MappingProxyType

from assay.tasks import Arena, Predicate
from assay.tasks.scene import Colour, Pattern

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
"""Factors of two sizes, by the words for them."""
SUPERLATIVES: Mapping[str, float] = MappingProxyType({"smallest": 0.78, "middle-sized": 0.98, "largest": 1.2})
"""Factors of three sizes, by the words for them."""
PATTERNS: Mapping[str, Pattern] = MappingProxyType(
    {"striped": Pattern.STRIPES, "checkered": Pattern.CHECKER, "speckled": Pattern.SPECKLES}
)
"""Patterns, by the words for them."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Things of one noun, which colours, sizes and patterns tell apart."""

    noun: str
    category: str
    resized: bool = True
    """Whether the hand can take it at every size."""
    like: tuple[str, ...] = ()
    """Groceries that somebody could call so too."""


BOWL = Kind("bowl", "akita_black_bowl")
KINDS = (
    BOWL,
    Kind("mug", "porcelain_mug", resized=False),
    Kind("can", "alphabet_soup", like=("tomato_sauce",)),
    Kind("box", "cookies", resized=False, like=("butter", "chocolate_pudding", "cream_cheese")),
    Kind("bottle", "wine_bottle", resized=False, like=("bbq_sauce", "ketchup", "salad_dressing")),
    Kind("book", "yellow_book", resized=False),
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
class Place:
    """Somewhere in or on a receptacle or a piece of furniture where things can be put."""

    words: str
    """Where it is, as an instruction says it: ``on top of the cabinet``."""
    takes: frozenset[str]
    """The nouns and names of what can be put there."""
    predicate: Predicate = Predicate.ON
    """What is true of a thing that was put there."""
    region: str = ""
    """The region of the receptacle; empty where things go onto the receptacle itself."""
    room: int = 1
    """How many things there is room for."""

    @property
    def inside(self) -> bool:
        """Whether things go into it, and not onto it."""
        return self.predicate in (Predicate.IN, Predicate.EXACT_IN)


@dataclass(frozen=True, slots=True)
class Receptacle:
    """A movable thing that others are put into or onto."""

    noun: str
    category: str
    places: tuple[Place, ...]

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions its places are, without the thing itself."""
        return tuple(place.region for place in self.places if place.region)


_FLAT = frozenset({"butter", "chocolate pudding", "cream cheese", "box"})
_SMALL = frozenset({"can", "box", *GROCERIES.values()})
_TABLEWARE = frozenset({"bowl", "mug"})
PLATE = Receptacle("plate", "plate", (Place("on the plate", _TABLEWARE | {"can"} | _FLAT),))
BASKET = Receptacle(
    "basket",
    "basket",
    (Place("in the basket", _SMALL | {"mug"}, Predicate.EXACT_IN, "contain_region", room=2),),
)
TRAY = Receptacle(
    "tray",
    "wooden_tray",
    (Place("in the tray", _TABLEWARE | _SMALL, Predicate.EXACT_IN, "contain_region", room=2),),
)
DRAINER = Receptacle(
    "bowl drainer",
    "bowl_drainer",
    tuple(
        Place(f"in the {side} side of the bowl drainer", _TABLEWARE, Predicate.IN, f"{side}_region")
        for side in ("left", "right")
    ),
)
RECEPTACLES = (PLATE, BASKET, TRAY, DRAINER)


@dataclass(frozen=True, slots=True)
class Opening:
    """A drawer, or a door: a place that opens and closes."""

    words: str
    """``the top drawer of the cabinet``."""
    region: str
    takes: frozenset[str]
    whole: bool = False
    """Whether the piece of furniture itself is said to be open, and not its region."""


@dataclass(frozen=True, slots=True)
class Furniture:
    """A fixture: where it may stand, and what can be done with it."""

    noun: str
    category: str
    stations: tuple[tuple[float, float, float], ...]
    """x, y in metres from the workspace's centre, and yaw in radians."""
    places: tuple[Place, ...] = ()
    """Where things can be put."""
    openings: tuple[Opening, ...] = ()
    switches: bool = False
    front: float = 0.0
    """How much room is left before it, metres."""

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions its places and openings are."""
        places, openings = ([each.region for each in these] for these in (self.places, self.openings))
        return tuple(dict.fromkeys((*places, *openings)))


_SIDES = ((0.0, -0.28, pi), (0.0, 0.28, 0.0))
_ON_TOP = _TABLEWARE | {"bottle", "can"} | _FLAT
CABINETS = tuple(
    Furniture(
        "cabinet",
        category,
        _SIDES,
        (Place("on top of the cabinet", _ON_TOP, region="top_side", room=2),),
        tuple(
            Opening(f"the {drawer} drawer of the cabinet", f"{drawer}_region", _FLAT | {"bowl"})
            for drawer in ("top", "middle", "bottom")
        ),
        front=0.13,
    )
    for category in ("wooden_cabinet", "white_cabinet")
)
STOVE = Furniture(
    "stove",
    "flat_stove",
    ((-0.3, 0.22, 0.0), (-0.3, -0.22, 0.0), (-0.2, 0.22, 0.0), (-0.2, -0.22, 0.0)),
    (Place("on the stove", frozenset({"bowl", "moka pot", "can"}), region="cook_region"),),
    switches=True,
)
MICROWAVE = Furniture(
    "microwave",
    "microwave",
    ((0.0, 0.34, 0.0), (0.0, -0.34, pi)),
    (Place("on top of the microwave", _TABLEWARE | {"can"} | _FLAT, region="top_side"),),
    (Opening("the microwave", "heating_region", frozenset({"mug"}), whole=True),),
    front=0.16,
)
RACK = Furniture(
    "rack",
    "wine_rack",
    ((-0.1, -0.3, pi), (-0.1, 0.3, 0.0)),
    (Place("on the rack", frozenset({"bottle"}), region="top_region"),),
)
SHELF = Furniture(
    "shelf",
    "wooden_two_layer_shelf",
    _SIDES,
    (
        Place("on top of the shelf", _ON_TOP, region="top_side", room=2),
        Place("upright on top of the shelf", frozenset({"book"}), Predicate.UPRIGHT_ON, "top_side", room=2),
        Place("flat on top of the shelf", frozenset({"book"}), Predicate.SIDE_ON, "top_side"),
        *(
            Place(f"on the {layer} layer of the shelf", _FLAT | {"book"}, Predicate.IN, f"{layer}_region")
            for layer in ("top", "bottom")
        ),
    ),
)
CADDY = Furniture(
    "caddy",
    "desk_caddy",
    # Its open side is turned to the camera: its left is what the camera sees as left.
    ((-0.2, -0.17, pi), (-0.2, 0.17, pi), (-0.12, -0.17, pi), (-0.12, 0.17, pi)),
    tuple(
        Place(f"in the {part} compartment of the caddy", takes, Predicate.EXACT_IN, f"{part}_contain_region")
        for part, takes in (
            ("left", frozenset({"book", "mug"})),
            ("right", frozenset({"book", "mug"})),
            ("front", frozenset({"book"})),
            ("back", frozenset({"book"})),
        )
    ),
)


class Way(Enum):
    """In what things of one kind differ."""

    COLOUR = "colour"
    PATTERN = "pattern"
    SIZE = "size"
    COLOUR_AND_SIZE = "colour and size"


@dataclass(frozen=True, slots=True)
class Composition:
    """How often scenes have what; of what is listed, everything is drawn equally often."""

    rooms: tuple[Arena, ...]
    furniture: Mapping[Arena, tuple[Furniture, ...]]
    """What may stand in which room; one piece or two are drawn."""
    kinds: tuple[Kind, ...]
    ways: tuple[Way, ...]
    """In what the things of the first kind differ."""
    doubled: float
    """How often one of the first kind has a double, where they differ in colour or pattern."""
    alike: tuple[int, ...]
    """How many things of the second kind there are, all alike."""
    coloured: float
    """How often they have a colour that instructions name."""
    groceries: tuple[int, ...]
    """How many things there are that are called by their name, at most."""


EVEN = Composition(
    rooms=(
        *(Arena.KITCHEN,) * 2,
        *(Arena.TABLE,) * 2,
        Arena.STUDY,
        Arena.LIVING_ROOM,
        Arena.FLOOR,
    ),
    furniture=MappingProxyType(
        {
            Arena.KITCHEN: (*CABINETS, STOVE, MICROWAVE, SHELF),
            Arena.TABLE: (*CABINETS, STOVE, MICROWAVE, RACK),
            Arena.STUDY: (CADDY, SHELF),
        }
    ),
    kinds=KINDS,
    ways=(Way.COLOUR, Way.COLOUR, Way.PATTERN, Way.SIZE, Way.SIZE, Way.COLOUR_AND_SIZE),
    doubled=0.2,
    alike=(1, 1, 2, 2, 2, 3, 3),
    coloured=0.3,
    groceries=(1, 2, 3),
)
"""Some of everything; the tasks that need furniture are in kitchens and on tables."""
LIBERO_X = Composition(
    rooms=(*(Arena.STUDY,) * 6, *(Arena.KITCHEN,) * 3, *(Arena.TABLE,) * 2),
    furniture=MappingProxyType(
        {
            Arena.KITCHEN: (*CABINETS, STOVE, STOVE, STOVE, MICROWAVE, SHELF),
            Arena.TABLE: (*CABINETS, STOVE, STOVE, RACK),
            Arena.STUDY: (CADDY, CADDY, CADDY, SHELF, SHELF),
        }
    ),
    kinds=(*KINDS, BOWL, BOWL, BOWL),
    ways=(*(Way.COLOUR,) * 8, Way.PATTERN, *(Way.SIZE,) * 4, Way.COLOUR_AND_SIZE),
    doubled=0.4,
    alike=(1, 1, 1, 2, 3),
    coloured=0.85,
    groceries=(0, 1),
)
"""Scenes in which LIBERO-X's labels can be as often as in its training set: half of them with compartments,
nearly everything has a colour."""
