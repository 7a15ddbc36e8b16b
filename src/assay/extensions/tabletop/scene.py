"""What lies on the table: items with a shape, a texture and a pose. Pure data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from assay.errors import TaskError
from assay.extensions.tabletop.shapes import Solid, solid

X_LOW, X_HIGH, Y_LOW, Y_HIGH = 0.25, 0.75, -0.5, 0.5
"""The usable rectangle, metres: x points away from the robot, y sideways."""


class Tool(StrEnum):
    """What the robot holds."""

    SUCTION = "suction"
    SPATULA = "spatula"


@dataclass(frozen=True, slots=True)
class Item:
    """One thing on the table."""

    name: str
    """Unique in its scene, e.g. ``dragged_obj``."""
    shape: str
    """A name from `shapes.SOLIDS`."""
    texture: str
    x: float
    """Metres."""
    y: float
    yaw: float = 0.0
    """Radians, counter-clockwise seen from above."""
    z: float = 0.0
    """The height of its underside, metres."""
    size: tuple[float, float, float] = (1.0, 1.0, 1.0)
    """Factors along its own x, y and z."""
    fixed: bool = False
    """Whether it is part of the table: it cannot be moved or picked."""

    @property
    def solid(self) -> Solid:
        """Its geometry."""
        return solid(self.shape, self.size)

    @property
    def radius(self) -> float:
        """Of the circle it needs on the table, metres."""
        return self.solid.radius

    @property
    def words(self) -> str:
        """How one would call it: ``tiger letter A``."""
        return f"{self.texture} {self.shape}"

    def at(self, x: float, y: float, yaw: float | None = None, z: float = 0.0) -> Item:
        """The same thing elsewhere."""
        return replace(self, x=x, y=y, z=z, yaw=self.yaw if yaw is None else yaw)


@dataclass(frozen=True, slots=True)
class TableScene:
    """Everything that stands on the table, in the order in which policies see it."""

    items: tuple[Item, ...]
    tool: Tool = Tool.SUCTION
    table: bool = True
    """Whether the table is drawn; without it things stand in a white nowhere."""

    def __post_init__(self) -> None:
        names = [item.name for item in self.items]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise TaskError(f"the scene has more than one item '{twice}'; names are unique")

    def item(self, name: str) -> Item:
        """The item of that name."""
        return self.items[self.index(name)]

    def index(self, name: str) -> int:
        """Where in the order the item of that name is. Raises TaskError if there is none."""
        for index, item in enumerate(self.items):
            if item.name == name:
                return index
        valid = ", ".join(item.name for item in self.items)
        raise TaskError(f"the scene has no item '{name}'; it has: {valid}")
