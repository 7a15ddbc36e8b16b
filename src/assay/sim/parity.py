"""Replay recordings made with LIBERO and measure the differences."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from assay import tasks
from assay.errors import ActionError, RenderingError, StateError, TaskError, one_line
from assay.sim.compile import compile_scene
from assay.sim.observation import Observation
from assay.sim.packs.libero import LiberoPack
from assay.sim.render import CAMERAS
from assay.sim.simulation import Simulation
from assay.sim.states import InitialState
from assay.support.archives import read_npz
from assay.tasks.checks import parse_atom

TOLERANCE = 1e-6
"""Joint difference, in metres or radians, up to which rollouts count as equal."""
EARLY_STEPS = 40
"""Length, in control steps, of the early part of a rollout, before falling objects amplify round-off errors."""

MAX_MEDIAN_ERROR = 1e-9
"""Largest median joint difference of a correct installation, in metres or radians; single rollouts may be chaotic."""
MAX_IMAGE_ERROR = 1.0
"""Largest mean pixel difference between images for a correct installation, on a scale of 0 to 255."""

Progress = Callable[[int, int, str], None]
"""Progress callback, called with the number of finished files, the total number of files and the next file's name."""


WITHIN = f"share_within_{TOLERANCE:.0e}".replace("e-0", "e-")
"""JSON key for the fraction of rollouts within the tolerance; the key states the tolerance."""
WITHIN_EARLY = f"{WITHIN}_at_{EARLY_STEPS}"
"""JSON key for the same fraction for the first `EARLY_STEPS` steps."""


@dataclass(frozen=True, slots=True)
class Parity:
    """Results of comparing rollouts, predicates, images and models, by JSON key; None if none were compared."""

    trajectories: dict[str, Any]
    """Number of replayed rollouts; median and maximum of their joint errors in metres or radians, each the maximum over
    a rollout's steps; fractions within the tolerance; largest difference in proprioception among rollouts within
    the tolerance.
    """
    predicates: dict[str, int]
    """Number of recordings, number of truth values compared (``atoms``), and number of truth values that differ."""
    images: dict[str, Any]
    """Number of images; mean and maximum pixel difference on a scale of 0 to 255."""
    models: dict[str, int]
    """Number of compiled models, and number of models that differ from LIBERO's in a number or a name."""
    details: tuple[str, ...] = ()
    """Descriptions of the differences, one line each."""

    @property
    def sound(self) -> bool:
        """Whether all differences are within their limits."""
        return (
            (self.trajectories["median_qpos_error"] or 0.0) <= MAX_MEDIAN_ERROR
            and (self.images["mean_abs_diff"] or 0.0) <= MAX_IMAGE_ERROR
            and self.predicates["disagreements"] == 0
            and self.models["mismatches"] == 0
        )

    def as_json(self) -> dict[str, Any]:
        """Convert to the JSON object that ``assay parity --json`` prints."""
        return {"sound": self.sound, **asdict(self), "details": list(self.details)}


Simulate = Callable[[str], Simulation]
"""Function that returns the simulation of a task, given its id; the latest simulation is cached."""


def measure(folder: Path, pack: LiberoPack, progress: Progress = lambda done, total, name: None) -> Parity:
    """Replay all recordings in a folder and compare the results. Raises StateError if it contains no recordings."""
    patterns = ("trajectories/*.npz", "predicates/*.npz", "images/*.npz", "composed/*.xml.gz")
    trajectories, predicates, images, models = (tuple(sorted(folder.rglob(pattern))) for pattern in patterns)
    total = len(trajectories) + len(predicates) + len(images) + len(models)
    if not total:
        raise StateError(f"{folder} contains no recordings; looked for {', '.join(patterns)}")
    details: list[str] = []
    simulate = lru_cache(maxsize=1)(lambda id: Simulation(compile_scene(tasks.load(id).scene, pack)))
    done = iter(range(total))

    def report_each(files: tuple[Path, ...]) -> Iterator[Path]:
        for file in files:
            progress(next(done), total, file.name)
            yield file

    replayed = [_trajectory_errors(file, simulate) for file in report_each(trajectories)]
    errors = [error for error, _ in replayed]
    truths = [_truths(file, simulate, details) for file in report_each(predicates)]
    image_errors: list[tuple[float, float]] = []  # mean and maximum pixel difference
    try:
        for file in report_each(images):
            record, simulation, fixtures = _open(file, simulate, "states", "agentview", "wrist")
            for index, vector in enumerate(record["states"]):
                observation = simulation.reset(InitialState(vector, fixtures))
                for camera, key in zip(CAMERAS, ("agentview", "wrist"), strict=True):
                    theirs = record[key][index][::-1].astype(int)  # LIBERO's images are upside down
                    gap = np.abs(observation.image(camera, *theirs.shape[:2]).astype(int) - theirs)
                    image_errors.append((float(gap.mean()), float(gap.max())))
    except RenderingError as error:
        image_errors = []
        details.append(f"images not compared: {error}")
    wrong = [
        difference for file in report_each(models) if (difference := _model_difference(file, pack, simulate))
    ]
    progress(total, total, "")
    details += [
        f"{file.name}: qpos error {error.max():.2g}"
        for file, error in zip(trajectories, errors, strict=True)
        if error.max() > TOLERANCE
    ]
    worst = np.array([error.max() for error in errors])
    early = np.array([error[:EARLY_STEPS].max() for error in errors])
    observed = [most for error, most in replayed if most is not None and error.max() <= TOLERANCE]
    return Parity(
        trajectories={
            "count": len(errors),
            "median_qpos_error": float(np.median(worst)) if errors else None,
            "max_qpos_error": float(worst.max()) if errors else None,
            WITHIN: float((worst <= TOLERANCE).mean()) if errors else None,
            WITHIN_EARLY: float((early <= TOLERANCE).mean()) if errors else None,
            "max_observed_error": max(observed, default=None),
        },
        predicates={
            "count": len(truths),
            "atoms": sum(count for count, _ in truths),
            "disagreements": sum(differing for _, differing in truths),
        },
        images={
            "count": len(image_errors),
            "mean_abs_diff": float(np.mean([mean for mean, _ in image_errors])) if image_errors else None,
            "max_abs_diff": float(np.max([most for _, most in image_errors])) if image_errors else None,
        },
        models={"count": len(models), "mismatches": len(wrong)},
        details=(*details, *wrong),
    )


_OBSERVED: dict[str, Callable[[Observation], np.ndarray]] = {
    "eef_pos": lambda observation: observation.eef_position,
    "gripper_qpos": lambda observation: observation.gripper,
    "gripper_qvel": lambda observation: observation.gripper_velocities,
    "joint_pos": lambda observation: observation.joints,
    "joint_vel": lambda observation: observation.joint_velocities,
}
"""Optional arrays in a recording, (steps, n), with LIBERO's observations after each step; Assay's counterparts."""


def _trajectory_errors(file: Path, simulate: Simulate) -> tuple[np.ndarray, float | None]:
    """Return the largest joint difference after each step, (steps,), and the largest difference in the observations, if
    they were recorded.
    """
    record, simulation, fixtures = _open(file, simulate, "actions", "states")
    actions, states = record["actions"], record["states"]
    if len(states) != len(actions) + 1 or len(states) < 2:
        raise StateError(
            f"{file}: {len(actions)} actions and {len(states)} states; expected n > 0 actions and n + 1 states"
        )
    simulation.reset(InitialState(states[0], fixtures))
    recorded = {key: record[key] for key in _OBSERVED if key in record}
    errors, observed = [], [0.0]
    for step, (action, state) in enumerate(zip(actions, states[1:], strict=True)):
        try:
            observation = simulation.step(action)
        except ActionError as error:
            raise StateError(f"{file}: {error}") from None
        errors.append(np.abs(simulation.data.qpos - state[1 : 1 + simulation.model.nq]).max())
        observed += [
            float(np.abs(_OBSERVED[key](observation) - values[step]).max())
            for key, values in recorded.items()
        ]
    return np.array(errors), max(observed) if recorded else None


def _truths(file: Path, simulate: Simulate, details: list[str]) -> tuple[int, int]:
    """Return the number of truth values compared and the number that differ."""
    record, simulation, fixtures = _open(file, simulate, "states", "atoms", "truth")
    atoms = []
    for text in map(str, record["atoms"]):
        try:
            atoms.append(parse_atom(text.split() or [""]))
        except TaskError as error:
            raise StateError(f"{file}: '{text}': {error}") from None
    if record["truth"].shape != (len(record["states"]), len(atoms)):
        raise StateError(f"{file}: expected one truth value for each state and atom")
    wrong = np.zeros(len(atoms), dtype=int)
    for vector, truth in zip(record["states"], record["truth"], strict=True):
        simulation.reset(InitialState(vector, fixtures))
        wrong += [simulation.holds(atom) != bool(value) for atom, value in zip(atoms, truth, strict=True)]
    details += [
        f"{file.name}: {atom} differs in {n} of {len(record['states'])} states"
        for atom, n in zip(atoms, wrong, strict=True)
        if n
    ]
    return record["truth"].size, int(wrong.sum())


def _model_difference(file: Path, pack: LiberoPack, simulate: Simulate) -> str:
    """Return a line that lists the fields in which the two compiled models differ; empty if they are equal."""
    match = re.fullmatch(r"(.+)_(\d+)", file.name.removesuffix(".xml.gz"))
    if match is None:
        raise StateError(f"{file}: the file name must be SUITE_NUMBER.xml.gz")
    id = f"{match[1]}/{int(match[2])}"
    tasks.load(id)
    try:
        text = gzip.decompress(file.read_bytes()).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise StateError(f"{file} is not a composed model: {error}") from None
    for old, new in (
        ("LIBERO_ASSETS/", f"{pack.libero}/"),
        ("ROBOSUITE_ASSETS/", f"{pack.robosuite}/"),
        ('<mujoco model="base">', '<mujoco model="scene">'),
        ('meshdir="meshes/"', ""),
    ):
        text = text.replace(old, new)
    try:
        theirs = mujoco.MjModel.from_xml_string(text)
    except ValueError as error:
        raise StateError(f"{file} does not compile: {' '.join(str(error).split())}") from None
    differing = list(_differing(theirs, simulate(id).compiled.model))
    return f"{file.name}: {', '.join(differing)} differ" if differing else ""


def _differing(one: object, other: object, prefix: str = "") -> Iterator[str]:
    """Return the names of the fields in which two MuJoCo structures differ, including nested fields."""
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


def _open(file: Path, simulate: Simulate, *keys: str) -> tuple[dict[str, Any], Simulation, np.ndarray]:
    """Read an npz file; return its arrays, the simulation of the task, and the fixtures' poses, (fixtures, 7).

    Pickled objects are rejected. Raises StateError.
    """
    try:
        record: dict[str, Any] = {**read_npz(file)}
        poses = np.hstack([record["root_pos"], record["root_quat_wxyz"]])
        roots, id = record["root_bodies"].tolist(), f"{record['suite']}/{int(record['task'])}"
        missing = [key for key in keys if key not in record]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StateError(f"{file} is not a valid recording: {one_line(error)}") from None
    if missing:
        raise StateError(f"{file} lacks {', '.join(missing)}")
    simulation = simulate(id)
    names = [f"{fixture.name}_main" for fixture in simulation.compiled.scene.fixtures]
    if not set(names) <= set(roots):
        raise StateError(f"{file} lacks the pose of at least one of these fixtures: {', '.join(names)}")
    return record, simulation, np.asarray(poses[[roots.index(name) for name in names]].reshape(-1, 7))
