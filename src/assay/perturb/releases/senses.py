"""LIBERO-plus' views, starts of the robot and noise, where ours are not the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from PIL import Image, ImageFilter

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.episodes.senses import Chance
from assay.errors import PerturbationError
from assay.perturb.senses.pictures import Severe
from assay.sim.layout import HOME, LAYOUTS
from assay.tasks import Task
from assay.tasks.staging import CameraChange

CAMERA = "agentview"
PIVOT = np.array([0.0, 0.0, 0.8])
"""What a view is turned about and moved away from, metres in the world."""
JOINTS = 7


@perturbation
@dataclass(frozen=True, slots=True)
class View(Perturbation):
    """The main camera on another place of a sphere around the workspace, or looking past its middle."""

    kind = "release/view"
    effects = frozenset({Effect.PHYSICS})
    change = Change.CAMERA

    horizontal: float = 0.0
    """Degrees about the vertical."""
    vertical: float = 0.0
    """Degrees upward."""
    distance: float = 1.0
    """Factor on the distance to the pivot."""
    turn: float = 0.0
    """Degrees that it then looks to the side."""
    tilt: float = 0.0
    """Degrees that it then looks up or down."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Moves and turns the camera."""
        from scipy.spatial.transform import Rotation  # a quarter of a second, and few need it

        usual = LAYOUTS[task.scene.arena].cameras[CAMERA]
        w, x, y, z = usual.quaternion
        before = Rotation.from_quat([x, y, z, w])
        up = Rotation.from_euler("y", -self.vertical, degrees=True)
        around = Rotation.from_euler("z", self.horizontal, degrees=True)
        position = around.apply(up.apply(np.array(usual.position) - PIVOT)) * self.distance + PIVOT
        looking = Rotation.from_euler("z", self.turn, degrees=True)
        looking = Rotation.from_euler("y", -self.tilt, degrees=True) * looking
        after = looking * around * up * before
        a, b, c = (before.inv() * after).as_euler("XYZ")
        dx, dy, dz = position - np.array(usual.position)
        change = CameraChange(CAMERA, (float(dx), float(dy), float(dz)), (float(a), float(b), float(c)))
        staging = task.scene.staging
        cameras = (*(camera for camera in staging.cameras if camera.name != CAMERA), change)
        return replace(task, scene=replace(task.scene, staging=replace(staging, cameras=cameras)))


@perturbation
@dataclass(frozen=True, slots=True)
class StartJoints(Perturbation):
    """The arm starts with given joint angles."""

    kind = "release/joints"
    effects = frozenset({Effect.PHYSICS})
    change = Change.ROBOT

    angles: tuple[float, ...]
    """Radians, (7,)."""

    def __post_init__(self) -> None:
        if len(self.angles) != JOINTS or not np.isfinite(self.angles).all():
            raise PerturbationError(f"{self.kind}: angles={self.angles}; valid: {JOINTS} numbers")

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Changes the staging."""
        a, b, c, d, e, f, g = (angle - usual for angle, usual in zip(self.angles, HOME, strict=True))
        staging = task.scene.staging
        robot = replace(staging.robot, joints=(a, b, c, d, e, f, g))
        return replace(task, scene=replace(task.scene, staging=replace(staging, robot=robot)))


@perturbation
@dataclass(frozen=True, slots=True)
class GaussianBlur(Severe):
    """A picture that is out of focus."""

    kind = "release/gaussian_blur"
    WIDTH: ClassVar[float] = 1 / 256
    """The standard deviation at each severity, as a share of the picture's height."""

    def changed(self, picture: np.ndarray, chance: Chance) -> np.ndarray:
        """The blurred picture."""
        radius = self.severity * self.WIDTH * picture.shape[0]
        return np.asarray(Image.fromarray(picture).filter(ImageFilter.GaussianBlur(radius)))
