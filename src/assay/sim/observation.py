"""What a policy gets to see. Pictures are drawn when somebody reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from assay.sim.render import Moment, Renderer

Kind = Literal["colour", "depth", "segmentation"]


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """The robot's own sensing, and cameras that draw on demand.

    The timing is LIBERO's: pose, pictures and joints are those of the 23rd of a step's 25 substeps, the
    fingers those of the 24th.
    """

    step: int
    """Control steps since the start."""
    joints: np.ndarray
    """The arm's joint angles, radians, (7,)."""
    eef_position: np.ndarray
    """The grip site in the world, metres, (3,)."""
    eef_quaternion: np.ndarray
    """The hand's orientation in the world, (w, x, y, z), (4,)."""
    gripper: np.ndarray
    """The two finger joints, metres, (2,): (0.04, -0.04) is open."""
    moment: Moment
    """What the pictures show."""
    _renderer: Renderer = field(repr=False)
    _drawn: dict[tuple[Kind, str, int, int], np.ndarray] = field(default_factory=dict, repr=False)

    def image(self, camera: str = "agentview", height: int = 256, width: int | None = None) -> np.ndarray:
        """A picture: uint8, (height, width, 3), the top row first."""
        return self._picture("colour", camera, height, width)

    def depth(self, camera: str = "agentview", height: int = 256, width: int | None = None) -> np.ndarray:
        """Distances from the camera's plane, metres: float32, (height, width)."""
        return self._picture("depth", camera, height, width)

    def segmentation(
        self, camera: str = "agentview", height: int = 256, width: int | None = None
    ) -> np.ndarray:
        """Labels: 0 the arena, 1 the robot, from 2 on the scene's entities: int32, (height, width)."""
        return self._picture("segmentation", camera, height, width)

    def _picture(self, kind: Kind, camera: str, height: int, width: int | None) -> np.ndarray:
        key = (kind, camera, height, height if width is None else width)
        if key not in self._drawn:
            self._drawn[key] = getattr(self._renderer, kind)(self.moment, *key[1:])
        return self._drawn[key].copy()
