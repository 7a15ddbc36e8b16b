"""Scene description as plain data: objects, relations, appearance, lights, cameras and the robot's initial pose.

All defaults are those of LIBERO.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from assay.episodes.spec import Instruction

Colour = tuple[float, float, float]
"""Red, green and blue, each from 0 to 1."""
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
        """Return the pattern for one of LIBERO-X's adjectives: "a speckle book", "a striped mug"."""
        words = {"striped": cls.STRIPES, "checkered": cls.CHECKER, "speckle": cls.SPECKLES}
        return words.get(str(value))


@dataclass(frozen=True, slots=True)
class Finish:
    """Changes to the appearance of an object or a surface."""

    colour: Colour | None = None
    pattern: Pattern | None = None
    """Texture, drawn in ``colour`` (grey if None) and a darker shade."""


class Surface(StrEnum):
    """Surfaces of a room."""

    FLOOR = "floor"
    WALLS = "walls"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Lighting:
    """Changes to all lamps in a room."""

    intensity: float = 1.0
    """Brightness factor."""
    colour: Colour = (1.0, 1.0, 1.0)
    """Factors for red, green and blue."""
    tilt: tuple[float, float] = (0.0, 0.0)
    """Rotation of the light about the world's x and y axes, in radians."""
    shadows: bool | None = None
    """Whether the lamps cast shadows; None for the room's default."""


@dataclass(frozen=True, slots=True)
class CameraChange:
    """Change to a camera's position, orientation or field of view."""

    name: str
    shift: Vector3 = (0.0, 0.0, 0.0)
    """Displacement in the frame of the body to which the camera is attached, in metres."""
    turn: Vector3 = (0.0, 0.0, 0.0)
    """Rotation about the camera's own axes (pitch, yaw, roll), in radians."""
    zoom: float = 1.0
    """Factor applied to the field of view."""


@dataclass(frozen=True, slots=True)
class RobotStart:
    """Initial pose of the robot, relative to the default."""

    joints: tuple[float, float, float, float, float, float, float] = (0.0,) * 7
    """Offsets added to the arm's default joint angles, in radians."""
    base: tuple[float, float] = (0.0, 0.0)
    """Displacement of the base along x and y, in metres."""


@dataclass(frozen=True, slots=True)
class Staging:
    """Changes to the surfaces, lights, cameras and the robot's initial pose of a scene."""

    surfaces: tuple[tuple[Surface, Finish], ...] = ()
    lighting: Lighting = Lighting()
    cameras: tuple[CameraChange, ...] = ()
    robot: RobotStart = RobotStart()
    lift: float = 0.0
    """Height, in metres, by which fixtures are raised, because LIBERO's placement sinks them into some surfaces."""


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
    """A movable object or a fixture in a scene."""

    name: str
    """Name, unique in the scene, e.g. ``plate_1``."""
    category: str
    """Kind of object, e.g. ``plate``; asset packs provide a model for each category."""
    finish: Finish = Finish()
    """Appearance, if it differs from the default."""
    size: float = 1.0
    """Scale factor."""


class Rectangle(NamedTuple):
    """An axis-aligned rectangle on the workspace, in metres relative to the workspace's centre."""

    x_min: float
    y_min: float
    x_max: float
    y_max: float


@dataclass(frozen=True, slots=True)
class Region:
    """A named region: rectangles on the workspace, or a site that is part of an entity."""

    name: str
    """Name, unique within the target, e.g. ``plate_region``."""
    target: str
    """Workspace or entity to which the region belongs, e.g. ``main_table``."""
    rectangles: tuple[Rectangle, ...] = ()
    """Areas in which objects are placed; empty for a region that is part of an entity."""
    yaw: tuple[float, float] | None = None
    """Lower and upper bounds, in radians, on the yaw of a fixture placed here; None if unspecified."""
    rgba: tuple[float, float, float, float] | None = None
    """Colour in which the region is drawn; None if unspecified (invisible)."""

    @property
    def full_name(self) -> str:
        """Name used in atoms: ``main_table_plate_region``."""
        return f"{self.target}_{self.name}"


class Predicate(StrEnum):
    """Predicates over the objects in a scene. The value is the spelling in task files."""

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
"""Predicates that relate an object to the container that it is in."""
UPON = (Predicate.ON, Predicate.UPRIGHT_ON, Predicate.SIDE_ON, Predicate.STACK)
"""Predicates that relate an object to the support that it is on."""
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
    """Immovable entities, excluding the workspace."""
    objects: tuple[Entity, ...]
    """Movable entities."""
    regions: tuple[Region, ...]
    initial: tuple[Atom, ...]
    """Relations that hold initially; they determine the placement of objects."""
    style: str = ""
    """Variant of the arena's appearance, by its name in task files; empty for the default."""
    absent: tuple[str, ...] = ()
    """Entities that a goal may name but that are deliberately absent; every atom about them is false."""
    staging: Staging = Staging()
    """Lights, cameras, surfaces and the robot's initial pose, if they differ from the defaults."""

    def region(self, full_name: str) -> Region | None:
        """Return the region with this full name, or None if none exists."""
        return next((region for region in self.regions if region.full_name == full_name), None)

    def owner(self, name: str) -> str:
        """Return the entity to which a region belongs; other names are returned unchanged."""
        region = self.region(name)
        return region.target if region is not None else name

    @property
    def entities(self) -> tuple[Entity, ...]:
        """All objects, then all fixtures, in the order used in a compiled model."""
        return self.objects + self.fixtures

    @property
    def categories(self) -> dict[str, str]:
        """Category of each entity, by name."""
        return {entity.name: entity.category for entity in self.entities}

    @property
    def names(self) -> frozenset[str]:
        """All names that may occur in an atom."""
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
    """A scene, a goal and an instruction, with a stable id such as ``libero_goal/3``."""

    id: str
    scene: Scene
    goal: Goal
    instruction: Instruction
    of_interest: tuple[str, ...] = field(default=())
    """Names of the entities and regions that the task involves."""

    @property
    def goal_entities(self) -> tuple[str, ...]:
        """Names of the entities in the goal, in order and without duplicates; a region is replaced by its owner."""
        names = (self.scene.owner(name) for atom in self.goal.atoms for name in atom.arguments)
        return tuple(dict.fromkeys(names))
