"""Other cameras: moved, turned, zoomed, or led around what they look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.episodes.fields import between, check_change, within
from assay.errors import PerturbationError, did_you_mean
from assay.perturb.world.room import staged
from assay.sim.layout import layout_of
from assay.sim.render import CAMERAS
from assay.tasks import Task
from assay.tasks.staging import CameraChange, Vector3

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation

_CAMERA = "agentview"
LARGEST_TURN = 0.6
"""Radians."""


@perturbation
@dataclass(frozen=True, slots=True)
class MoveCamera(Perturbation):
    """A camera stands, looks or zooms differently."""

    kind = "world/camera"
    effects = frozenset({Effect.LOOKS})
    change = Change.CAMERA

    camera: str = _CAMERA
    """The scene's, or ``robot0_eye_in_hand``."""
    shift: Vector3 = field(default=(0.0, 0.0, 0.0), metadata=between(-1.0, 1.0))
    """Metres."""
    turn: Vector3 = field(default=(0.0, 0.0, 0.0), metadata=between(-LARGEST_TURN, LARGEST_TURN))
    """Radians: up and down, left and right, roll."""
    zoom: float = within(0.5, 1.8, default=1.0)
    """Factor on the field of view."""

    def __post_init__(self) -> None:
        Perturbation.__post_init__(self)
        check_camera(self.kind, self.camera)
        check_change(self, shift=(0.0, 0.0, 0.0), turn=(0.0, 0.0, 0.0), zoom=1.0)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Changes the staging, on top of what is changed there."""
        from scipy.spatial.transform import Rotation  # a quarter of a second, and few need it

        before = _change_of(task, self.camera)
        zoom = before.zoom * self.zoom
        MoveCamera(self.camera, self.shift, self.turn, zoom)  # both together may be too much
        turn = Rotation.from_euler("XYZ", before.turn) * Rotation.from_euler("XYZ", self.turn)
        return _staged(task, self.camera, np.add(before.shift, self.shift), turn, zoom)


@perturbation
@dataclass(frozen=True, slots=True)
class Orbit(Perturbation):
    """The scene's camera is led around the point of the workspace that it looks at, and still looks there."""

    kind = "world/orbit"
    effects = frozenset({Effect.LOOKS})
    change = Change.CAMERA

    azimuth: float = within(-1.6, 1.6, default=0.0)
    """How far around, radians; to the right as the camera sees it if positive."""
    elevation: float = within(-0.6, 0.6, default=0.0)
    """How far up, radians."""
    distance: float = within(0.5, 2.0, default=1.0)
    """Factor on how far off it is."""

    def __post_init__(self) -> None:
        Perturbation.__post_init__(self)
        check_change(self, azimuth=0.0, elevation=0.0, distance=1.0)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Changes the staging, on top of what is changed there.

        Raises PerturbationError where it would look from below or over the top.
        """
        from scipy.spatial.transform import Rotation  # a quarter of a second, and few need it

        layout, before = layout_of(task.scene), _change_of(task, _CAMERA)
        pose = layout.cameras[_CAMERA]
        turned = Rotation.from_euler("XYZ", before.turn)
        usual = Rotation.from_quat(pose.quaternion, scalar_first=True) * turned
        place = np.add(pose.position, before.shift)
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
        shift = before.shift + self.distance * led.apply(off) - off
        return _staged(task, _CAMERA, shift, turned * (usual.inv() * led * usual), before.zoom)


def check_camera(kind: str, camera: str) -> None:
    """Raise PerturbationError with the nearest name if no policy sees through such a camera."""
    if camera not in CAMERAS:
        raise PerturbationError(f"{kind}: there is no camera '{camera}': {did_you_mean(camera, CAMERAS)}")


def _change_of(task: Task, camera: str) -> CameraChange:
    """How a camera is changed so far."""
    return next((each for each in task.scene.staging.cameras if each.name == camera), CameraChange(camera))


def _staged(task: Task, camera: str, shift: np.ndarray, turn: Rotation, zoom: float) -> Task:
    """A task with a camera changed so, in place of what was changed there."""
    (x, y, z), (up, aside, roll) = shift.tolist(), turn.as_euler("XYZ").tolist()
    change = CameraChange(camera, (x, y, z), (up, aside, roll), zoom)
    others = (each for each in task.scene.staging.cameras if each.name != camera)
    return staged(task, cameras=(*others, change))
