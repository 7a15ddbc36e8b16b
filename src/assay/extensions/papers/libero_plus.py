"""LIBERO-plus: each name in its classification, decoded into a perturbation of a built-in task.

A policy receives the built-in instruction, or the one in the task file of a language task, never the name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from PIL import Image, ImageFilter

from assay import tasks
from assay.episodes import Change, Effect, Label, Perturbation, perturbation
from assay.episodes.senses import Chance
from assay.errors import PerturbationError, TaskError
from assay.experiments.base import Experiment, Variant
from assay.extensions.papers.releases import FromFile, Variants, change_labels, release
from assay.perturb import Say
from assay.perturb.senses.images import Fog, GlassBlur, MotionBlur, Severe, ZoomBlur
from assay.perturb.unavailable import Unavailable
from assay.perturb.world.staging import with_staging
from assay.sim.layout import HOME, LAYOUTS
from assay.tasks import Task
from assay.tasks.formats import ReleaseError
from assay.tasks.formats import libero_plus as plus
from assay.tasks.formats.libero_plus import Entry
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
    """Factor by which the distance between camera and pivot is multiplied."""
    turn: float = 0.0
    """Angle, in degrees, by which the camera is panned after the other changes."""
    tilt: float = 0.0
    """Angle, in degrees, by which the camera is tilted after panning."""

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
    """Sets the initial joint angles of the arm."""

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


NOISE: tuple[tuple[str, Callable[..., Severe]], ...] = (
    ("motion blur", MotionBlur),
    ("Gaussian blur", GaussianBlur),
    ("zoom blur", ZoomBlur),
    ("fog", Fog),
    ("glass blur", GlassBlur),
)
"""Image corruptions: noise numbers 1 to 10 are the severities of the first, 11 to 20 of the second, etc.
"""
SEVERITIES = 10
FILES = {
    "add": "more things",
    "level": "things moved",
    "light": "light",
    "table": "texture of the table",
    "tb": "textures of the room",
}
"""Suffix of a task file's name -> the change that the file makes."""
AXES = {"Language Instructions": "words", "Sensor Noise": "senses"}
"""Axis of a category; every category not listed here has the axis ``world``."""


def libero_plus(folder: str = "") -> Experiment:
    """Return an experiment from a LIBERO-plus checkout: its classification, task files and joint-angle table."""
    return release(
        "libero-plus",
        "LIBERO-plus as released: every name of its classification, decoded.",
        folder,
        _read,
        seeds=(0,),
    )


def _read(folder: Path) -> Variants:
    starts = plus.starts(folder)
    variants: dict[str, list[Variant]] = defaultdict(list)
    for entry in plus.read_classification(folder):
        variants[entry.task].append(_variant(entry, folder, starts))
    return variants


def _variant(entry: Entry, folder: Path, starts: Mapping[int, tuple[float, ...]]) -> Variant:
    changes = tuple(_changes(entry, folder, starts))
    labels: dict[str, Label] = {
        "axis": AXES.get(entry.category, "world"),
        "plausible": True,
        "dimension": entry.category.lower(),
        "subdimension": " and ".join(name for name, _ in changes),
        "difficulty": entry.difficulty,
        "number": entry.id,
    }
    match [change for _, change in changes]:
        case [FromFile(file)]:  # its scene alone; the instruction stays the built-in one
            original = tasks.load(entry.task)
            changed = replace(tasks.load(file), instruction=original.instruction)
            labels["change"] = change_labels(original, changed)["change"]
    condition = f"libero-plus/{'-'.join(entry.category.lower().split())}"
    return Variant(condition, tuple(change for _, change in changes), labels)


def _changes(
    entry: Entry, folder: Path, starts: Mapping[int, tuple[float, ...]]
) -> Iterator[tuple[str, Perturbation]]:
    """Yield the changes encoded in a name as (name of the change, perturbation), in order of application."""
    decoded = entry.decode()
    if decoded.file is not None:
        task = _load(entry, entry.suffix, folder)
        if isinstance(task, Task):
            style = task.scene.style
            unstyled = Unavailable("no asset pack offers the light or textures of its file", style)
            yield FILES[decoded.file], unstyled if style else FromFile(task.id)
        else:
            yield FILES[decoded.file], task
    if entry.language is not None:
        task = _load(entry, f"_language_{entry.language}", folder)
        yield "rewording", Say(task.instruction.text) if isinstance(task, Task) else task
    if decoded.view is not None:
        yield from _view(*decoded.view)
    if decoded.start:
        angles = starts.get(decoded.start)
        problem = f"{folder / plus.JOINTS}: has no joint angles of the start {decoded.start}"
        yield "joint angles", Unavailable(problem) if angles is None else StartJoints(angles)
    if decoded.noise is not None:
        yield _noise(decoded.noise, entry)


def _load(entry: Entry, suffix: str, folder: Path) -> Task | Unavailable:
    """Load the task file for an entry and a suffix, from the folder of the entry's suite or of mixed tasks."""
    places = (folder / place for place in plus.TASKS)
    place = next((place for place in places if place.is_dir()), folder / plus.TASKS[0])
    name = f"{entry.name.removesuffix(entry.suffix)}{suffix}.bddl"
    own, mixed = place / entry.suite / name, place / plus.MIXED / name
    try:
        return tasks.load(str(mixed if mixed.is_file() and not own.is_file() else own))
    except TaskError as error:
        return Unavailable(str(error))


def _view(
    horizontal: int, vertical: int, distance: int, turn: int, tilt: int
) -> Iterator[tuple[str, Perturbation]]:
    # 345 degrees stand for -15
    around, up, pan, pitch = (
        float((angle + 180) % 360 - 180) for angle in (horizontal, vertical, turn, tilt)
    )
    view = SphereView(around, up, distance / 100, turn=pan, tilt=pitch)
    if view == SphereView():
        return
    parts = {"place": horizontal or vertical, "distance": distance != 100, "direction": turn or tilt}
    yield " and ".join(f"camera {name}" for name, changed in parts.items() if changed), view


def _noise(number: int, entry: Entry) -> tuple[str, Perturbation]:
    kind, severity = divmod(number - 1, SEVERITIES)
    if not 0 <= kind < len(NOISE):
        raise ReleaseError(f"LIBERO-plus: unknown noise {number} in '{entry.name}'; expected 1 to 50")
    name, sense = NOISE[kind]
    return name, sense(severity + 1, cameras=(CAMERA,))
