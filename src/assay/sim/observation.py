"""What a policy gets to see. Pictures are drawn when somebody reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np

from assay.sim.render import Renderer, Snapshot

Kind = Literal["colour", "depth", "segmentation", "raw_depth", "geoms"]
Lens = Callable[["Observation", Kind, str, int, int], np.ndarray]
"""Gives a picture in place of the one behind it: observation, kind, camera, height, width."""


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """The robot's own sensing, and cameras that draw on demand.

    The timing is LIBERO's: poses and pictures are those after 23 of a step's 25 substeps, joints and fingers, and
    their velocities, those after 24.
    """

    step: int
    """Control steps since the start."""
    joints: np.ndarray
    """The arm's joint angles, radians, (7,)."""
    joint_velocities: np.ndarray
    """Radians a second, (7,)."""
    eef_position: np.ndarray
    """The grip site in the world, metres, (3,)."""
    eef_quaternion: np.ndarray
    """The hand's orientation in the world, (w, x, y, z), (4,)."""
    gripper: np.ndarray
    """The two finger joints, metres, (2,): (0.04, -0.04) is open."""
    gripper_velocities: np.ndarray
    """Metres a second, (2,)."""
    moment: Snapshot
    """What the pictures show."""
    _renderer: Renderer = field(repr=False)
    _drawn: dict[tuple[Kind, str, int, int], np.ndarray] = field(default_factory=dict, repr=False)
    _look: Callable[[Kind, str, int, int], np.ndarray] | None = field(default=None, repr=False)
    """What draws in place of the renderer."""

    def image(self, camera: str = "agentview", height: int = 256, width: int | None = None) -> np.ndarray:
        """A picture: uint8, (height, width, 3), the top row first."""
        return self.picture("colour", camera, height, width)

    def depth(self, camera: str = "agentview", height: int = 256, width: int | None = None) -> np.ndarray:
        """Distances from the camera's plane, metres: float32, (height, width)."""
        return self.picture("depth", camera, height, width)

    def segmentation(
        self, camera: str = "agentview", height: int = 256, width: int | None = None
    ) -> np.ndarray:
        """Labels: 0 the arena, 1 the robot, from 2 on the scene's entities: int32, (height, width)."""
        return self.picture("segmentation", camera, height, width)

    def picture(self, kind: Kind, camera: str, height: int, width: int | None = None) -> np.ndarray:
        """A picture of a kind, as the method of that name gives it."""
        key = (kind, camera, height, height if width is None else width)
        if key not in self._drawn:
            draw = self._look or self._draw
            self._drawn[key] = draw(*key)
        return self._drawn[key].copy()

    def sketch(self, camera: str, height: int) -> np.ndarray:
        """A picture for people, (height, height, 3): one that was drawn already, or a quick one that is not kept."""
        known = self._drawn.get(("colour", camera, height, height))
        return self._renderer.sketch(self.moment, camera, height, height) if known is None else known

    def through(self, lens: Lens) -> Observation:
        """The same observation with pictures seen through a lens; the lens is used when they are read."""
        return replace(self, _look=partial(lens, self), _drawn={})

    def _draw(self, kind: Kind, camera: str, height: int, width: int) -> np.ndarray:
        drawn: np.ndarray = getattr(self._renderer, kind)(self.moment, camera, height, width)
        return drawn
