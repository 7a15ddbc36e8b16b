"""How a scene is set up beyond what stands where: looks, lights, cameras, the robot's start. Pure data.

The defaults of everything here are LIBERO's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from assay.episodes.instruction import Instruction

Colour = tuple[float, float, float]
"""Red, green, blue, each from 0 to 1."""
Vector3 = tuple[float, float, float]


class Pattern(StrEnum):
    """Textures that are made, not loaded."""

    CHECKER = "checker"
    STRIPES = "stripes"
    SPECKLES = "speckles"
    GRADIENT = "gradient"
    WAVY = "wavy"
    GRID = "grid"

    @classmethod
    def _missing_(cls, value: object) -> Pattern | None:
        """A pattern by what LIBERO-X calls objects that have it: a speckle book, a striped mug."""
        words = {"striped": cls.STRIPES, "checkered": cls.CHECKER, "speckle": cls.SPECKLES}
        return words.get(str(value))


@dataclass(frozen=True, slots=True)
class Finish:
    """The look of an object or a surface, where it is not the usual one."""

    colour: Colour | None = None
    pattern: Pattern | None = None
    """Drawn in ``colour`` (grey if None) and a darker shade of it."""

    @property
    def usual(self) -> bool:
        """Whether nothing is changed."""
        return self.colour is None and self.pattern is None


USUAL_FINISH = Finish()


class Surface(StrEnum):
    """What a room's surfaces are called."""

    FLOOR = "floor"
    WALLS = "walls"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Lighting:
    """Changes to every lamp of a room."""

    intensity: float = 1.0
    """Factor on how bright they are."""
    colour: Colour = (1.0, 1.0, 1.0)
    """Factors on red, green and blue."""
    tilt: tuple[float, float] = (0.0, 0.0)
    """How far the light is turned about the world's x and y axes, radians."""
    shadows: bool | None = None
    """Whether they cast shadows; None for as the room has it."""


@dataclass(frozen=True, slots=True)
class CameraChange:
    """A camera that stands, looks or zooms differently."""

    name: str
    shift: Vector3 = (0.0, 0.0, 0.0)
    """Metres, in the frame of what it is fixed to."""
    turn: Vector3 = (0.0, 0.0, 0.0)
    """Radians about the camera's own axes: up and down, left and right, roll."""
    zoom: float = 1.0
    """Factor on the field of view."""


@dataclass(frozen=True, slots=True)
class RobotStart:
    """Where the robot starts, relative to usual."""

    joints: tuple[float, float, float, float, float, float, float] = (0.0,) * 7
    """Radians, added to the arm's usual angles."""
    base: tuple[float, float] = (0.0, 0.0)
    """Metres, x and y."""


@dataclass(frozen=True, slots=True)
class Staging:
    """Everything at once."""

    surfaces: tuple[tuple[Surface, Finish], ...] = ()
    lighting: Lighting = Lighting()
    cameras: tuple[CameraChange, ...] = ()
    robot: RobotStart = RobotStart()
    lift: float = 0.0
    """How much higher than usual fixtures stand, metres: LIBERO's numbers sink them into some surfaces."""


USUAL_STAGING = Staging()


class Arena(StrEnum):
    """The rooms LIBERO's scenes stand in."""

    TABLE = "table"
    KITCHEN = "kitchen"
    LIVING_ROOM = "living_room"
    STUDY = "study"
    FLOOR = "floor"
    COFFEE_TABLE = "coffee_table"

    @property
    def workspace(self) -> str:
        """The name of the surface that regions refer to, e.g. ``main_table``."""
        return _WORKSPACES[self]


_WORKSPACES = {
    Arena.TABLE: "main_table",
    Arena.KITCHEN: "kitchen_table",
    Arena.LIVING_ROOM: "living_room_table",
    Arena.STUDY: "study_table",
    Arena.FLOOR: "floor",
    Arena.COFFEE_TABLE: "coffee_table",
}


@dataclass(frozen=True, slots=True)
class Entity:
    """A movable object or a fixture of a scene."""

    name: str
    """Unique in the scene, e.g. ``plate_1``."""
    category: str
    """What kind of thing it is, e.g. ``plate``; asset packs know categories."""
    finish: Finish = USUAL_FINISH
    """Its look, where that is not the usual one."""
    size: float = 1.0
    """How large it is, as a factor."""


class Rectangle(NamedTuple):
    """An axis-aligned rectangle on the workspace, in metres, relative to its centre."""

    x_min: float
    y_min: float
    x_max: float
    y_max: float


@dataclass(frozen=True, slots=True)
class Region:
    """A named place: a rectangle on the workspace, or a site that an entity brings along."""

    name: str
    """As written in the scene, e.g. ``plate_region``."""
    target: str
    """The workspace or the entity it belongs to, e.g. ``main_table``."""
    rectangles: tuple[Rectangle, ...] = ()
    """Where to place objects; empty for a region that is part of an entity."""
    yaw: tuple[float, float] | None = None
    """Lower and upper bound of the yaw of a fixture placed here, radians; None if not given."""
    rgba: tuple[float, float, float, float] | None = None
    """The colour it is drawn in; None if not given (invisible)."""

    @property
    def full_name(self) -> str:
        """The name that atoms use: ``main_table_plate_region``."""
        return f"{self.target}_{self.name}"


class Predicate(StrEnum):
    """What can be said about a scene. The value is the spelling in task files."""

    ON = "On"
    IN = "In"
    OPEN = "Open"
    CLOSE = "Close"
    TURN_ON = "TurnOn"
    TURN_OFF = "TurnOff"
    UP = "Up"
    STACK = "Stack"
    IN_CONTACT = "InContact"
    EXACT_IN = "ExactIn"
    UPRIGHT_ON = "UprightOn"
    SIDE_ON = "SideOn"

    @property
    def arity(self) -> int:
        """How many names it takes."""
        return 1 if self in _UNARY else 2


_UNARY = {Predicate.OPEN, Predicate.CLOSE, Predicate.TURN_ON, Predicate.TURN_OFF, Predicate.UP}


@dataclass(frozen=True, slots=True)
class Atom:
    """One predicate over named objects: ``On plate_1 main_table_plate_region``."""

    predicate: Predicate
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.predicate.value, *self.arguments))


@dataclass(frozen=True, slots=True)
class Scene:
    """What stands where: arena, fixtures, objects, regions, initial relations."""

    arena: Arena
    fixtures: tuple[Entity, ...]
    """Entities that do not move, without the workspace itself."""
    objects: tuple[Entity, ...]
    """Entities that move."""
    regions: tuple[Region, ...]
    initial: tuple[Atom, ...]
    """Relations that hold at the start; they decide where objects are placed."""
    style: str = ""
    """A variant of the arena's look, named as the task file names it; empty for the usual one."""
    absent: tuple[str, ...] = ()
    """Entities that a goal may name and that are absent on purpose: nothing is true of them."""
    staging: Staging = USUAL_STAGING
    """Lights, cameras, surfaces and the robot's start, where they are not the usual ones."""

    def region(self, full_name: str) -> Region | None:
        """The region of that name, or None."""
        return next((region for region in self.regions if region.full_name == full_name), None)

    @property
    def entities(self) -> tuple[Entity, ...]:
        """Objects, then fixtures: the order in which they enter a compiled model."""
        return self.objects + self.fixtures

    @property
    def names(self) -> frozenset[str]:
        """Every name an atom may use."""
        return frozenset(
            {entity.name for entity in self.entities}
            | {region.full_name for region in self.regions}
            | {self.arena.workspace}
        )


@dataclass(frozen=True, slots=True)
class Goal:
    """A conjunction of atoms."""

    atoms: tuple[Atom, ...]

    def __str__(self) -> str:
        return " and ".join(str(atom) for atom in self.atoms)


@dataclass(frozen=True, slots=True)
class Task:
    """Scene + Goal + Instruction, with a stable id such as ``libero_goal/3``."""

    id: str
    scene: Scene
    goal: Goal
    instruction: Instruction
    of_interest: tuple[str, ...] = field(default=())
    """Names of the entities and regions the task is about."""
