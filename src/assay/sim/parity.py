"""Replay recordings of LIBERO and measure the difference."""

from __future__ import annotations

import gzip
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from assay import tasks
from assay.errors import ActionError, RenderingError, StateError, did_you_mean
from assay.sim.compile import CompiledScene, compile_scene
from assay.sim.observation import Observation
from assay.sim.packs.libero import LiberoPack
from assay.sim.render import CAMERAS
from assay.sim.simulation import Simulation
from assay.sim.states import InitialState
from assay.tasks import Atom, Predicate, Task

TOLERANCE = 1e-6
"""Joint difference up to which rollouts count as equal, metres or radians."""
EARLY_STEPS = 40
"""Length of the early part of a rollout, before falling objects amplify round-off, control steps."""

MAX_MEDIAN_ERROR = 1e-9
"""Largest median joint difference of a correct installation, metres or radians; single rollouts may be chaotic."""
MAX_IMAGE_ERROR = 1.0
"""Largest mean pixel difference of a correct installation's images, on a scale of 0 to 255."""

Progress = Callable[[int, int, str], None]
"""Progress callback: number of finished files, number of all files, name of the next file."""


@dataclass(frozen=True, slots=True)
class TrajectoryParity:
    """Differences between replayed and recorded rollouts; errors are maxima over a rollout's steps."""

    count: int
    median_qpos_error: float | None
    max_qpos_error: float | None
    share_within: float | None
    share_within_early: float | None
    max_observed_error: float | None = None
    """Largest difference of the proprioception in rollouts within the tolerance."""

    def as_json(self) -> dict[str, object]:
        """Convert to a JSON object whose keys contain the tolerance."""
        tolerance = f"{TOLERANCE:.0e}".replace("e-0", "e-")
        return {
            "count": self.count,
            "median_qpos_error": self.median_qpos_error,
            "max_qpos_error": self.max_qpos_error,
            f"share_within_{tolerance}": self.share_within,
            f"share_within_{tolerance}_at_{EARLY_STEPS}": self.share_within_early,
            "max_observed_error": self.max_observed_error,
        }


@dataclass(frozen=True, slots=True)
class PredicateParity:
    """Agreement of the truth values of atoms."""

    count: int
    atoms: int
    """Number of truth values compared."""
    disagreements: int


@dataclass(frozen=True, slots=True)
class ImageParity:
    """Differences between rendered and recorded images, on a scale of 0 to 255."""

    count: int
    """Number of images compared."""
    mean_abs_diff: float | None
    max_abs_diff: float | None


@dataclass(frozen=True, slots=True)
class ModelParity:
    """Number of compiled models that differ from LIBERO's in any number or name."""

    count: int
    mismatches: int


@dataclass(frozen=True, slots=True)
class Parity:
    """Results of all four comparisons."""

    trajectories: TrajectoryParity
    predicates: PredicateParity
    images: ImageParity
    models: ModelParity
    details: tuple[str, ...] = ()
    """Descriptions of the differences, one line each."""

    @property
    def sound(self) -> bool:
        """Whether all differences are within their limits."""
        median, image = self.trajectories.median_qpos_error, self.images.mean_abs_diff
        return (
            (median is None or median <= MAX_MEDIAN_ERROR)
            and (image is None or image <= MAX_IMAGE_ERROR)
            and self.predicates.disagreements == 0
            and self.models.mismatches == 0
        )

    def as_json(self) -> dict[str, object]:
        """Convert to the JSON object that ``assay parity --json`` prints."""
        return {
            "sound": self.sound,
            "trajectories": self.trajectories.as_json(),
            "predicates": asdict(self.predicates),
            "images": asdict(self.images),
            "models": asdict(self.models),
            "details": list(self.details),
        }


def measure(folder: Path, pack: LiberoPack, progress: Progress = lambda done, total, name: None) -> Parity:
    """Replay all recordings below a folder and compare. Raises StateError if it has no recordings."""
    patterns = ("trajectories/*.npz", "predicates/*.npz", "images/*.npz", "composed/*.xml.gz")
    trajectories, predicates, images, models = (tuple(sorted(folder.rglob(pattern))) for pattern in patterns)
    total = len(trajectories) + len(predicates) + len(images) + len(models)
    if not total:
        raise StateError(f"{folder} contains no recordings; looked for {', '.join(patterns)}")
    scenes = _Scenes(pack)
    details: list[str] = []
    done = 0

    def report_each(files: tuple[Path, ...]) -> Iterator[Path]:
        nonlocal done
        for file in files:
            progress(done, total, file.name)
            yield file
            done += 1

    replayed = [_trajectory_errors(file, scenes) for file in report_each(trajectories)]
    errors = [error for error, _ in replayed]
    truths = [_truths(file, scenes, details) for file in report_each(predicates)]
    try:
        image_errors = [
            difference for file in report_each(images) for difference in _image_differences(file, scenes)
        ]
    except RenderingError as error:
        image_errors = []
        details.append(f"images not compared: {error}")
    wrong = [difference for file in report_each(models) if (difference := _model_difference(file, scenes))]
    scenes.close()
    progress(total, total, "")
    details += [
        f"{file.name}: qpos error {error.max():.2g}"
        for file, error in zip(trajectories, errors, strict=True)
        if error.max() > TOLERANCE
    ]
    worst = np.array([error.max() for error in errors])
    early = np.array([error[:EARLY_STEPS].max() for error in errors])
    return Parity(
        TrajectoryParity(
            count=len(errors),
            median_qpos_error=float(np.median(worst)) if errors else None,
            max_qpos_error=float(worst.max()) if errors else None,
            share_within=float((worst <= TOLERANCE).mean()) if errors else None,
            share_within_early=float((early <= TOLERANCE).mean()) if errors else None,
            max_observed_error=max(
                (seen for error, seen in replayed if seen is not None and error.max() <= TOLERANCE),
                default=None,
            ),
        ),
        PredicateParity(len(truths), sum(n for n, _ in truths), sum(wrong for _, wrong in truths)),
        ImageParity(
            count=len(image_errors),
            mean_abs_diff=float(np.mean([mean for mean, _ in image_errors])) if image_errors else None,
            max_abs_diff=float(np.max([most for _, most in image_errors])) if image_errors else None,
        ),
        ModelParity(len(models), len(wrong)),
        (*details, *wrong),
    )


class _Scenes:
    """Simulations of catalogue tasks; the most recent one is cached."""

    def __init__(self, pack: LiberoPack) -> None:
        self.pack = pack
        self._id = ""
        self._world: Simulation | None = None

    def world(self, suite: str, index: int) -> Simulation:
        task = tasks.load(f"{suite}/{index}")
        if self._world is None or self._id != task.id:
            self.close()
            self._world = Simulation(compile_scene(task.scene, self.pack))
            self._id = task.id
        return self._world

    def model(self, task: Task) -> mujoco.MjModel:
        """The compiled model of a task."""
        if self._world is not None and self._id == task.id:
            return self._world.compiled.model
        return compile_scene(task.scene, self.pack).model

    def close(self) -> None:
        if self._world is not None:
            self._world.close()
            self._world = None


_OBSERVED: dict[str, Callable[[Observation], np.ndarray]] = {
    "eef_pos": lambda seen: seen.eef_position,
    "gripper_qpos": lambda seen: seen.gripper,
    "gripper_qvel": lambda seen: seen.gripper_velocities,
    "joint_pos": lambda seen: seen.joints,
    "joint_vel": lambda seen: seen.joint_velocities,
}
"""Optional arrays of a record, (steps, n): LIBERO's observations after each step, and our matching fields."""


def _trajectory_errors(file: Path, scenes: _Scenes) -> tuple[np.ndarray, float | None]:
    """Largest joint difference after each step, (steps,), and largest difference of the observations, if recorded."""
    record = _load(file, "suite", "task", "actions", "states")
    task, states = _task(record, file), record["states"]
    if len(states) != len(record["actions"]) + 1 or len(states) < 2:
        raise StateError(f"{file}: {len(record['actions'])} actions do not lead through {len(states)} states")
    world = scenes.world(*task)
    world.reset(InitialState(states[0], _fixtures(record, world.compiled, file)))
    recorded = {key: record[key] for key in _OBSERVED if key in record}
    errors, observed = [], [0.0]
    for step, (action, state) in enumerate(zip(record["actions"], states[1:], strict=True)):
        try:
            seen = world.step(action)
        except ActionError as error:
            raise StateError(f"{file}: {error}") from None
        errors.append(np.abs(world.data.qpos - state[1 : 1 + world.model.nq]).max())
        observed += [
            float(np.abs(_OBSERVED[key](seen) - values[step]).max()) for key, values in recorded.items()
        ]
    return np.array(errors), max(observed) if recorded else None


def _truths(file: Path, scenes: _Scenes, details: list[str]) -> tuple[int, int]:
    """Number of truth values compared, and number of those that differ."""
    record = _load(file, "suite", "task", "states", "atoms", "truth")
    task = _task(record, file)
    atoms = [_atom(str(text), file) for text in record["atoms"]]
    if record["truth"].shape != (len(record["states"]), len(atoms)):
        raise StateError(f"{file}: the truth table does not match its states and atoms")
    world = scenes.world(*task)
    fixtures = _fixtures(record, world.compiled, file)
    wrong = np.zeros(len(atoms), dtype=int)
    for vector, truth in zip(record["states"], record["truth"], strict=True):
        world.reset(InitialState(vector, fixtures))
        wrong += [world.holds(atom) != bool(value) for atom, value in zip(atoms, truth, strict=True)]
    details += [
        f"{file.name}: {atom} differs in {n} states" for atom, n in zip(atoms, wrong, strict=True) if n
    ]
    return record["truth"].size, int(wrong.sum())


def _atom(text: str, file: Path) -> Atom:
    predicate, *names = text.split() or [""]
    for candidate in Predicate:
        if candidate.value.lower() == predicate.lower() and len(names) == candidate.arity:
            return Atom(candidate, tuple(names))
    raise StateError(f"{file}: '{text}' is not an atom: {did_you_mean(predicate, Predicate)}")


def _image_differences(file: Path, scenes: _Scenes) -> Iterator[tuple[float, float]]:
    """Mean and maximum pixel difference of each image."""
    record = _load(file, "suite", "task", "states", "agentview", "wrist")
    world = scenes.world(*_task(record, file))
    fixtures = _fixtures(record, world.compiled, file)
    for index, vector in enumerate(record["states"]):
        observation = world.reset(InitialState(vector, fixtures))
        for camera, key in zip(CAMERAS, ("agentview", "wrist"), strict=True):
            theirs = record[key][index][::-1].astype(int)  # LIBERO's images are upside down
            ours = observation.image(camera, *theirs.shape[:2]).astype(int)
            difference = np.abs(ours - theirs)
            yield float(difference.mean()), float(difference.max())


def _model_difference(file: Path, scenes: _Scenes) -> str:
    """A line with the fields in which the compiled models differ, or an empty string."""
    match = re.fullmatch(r"(.+)_(\d+)", file.name.removesuffix(".xml.gz"))
    if match is None:
        raise StateError(f"{file}: the file name must be SUITE_NUMBER.xml.gz")
    task = tasks.load(f"{match[1]}/{int(match[2])}")
    try:
        text = gzip.decompress(file.read_bytes()).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise StateError(f"{file} is not a composed model: {error}") from None
    text = text.replace("LIBERO_ASSETS/", f"{scenes.pack.libero}/")
    text = text.replace("ROBOSUITE_ASSETS/", f"{scenes.pack.robosuite}/")
    text = text.replace('<mujoco model="base">', '<mujoco model="scene">').replace('meshdir="meshes/"', "")
    try:
        theirs = mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        raise StateError(f"{file} does not compile: {' '.join(str(error).split())}") from None
    differing = list(_differing(theirs, scenes.model(task)))
    return f"{file.name}: {', '.join(differing)} differ" if differing else ""


def _differing(one: object, other: object, prefix: str = "") -> Iterator[str]:
    """Names of the fields in which two MuJoCo structures differ, including nested fields."""
    for name in dir(one):
        if name.startswith("_"):
            continue
        mine, theirs = getattr(one, name), getattr(other, name, None)
        if isinstance(mine, np.ndarray):
            nan = mine.dtype.kind == "f"
            if not (isinstance(theirs, np.ndarray) and np.array_equal(mine, theirs, equal_nan=nan)):
                yield prefix + name
        elif isinstance(mine, int | float | bytes):
            if mine != theirs:
                yield prefix + name
        elif type(mine).__name__ in _NESTED:
            yield from _differing(mine, theirs, f"{prefix}{name}.")


_NESTED = ("MjOption", "MjStatistic", "MjVisual", "Global", "Quality", "Headlight", "Map", "Scale", "Rgba")
"""Types of the nested fields of a model."""


def _load(file: Path, *keys: str) -> dict[str, Any]:
    """The arrays of an npz file; pickled objects are refused. Raises StateError."""
    if not zipfile.is_zipfile(file):
        raise StateError(f"{file} is not an npz archive")
    try:
        with np.load(file, allow_pickle=False) as archive:
            record = {key: archive[key] for key in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, KeyError) as error:
        raise StateError(f"{file} is not a reference file: {error}") from None
    missing = [key for key in (*keys, "root_bodies", "root_pos", "root_quat_wxyz") if key not in record]
    if missing:
        raise StateError(f"{file} lacks {', '.join(missing)}")
    return record


def _task(record: dict[str, Any], file: Path) -> tuple[str, int]:
    """Suite and index of a record's task."""
    try:
        return str(record["suite"]), int(record["task"])
    except (TypeError, ValueError):
        raise StateError(f"{file}: its task is not a number") from None


def _fixtures(record: dict[str, Any], compiled: CompiledScene, file: Path) -> np.ndarray:
    """The fixtures' poses in a record, (fixtures, 7)."""
    roots = [str(name) for name in record["root_bodies"]]
    poses = np.hstack([record["root_pos"], record["root_quat_wxyz"]])
    try:
        rows = [roots.index(f"{fixture.name}_main") for fixture in compiled.scene.fixtures]
    except ValueError as error:
        raise StateError(f"{file} lacks the pose of a fixture: {error}") from None
    return np.asarray(poses[rows].reshape(-1, 7))
