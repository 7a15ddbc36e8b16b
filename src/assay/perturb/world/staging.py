"""Perturbations of the room, its surfaces, the light, the cameras and the robot's initial pose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation, within
from assay.errors import PerturbationError, did_you_mean
from assay.perturb.world.ground import Ground, robot_base
from assay.perturb.world.objects import HUES
from assay.sim.layout import LAYOUTS, layout_of
from assay.sim.render import CAMERAS
from assay.tasks import Arena, Atom, Scene, Task
from assay.tasks.scene import CameraChange, Colour, Finish, Lighting, Pattern, RobotStart, Surface, Vector3

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation


LIFTS = {Arena.STUDY: 0.018, Arena.FLOOR: 0.02}
"""Height, in metres, by which fixtures are raised in rooms where LIBERO places no fixtures."""
PEDESTAL = 0.12
"""Radius of the robot's pedestal about the centre of its base, in metres."""


@perturbation
class Room(Perturbation):
    """Moves the scene to another arena."""

    kind = "world/room"
    effects = frozenset({Effect.PHYSICS})
    change = Change.ROOM
    sets_vocabulary = True

    arena: Arena | None = None
    """The new arena; if None, chosen at random from the others in which no fixture collides with the robot."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Change the arena, and rename the regions of the old workspace."""
        if task.scene.arena is self.arena:
            raise PerturbationError(f"{self.kind}: {task.id} is already in the arena {self.arena}")
        others = [room for room in Arena if room is not task.scene.arena and _clears_robot(task.scene, room)]
        if self.arena is None and not others:
            raise PerturbationError(
                f"{self.kind}: in each of the other rooms, a fixture would collide with the robot"
            )
        arena = self.arena or others[int(rng.integers(len(others)))]
        old, new = task.scene.arena.workspace, arena.workspace

        def rename(name: str) -> str:
            region = task.scene.region(name)
            on_workspace = name == old or (region is not None and region.target == old)
            return new + name.removeprefix(old) if on_workspace else name

        def rename_all(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
            return tuple(Atom(atom.predicate, tuple(map(rename, atom.arguments))) for atom in atoms)

        scene = replace(
            task.scene,
            arena=arena,
            staging=replace(task.scene.staging, lift=LIFTS.get(arena, 0.0)),
            style="",
            regions=tuple(
                replace(region, target=new) if region.target == old else region
                for region in task.scene.regions
            ),
            initial=rename_all(task.scene.initial),
        )
        goal = replace(task.goal, atoms=rename_all(task.goal.atoms))
        return replace(task, scene=scene, goal=goal, of_interest=tuple(map(rename, task.of_interest)))


def _clears_robot(scene: Scene, arena: Arena) -> bool:
    """Whether no fixture would collide with the robot's pedestal in another room, if that room has one."""
    layout, spots = LAYOUTS[arena], Ground(scene).spots
    standing = (spots[fixture.name] for fixture in scene.fixtures if fixture.name in spots)
    return not layout.mounted or all(spot.gap(robot_base(layout)) >= PEDESTAL for spot in standing)


@perturbation
class Repaint(Perturbation):
    """Changes the appearance of a surface of the room."""

    kind = "world/repaint"
    effects = frozenset({Effect.LOOKS})
    change = Change.ROOM

    surface: Surface
    colour: Colour | None = within(0.0, 1.0, default=None)
    """New colour (red, green, blue); random if None."""
    pattern: Pattern | None = None

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Change the colour and pattern of the surface."""
        colour = self.colour or HUES[int(rng.integers(len(HUES)))]
        others = tuple(surface for surface in task.scene.staging.surfaces if surface[0] is not self.surface)
        surfaces = (*others, (self.surface, Finish(colour, self.pattern)))
        return with_staging(task, surfaces=surfaces)


@perturbation
class Relight(Perturbation):
    """Changes the light: brighter or darker, coloured, from another direction, with or without shadows."""

    kind = "world/light"
    effects = frozenset({Effect.LOOKS})
    change = Change.ROOM
    neutral = MappingProxyType(
        {"intensity": 1.0, "colour": (1.0, 1.0, 1.0), "tilt": (0.0, 0.0), "shadows": None}
    )

    intensity: float = within(0.0, 3.0, default=1.0)
    """Factor by which the brightness of the lamps is multiplied."""
    colour: Colour = within(0.0, 2.0, default=(1.0, 1.0, 1.0))
    """Factors by which the light's red, green and blue are multiplied."""
    tilt: tuple[float, float] = within(-1.2, 1.2, default=(0.0, 0.0))
    """Rotation of the light about the world's x and y axes, in radians."""
    shadows: bool | None = None
    """Whether lamps cast shadows; the room's default if None."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Change the light, in addition to any earlier changes to it."""
        current = task.scene.staging.lighting
        red, green, blue = np.multiply(current.colour, self.colour).tolist()
        both = Relight(
            current.intensity * self.intensity,
            (red, green, blue),
            (current.tilt[0] + self.tilt[0], current.tilt[1] + self.tilt[1]),
            current.shadows if self.shadows is None else self.shadows,
        )
        return with_staging(task, lighting=Lighting(both.intensity, both.colour, both.tilt, both.shadows))


@perturbation
class StartPose(Perturbation):
    """Starts the arm with other joint angles, or the robot at another base position."""

    kind = "world/robot"
    effects = frozenset({Effect.PHYSICS})
    change = Change.ROBOT
    neutral = MappingProxyType({"joints": 0.0, "base": (0.0, 0.0)})

    joints: float = within(0.0, 0.5, default=0.0)
    """Maximum offset of each joint, in radians; the actual offsets are random."""
    base: tuple[float, float] = within(-0.15, 0.15, default=(0.0, 0.0))
    """Offset of the base (x, y), in metres."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Change the initial pose, in addition to any earlier changes to it."""
        current = task.scene.staging.robot
        angles = rng.uniform(-self.joints, self.joints, size=7) if self.joints else np.zeros(7)
        a, b, c, d, e, f, g = map(float, current.joints + angles)
        base = (current.base[0] + self.base[0], current.base[1] + self.base[1])
        StartPose(max(map(abs, (a, b, c, d, e, f, g))), base)  # the combined change must also be valid
        return with_staging(task, robot=RobotStart((a, b, c, d, e, f, g), base))


def with_staging(task: Task, **changes: object) -> Task:
    """Return the task with other lights, cameras, surfaces or another initial pose of the robot."""
    scene: Scene = replace(task.scene, staging=replace(task.scene.staging, **changes))  # type: ignore[arg-type]
    return replace(task, scene=scene)


_CAMERA = "agentview"
MAX_TURN_RAD = 0.6
"""Maximum rotation of a camera about each axis, in radians."""


@perturbation
class MoveCamera(Perturbation):
    """Shifts, rotates or zooms a camera."""

    kind = "world/camera"
    effects = frozenset({Effect.LOOKS})
    change = Change.CAMERA
    neutral = MappingProxyType({"shift": (0.0, 0.0, 0.0), "turn": (0.0, 0.0, 0.0), "zoom": 1.0})

    camera: str = _CAMERA
    """Name of the camera: the scene camera, or ``robot0_eye_in_hand``."""
    shift: Vector3 = within(-1.0, 1.0, default=(0.0, 0.0, 0.0))
    """Translation, in metres."""
    turn: Vector3 = within(-MAX_TURN_RAD, MAX_TURN_RAD, default=(0.0, 0.0, 0.0))
    """Rotation as pitch, yaw and roll, in radians."""
    zoom: float = within(0.5, 1.8, default=1.0)
    """Factor by which the field of view is multiplied."""

    def __post_init__(self) -> None:
        if self.camera not in CAMERAS:
            raise PerturbationError(
                f"{self.kind}: there is no camera '{self.camera}': {did_you_mean(self.camera, CAMERAS)}"
            )
        Perturbation.__post_init__(self)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Change the camera, in addition to earlier changes to the staging."""
        from scipy.spatial.transform import Rotation  # the import takes 0.25 s, and few runs need it

        before = _change_of(task, self.camera)
        zoom = before.zoom * self.zoom
        MoveCamera(self.camera, self.shift, self.turn, zoom)  # the combined change must also be valid
        turn = Rotation.from_euler("XYZ", before.turn) * Rotation.from_euler("XYZ", self.turn)
        return _with_camera(task, self.camera, np.add(before.shift, self.shift), turn, zoom)


@perturbation
class Orbit(Perturbation):
    """Moves the scene camera around the point of the workspace at which it looks, and keeps it pointed there."""

    kind = "world/orbit"
    effects = frozenset({Effect.LOOKS})
    change = Change.CAMERA
    neutral = MappingProxyType({"azimuth": 0.0, "elevation": 0.0, "distance": 1.0})

    azimuth: float = within(-1.6, 1.6, default=0.0)
    """Angle about the vertical, in radians; positive is to the right as seen by the camera."""
    elevation: float = within(-0.6, 0.6, default=0.0)
    """Angle by which the camera moves upwards, in radians."""
    distance: float = within(0.5, 2.0, default=1.0)
    """Factor by which the distance from that point is multiplied."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Change the camera, in addition to earlier changes to the staging.

        Raises PerturbationError if the camera would look from below or over the top.
        """
        from scipy.spatial.transform import Rotation  # the import takes 0.25 s, and few runs need it

        layout, before = layout_of(task.scene), _change_of(task, _CAMERA)
        pose = layout.cameras[_CAMERA]
        turned = Rotation.from_euler("XYZ", before.turn)
        current = Rotation.from_quat(pose.quaternion, scalar_first=True) * turned
        place = np.add(pose.position, before.shift)
        ahead = current.apply([0.0, 0.0, -1.0])
        reach = (layout.offset[2] - place[2]) / ahead[2]
        off = -reach * ahead
        height = float(np.arcsin(off[2] / reach)) + self.elevation
        if not 0.1 <= height <= 1.4:
            raise PerturbationError(
                f"{self.kind}: elevation={self.elevation:g} puts the camera of {task.id} {np.degrees(height):.0f} "
                "degrees above the workspace: expected 6 to 80"
            )
        # Up about the camera's own right, then around the world's vertical.
        orbit = Rotation.from_rotvec([0.0, 0.0, self.azimuth]) * Rotation.from_rotvec(
            -self.elevation * current.apply([1.0, 0.0, 0.0])
        )
        shift = before.shift + self.distance * orbit.apply(off) - off
        return _with_camera(task, _CAMERA, shift, turned * (current.inv() * orbit * current), before.zoom)


def _change_of(task: Task, camera: str) -> CameraChange:
    """Return the current change to a camera in the staging."""
    return next(
        (change for change in task.scene.staging.cameras if change.name == camera), CameraChange(camera)
    )


def _with_camera(task: Task, camera: str, shift: np.ndarray, turn: Rotation, zoom: float) -> Task:
    """Return a task in which this change to a camera replaces the current change."""
    (x, y, z), (up, aside, roll) = shift.tolist(), turn.as_euler("XYZ").tolist()
    change = CameraChange(camera, (x, y, z), (up, aside, roll), zoom)
    others = (other for other in task.scene.staging.cameras if other.name != camera)
    return with_staging(task, cameras=(*others, change))
