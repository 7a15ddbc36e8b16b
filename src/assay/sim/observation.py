"""Observations of LIBERO's world, whose images are rendered on first access."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np

from assay.sim.render import Renderer, Snapshot

ImageKind = Literal["colour", "depth", "segmentation", "raw_depth", "geoms"]
Lens = Callable[["Observation", ImageKind, str, int, int], np.ndarray]
"""Function that returns an image to replace the rendered one, given the observation, kind, camera, height and width."""


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """Proprioception, and camera images that are rendered on demand.

    The timing is LIBERO's: in a control step of 25 substeps, poses and images are taken after 23, joint and finger
    positions and velocities after 24.
    """

    step: int
    """Number of control steps since the start of the episode."""
    joints: np.ndarray
    """The arm's joint angles, in radians, (7,)."""
    joint_velocities: np.ndarray
    """The arm's joint velocities, in radians per second, (7,)."""
    eef_position: np.ndarray
    """Position of the grip site in the world, in metres, (3,)."""
    eef_quaternion: np.ndarray
    """Orientation of the wrist (``right_hand``) in the world, a quaternion (w, x, y, z), (4,)."""
    gripper: np.ndarray
    """Positions of the two finger joints, in metres, (2,); (0.04, -0.04) is fully open."""
    gripper_velocities: np.ndarray
    """Velocities of the finger joints, in metres per second, (2,)."""
    moment: Snapshot
    """The poses from which images are rendered."""
    _renderer: Renderer = field(repr=False)
    _images: dict[tuple[ImageKind, str, int, int], np.ndarray] = field(default_factory=dict, repr=False)
    _through_lens: Callable[[ImageKind, str, int, int], np.ndarray] | None = field(default=None, repr=False)
    """Function that replaces the renderer's images; None if no lens (see `through`) has been applied."""

    def image(self, camera: str = "agentview", height: int = 256, width: int | None = None) -> np.ndarray:
        """Return a colour image: uint8, (height, width, 3), top row first."""
        return self.picture("colour", camera, height, width)

    def depth(self, camera: str = "agentview", height: int = 256, width: int | None = None) -> np.ndarray:
        """Return the distances from the camera plane in metres: float32, (height, width)."""
        return self.picture("depth", camera, height, width)

    def segmentation(
        self, camera: str = "agentview", height: int = 256, width: int | None = None
    ) -> np.ndarray:
        """Return the label of each pixel (0 arena, 1 robot, 2 and up the scene's entities): int32, (height, width)."""
        return self.picture("segmentation", camera, height, width)

    def picture(self, kind: ImageKind, camera: str, height: int, width: int | None = None) -> np.ndarray:
        """Return an image of the given kind: the result of `image`, `depth` or `segmentation`."""
        key = (kind, camera, height, height if width is None else width)
        if key not in self._images:
            render = getattr(self._renderer, kind)
            self._images[key] = (
                render(self.moment, *key[1:]) if self._through_lens is None else self._through_lens(*key)
            )
        return self._images[key].copy()

    def through(self, lens: Lens) -> Observation:
        """Return the same observation with images that the function ``lens`` replaces on first access."""
        return replace(self, _through_lens=partial(lens, self), _images={})
