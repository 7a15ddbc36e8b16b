"""How a scene is set up beyond what stands where: looks, lights, cameras, the robot's start. Pure data.

The defaults of everything here are LIBERO's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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
        """A pattern by what LIBERO-X calls things that have it: a speckle book, a striped mug."""
        words = {"striped": cls.STRIPES, "checkered": cls.CHECKER, "speckle": cls.SPECKLES}
        return words.get(str(value))


@dataclass(frozen=True, slots=True)
class Finish:
    """The look of a thing or a surface, where it is not the usual one."""

    colour: Colour | None = None
    pattern: Pattern | None = None
    """Drawn in ``colour`` (grey if there is none) and a darker shade of it."""

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
