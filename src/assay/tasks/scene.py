"""Scene description: objects, relations, appearance, lights, cameras and the robot's initial pose. Pure data.

All defaults are LIBERO's own.
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
    """Procedurally generated textures."""

    CHECKER = "checker"
    STRIPES = "stripes"
    SPECKLES = "speckles"
    GRADIENT = "gradient"
    WAVY = "wavy"
    GRID = "grid"

    @classmethod
    def _missing_(cls, value: object) -> Pattern | None:
        """Look up a pattern by LIBERO-X's adjective for it: a speckle book, a striped mug."""
        words = {"striped": cls.STRIPES, "checkered": cls.CHECKER, "speckle": cls.SPECKLES}
        return words.get(str(value))


@dataclass(frozen=True, slots=True)
class Finish:
    """Appearance of an object or a surface, if changed."""

    colour: Colour | None = None
    pattern: Pattern | None = None
    """Texture, drawn in ``colour`` (grey if None) and a darker shade."""

    @property
    def usual(self) -> bool:
        """Whether the finish changes nothing."""
        return self.colour is None and self.pattern is None


USUAL_FINISH = Finish()


class Surface(StrEnum):
    """Surfaces of a room."""

    FLOOR = "floor"
    WALLS = "walls"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Lighting:
    """Changes to every lamp of a room."""

    intensity: float = 1.0
    """Factor on the brightness."""
    colour: Colour = (1.0, 1.0, 1.0)
    """Factors on red, green and blue."""
    tilt: tuple[float, float] = (0.0, 0.0)
    """Rotation of the light about the world's x and y axes, radians."""
    shadows: bool | None = None
    """Whether the lamps cast shadows; None for the room's default."""


@dataclass(frozen=True, slots=True)
class CameraChange:
    """A change of a camera's position, orientation or field of view."""

    name: str
    shift: Vector3 = (0.0, 0.0, 0.0)
    """Displacement in the frame of the body that the camera is attached to, metres."""
    turn: Vector3 = (0.0, 0.0, 0.0)
    """Rotation about the camera's own axes, radians: pitch, yaw, roll."""
    zoom: float = 1.0
    """Factor on the field of view."""


@dataclass(frozen=True, slots=True)
class RobotStart:
    """Initial pose of the robot, relative to the default."""

    joints: tuple[float, float, float, float, float, float, float] = (0.0,) * 7
    """Offsets added to the arm's default joint angles, radians."""
    base: tuple[float, float] = (0.0, 0.0)
    """Displacement of the base along x and y, metres."""


@dataclass(frozen=True, slots=True)
class Staging:
    """Surfaces, lights, cameras and the robot's initial pose."""

    surfaces: tuple[tuple[Surface, Finish], ...] = ()
    lighting: Lighting = Lighting()
    cameras: tuple[CameraChange, ...] = ()
    robot: RobotStart = RobotStart()
    lift: float = 0.0
    """Height by which fixtures are raised, metres: LIBERO's placement sinks them into some surfaces."""


USUAL_STAGING = Staging()


class Arena(StrEnum):
    """Rooms of LIBERO's scenes."""

    TABLE = "table"
    KITCHEN = "kitchen"
    LIVING_ROOM = "living_room"
    STUDY = "study"
    FLOOR = "floor"
    COFFEE_TABLE = "coffee_table"

    @property
    def workspace(self) -> str:
        """Name of the surface that regions refer to, e.g. ``main_table``."""
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
    """Kind of object, e.g. ``plate``; asset packs provide a model for each category."""
    finish: Finish = USUAL_FINISH
    """Appearance, if it differs from the default."""
    size: float = 1.0
    """Scale factor."""


class Rectangle(NamedTuple):
    """An axis-aligned rectangle on the workspace, in metres, relative to its centre."""

    x_min: float
    y_min: float
    x_max: float
    y_max: float


@dataclass(frozen=True, slots=True)
class Region:
    """A named place: a rectangle on the workspace, or a site that is part of an entity."""

    name: str
    """Name within its target, e.g. ``plate_region``."""
    target: str
    """The workspace or the entity it belongs to, e.g. ``main_table``."""
    rectangles: tuple[Rectangle, ...] = ()
    """Areas in which objects are placed; empty for a region that is part of an entity."""
    yaw: tuple[float, float] | None = None
    """Lower and upper bound of the yaw of a fixture placed here, radians; None if unspecified."""
    rgba: tuple[float, float, float, float] | None = None
    """Colour in which the region is drawn; None if unspecified (invisible)."""

    @property
    def full_name(self) -> str:
        """Name used in atoms: ``main_table_plate_region``."""
        return f"{self.target}_{self.name}"


class Predicate(StrEnum):
    """Predicates over the objects of a scene. The value is the spelling in task files."""

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
        """Number of arguments."""
        return 1 if self in _UNARY else 2


INSIDE = (Predicate.IN, Predicate.EXACT_IN)
"""Predicates about an object in a container."""
UPON = (Predicate.ON, Predicate.UPRIGHT_ON, Predicate.SIDE_ON, Predicate.STACK)
"""Predicates about an object on a support."""
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
    """Arena, fixtures, objects, regions and initial relations."""

    arena: Arena
    fixtures: tuple[Entity, ...]
    """Immovable entities, without the workspace itself."""
    objects: tuple[Entity, ...]
    """Movable entities."""
    regions: tuple[Region, ...]
    initial: tuple[Atom, ...]
    """Relations that hold at the start; they determine the placement of objects."""
    style: str = ""
    """Variant of the arena's appearance, by its name in task files; empty for the default."""
    absent: tuple[str, ...] = ()
    """Entities that a goal may name but that are deliberately absent: every atom about them is false."""
    staging: Staging = USUAL_STAGING
    """Lights, cameras, surfaces and the robot's initial pose, if they differ from the defaults."""

    def region(self, full_name: str) -> Region | None:
        """Return the region with this full name, or None."""
        return next((region for region in self.regions if region.full_name == full_name), None)

    def owner(self, name: str) -> str:
        """Return the entity that a region belongs to; other names are returned unchanged."""
        region = self.region(name)
        return region.target if region is not None else name

    @property
    def entities(self) -> tuple[Entity, ...]:
        """All objects, then all fixtures: their order in a compiled model."""
        return self.objects + self.fixtures

    @property
    def categories(self) -> dict[str, str]:
        """Category of each entity, by its name."""
        return {entity.name: entity.category for entity in self.entities}

    @property
    def names(self) -> frozenset[str]:
        """All names that an atom may use."""
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
    """Names of the entities and regions that the task involves."""

    @property
    def goal_entities(self) -> tuple[str, ...]:
        """Names of the entities in the goal, without duplicates, in its order; those that own a region for regions."""
        names = (self.scene.owner(name) for atom in self.goal.atoms for name in atom.arguments)
        return tuple(dict.fromkeys(names))
