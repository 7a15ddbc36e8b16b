"""Changes that LIBERO-plus makes to a task: camera views on a sphere, initial joint angles and Gaussian blur."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from PIL import Image, ImageFilter

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.episodes.senses import Chance
from assay.errors import PerturbationError
from assay.perturb.senses.images import Severe
from assay.perturb.world.staging import with_staging
from assay.sim.layout import HOME, LAYOUTS
from assay.tasks import Task
from assay.tasks.scene import CameraChange

CAMERA = "agentview"
PIVOT = np.array([0.0, 0.0, 0.8])
"""Point about which a camera orbits, in metres in the world frame."""
JOINTS = 7


@perturbation
class SphereView(Perturbation):
    """Moves the main camera on a sphere around the workspace, or turns it away from the centre."""

    kind = "release/view"
    effects = frozenset({Effect.PHYSICS})
    change = Change.CAMERA
    horizontal: float = 0.0
    """Angle about the vertical axis, in degrees."""
    vertical: float = 0.0
    """Elevation angle, in degrees; positive is upward."""
    distance: float = 1.0
    """Factor by which the distance to the pivot is multiplied."""
    turn: float = 0.0
    """Angle, in degrees, by which the camera is then panned."""
    tilt: float = 0.0
    """Angle, in degrees, by which the camera is then tilted."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Move and turn the camera."""
        from scipy.spatial.transform import Rotation  # importing it takes a quarter of a second

        usual = LAYOUTS[task.scene.arena].cameras[CAMERA]
        before = Rotation.from_quat(usual.quaternion, scalar_first=True)
        up = Rotation.from_euler("y", -self.vertical, degrees=True)
        around = Rotation.from_euler("z", self.horizontal, degrees=True)
        position = around.apply(up.apply(np.array(usual.position) - PIVOT)) * self.distance + PIVOT
        aside = Rotation.from_euler("z", self.turn, degrees=True)
        aside = Rotation.from_euler("y", -self.tilt, degrees=True) * aside
        a, b, c = (before.inv() * (aside * around * up * before)).as_euler("XYZ").tolist()
        x, y, z = (position - np.array(usual.position)).tolist()
        others = (camera for camera in task.scene.staging.cameras if camera.name != CAMERA)
        return with_staging(task, cameras=(*others, CameraChange(CAMERA, (x, y, z), (a, b, c))))


@perturbation
class StartJoints(Perturbation):
    """Starts the arm with given joint angles."""

    kind = "release/joints"
    effects = frozenset({Effect.PHYSICS})
    change = Change.ROBOT
    angles: tuple[float, ...]
    """Joint angles, in radians, shape (7,)."""

    def __post_init__(self) -> None:
        if len(self.angles) != JOINTS or not np.isfinite(self.angles).all():
            raise PerturbationError(f"{self.kind}: angles={self.angles}; expected {JOINTS} finite numbers")

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Set the initial joint angles in the task's staging."""
        a, b, c, d, e, f, g = (angle - usual for angle, usual in zip(self.angles, HOME, strict=True))
        return with_staging(task, robot=replace(task.scene.staging.robot, joints=(a, b, c, d, e, f, g)))


@perturbation
class GaussianBlur(Severe):
    """Blurs images as if out of focus."""

    kind = "release/gaussian_blur"
    WIDTH: ClassVar[float] = 1 / 256
    """Standard deviation per severity level, as a fraction of the image height."""

    def alter(self, image: np.ndarray, chance: Chance) -> np.ndarray:
        """Blur the image."""
        radius = self.severity * self.WIDTH * image.shape[0]
        return np.asarray(Image.fromarray(image).filter(ImageFilter.GaussianBlur(radius)))
