"""Other cameras: moved, turned, zoomed, or led around what they look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from assay.errors import PerturbationError, did_you_mean
from assay.perturb.base import perturbation
from assay.perturb.fields import between, check, within
from assay.perturb.world.room import staged
from assay.sim.layout import layout_of
from assay.sim.render import CAMERAS
from assay.tasks import Task
from assay.tasks.staging import CameraChange, Vector3

LARGEST_TURN = 0.6
"""Radians."""


@perturbation
@dataclass(frozen=True, slots=True)
class MoveCamera:
    """A camera stands, looks or zooms differently."""

    kind: ClassVar[str] = "world/camera"
    rebuilds: ClassVar[bool] = True
    looks_only: ClassVar[bool] = True

    camera: str = "agentview"
    """The scene's, or ``robot0_eye_in_hand``."""
    shift: Vector3 = field(default=(0.0, 0.0, 0.0), metadata=between(-1.0, 1.0))
    """Metres."""
    turn: Vector3 = field(default=(0.0, 0.0, 0.0), metadata=between(-LARGEST_TURN, LARGEST_TURN))
    """Radians: up and down, left and right, roll."""
    zoom: float = within(0.5, 1.8, default=1.0)
    """Factor on the field of view."""

    def __post_init__(self) -> None:
        check(self)
        check_camera(self.kind, self.camera)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Changes the staging."""
        change = CameraChange(self.camera, self.shift, self.turn, self.zoom)
        return staged(task, cameras=_with(task, change))


@perturbation
@dataclass(frozen=True, slots=True)
class Orbit:
    """The scene's camera is led around the point of the workspace that it looks at, and still looks there."""

    kind: ClassVar[str] = "world/orbit"
    rebuilds: ClassVar[bool] = True
    looks_only: ClassVar[bool] = True

    azimuth: float = within(-1.6, 1.6, default=0.0)
    """How far around, radians; to the right as the camera sees it if positive."""
    elevation: float = within(-0.6, 0.6, default=0.0)
    """How far up, radians."""
    distance: float = within(0.5, 2.0, default=1.0)
    """Factor on how far off it is."""

    def __post_init__(self) -> None:
        check(self)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Changes the staging. Raises PerturbationError where it would look from below or over the top."""
        layout = layout_of(task.scene)
        pose = layout.cameras["agentview"]
        usual, place = Rotation.from_quat(pose.quaternion, scalar_first=True), np.array(pose.position)
        ahead = usual.apply([0.0, 0.0, -1.0])
        reach = (layout.offset[2] - place[2]) / ahead[2]
        off = -reach * ahead
        height = float(np.arcsin(off[2] / reach)) + self.elevation
        if not 0.1 <= height <= 1.4:
            raise PerturbationError(
                f"{self.kind}: elevation={self.elevation:g} looks at {task.id} from {np.degrees(height):.0f} "
                "degrees above its workspace; valid: 6 to 80"
            )
        # Up about the camera's own right, then around the world's vertical.
        led = Rotation.from_rotvec([0.0, 0.0, self.azimuth]) * Rotation.from_rotvec(
            -self.elevation * usual.apply([1.0, 0.0, 0.0])
        )
        shift = self.distance * led.apply(off) - off
        turn = (usual.inv() * led * usual).as_euler("XYZ")
        change = CameraChange("agentview", tuple(map(float, shift)), tuple(map(float, turn)))  # type: ignore[arg-type]
        return staged(task, cameras=_with(task, change))


def check_camera(kind: str, camera: str) -> None:
    """Raise PerturbationError with the nearest name if no policy sees through such a camera."""
    if camera not in CAMERAS:
        raise PerturbationError(f"{kind}: there is no camera '{camera}': {did_you_mean(camera, CAMERAS)}")


def _with(task: Task, change: CameraChange) -> tuple[CameraChange, ...]:
    return (*(each for each in task.scene.staging.cameras if each.name != change.name), change)
