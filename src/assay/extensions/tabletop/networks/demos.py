"""Record the teacher's successful episodes as tokens: ``FOLDER/T1_1000000.npz``, a fixed number of seeds per file.

Files are written atomically; complete files are not recorded again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.ndimage import distance_transform_edt

from assay.errors import TaskError, did_you_mean
from assay.extensions.tabletop.networks import tokens
from assay.extensions.tabletop.networks.tokens import TokenForm, ViewTokens
from assay.extensions.tabletop.prompts.perturbations import PromptParaphrase
from assay.extensions.tabletop.tasks import KINDS, make
from assay.extensions.tabletop.tasks.task import Level, Setting, TableTask
from assay.extensions.tabletop.world.env import play
from assay.extensions.tabletop.world.goals import Put
from assay.extensions.tabletop.world.model import EXTENT
from assay.extensions.tabletop.world.observation import HEIGHT, WIDTH, TableObservation
from assay.extensions.tabletop.world.oracle import TableOracle
from assay.extensions.tabletop.world.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW, TableScene, Tool
from assay.perturb import apply_perturbations
from assay.support import processes
from assay.support.archives import read_npz
from assay.support.files import replacing
from assay.support.streams import stream

_PIXEL = EXTENT["top"] / HEIGHT
"""Size of a pixel in the top view, in metres."""
_TIP_CLEARANCE = 0.012
"""Clearance around the tip, in metres, above which more clearance has no benefit."""


class Teacher(TableOracle):
    """An oracle whose choices can be inferred from the top view.

    It grasps an object near its centre where there is clearance around the tip, and rotates it only if the goal
    requires a rotation. The oracle's random choices would be noise to a learner.
    """

    def act(self, observation: TableObservation) -> np.ndarray:
        """Return one action, (1, 12)."""
        self._observation = observation
        return super().act(observation)

    def _carry(self, put: Put) -> np.ndarray:
        item = self._task.scene.index(put.item)
        turn = put.yaw - self._world.poses()[item, 2] if put.turned else 0.0
        return self._move(item, np.array([put.x, put.y]), turn)

    def _grasp_point(self, item: int) -> np.ndarray:
        mask = self._observation.segmentation("top") == item + 1
        if not mask.any():
            return super()._grasp_point(item)
        rows, columns = np.nonzero(mask)
        depth = distance_transform_edt(np.pad(mask, 1))[1:-1, 1:-1][rows, columns] * _PIXEL
        middle = np.array([rows.min() + rows.max(), columns.min() + columns.max()]) / 2
        offset = (np.column_stack([rows, columns]) - middle) * _PIXEL
        # On symmetric objects such as rings, prefer the right side.
        cost = np.linalg.norm(offset, axis=1) - 3 * np.minimum(depth, _TIP_CLEARANCE) - 0.1 * offset[:, 1]
        best = int(np.argmin(cost))
        x = (X_LOW + X_HIGH) / 2 + (rows[best] + 0.5 - HEIGHT / 2) * _PIXEL
        return np.array([x, (columns[best] + 0.5 - WIDTH / 2) * _PIXEL])


FIRST_SEED = 1_000_000
"""First seed for training; smaller seeds are for evaluation."""
SEEDS_PER_FILE = 50
TASKS = tuple(kind.id for kind in KINDS.values() if Level.L1 in kind.levels)
"""The thirteen training tasks."""
ORIGINAL_FRACTION = 0.2
"""Fraction of episodes that keep the original wording if prompts are paraphrased."""
SLIP_FRACTION, MAX_SLIPS = 0.08, 2
"""Fraction of actions that are disturbed so that recoveries are shown, and their maximum number per episode."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job: the demonstrations to be stored in one file."""

    folder: Path
    task: str
    seeds: range

    @property
    def file(self) -> Path:
        """Path of the file."""
        return self.folder / f"{self.task}_{self.seeds.start}.npz"


class _Recorder(Teacher):
    """A teacher that records its observations, and disturbs some of its actions."""

    def __init__(self, setting: Setting) -> None:
        self.observations: list[TableObservation] = []
        self.slips: list[bool] = []
        self._slip_rng = stream("tabletop", "training", setting.id, "slips")

    def act(self, observation: TableObservation) -> np.ndarray:
        self.observations.append(observation)
        chosen = super().act(observation)
        # A disturbed push may touch the line, which cannot be undone.
        allowed = observation.tool is Tool.SUCTION and sum(self.slips) < MAX_SLIPS
        self.slips.append(allowed and bool(self._slip_rng.random() < SLIP_FRACTION))
        return slip(chosen, self._slip_rng) if self.slips[-1] else chosen


def slip(chosen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an action (1, 12) with its pick or place position displaced by 12 to 20 cm."""
    end = 6 * int(rng.integers(2))
    direction, distance = rng.uniform(0, 2 * np.pi), rng.uniform(0.12, 0.20)
    disturbed = chosen.copy()
    target = disturbed[0, end : end + 2] + distance * np.array([np.cos(direction), np.sin(direction)])
    disturbed[0, end : end + 2] = np.clip(target, (X_LOW, Y_LOW), (X_HIGH, Y_HIGH))
    return disturbed


def record(folder: Path, tasks: Sequence[str], per_task: int, workers: int) -> Iterator[tuple[Job, int]]:
    """Write the missing files of a folder; yield the job and the number of episodes of each file.

    Raises TaskError for an unknown task.
    """
    for task in tasks:
        if task not in TASKS:
            raise TaskError(f"unknown training task '{task}': {did_you_mean(task, TASKS)}")
    missing = []
    for first in range(0, per_task, SEEDS_PER_FILE):
        for task in tasks:
            seeds = range(FIRST_SEED + first, FIRST_SEED + min(first + SEEDS_PER_FILE, per_task))
            job = Job(folder, task, seeds)
            try:
                arrays = read_npz(job.file, "seeds", "tried")
                count, complete = len(arrays["seeds"]), bool(arrays["tried"] >= len(seeds))
            except (OSError, KeyError, ValueError):
                complete = False
            if complete:
                yield job, count
            else:
                missing.append(job)
    in_process = workers == 1 or len(missing) < 2
    yield from map(record_job, missing) if in_process else processes.results(record_job, missing, workers)


def record_job(job: Job) -> tuple[Job, int]:
    """Write one file; return the job and the number of episodes in the file."""
    sights: dict[TokenForm, list[ViewTokens]] = {form: [] for form in TokenForm}
    picture_ids: dict[TableScene, int] = {}
    texts: list[str] = []
    reworded: list[str] = []
    pictures_json: list[str] = []
    seeds: list[int] = []
    rows: list[tuple[int, int, int, bool, np.ndarray]] = []
    for seed in job.seeds:
        task = make(Setting(job.task, seed))
        teacher = _Recorder(task.setting)
        played = play(task, teacher)
        if not played.success:
            continue
        tool = int(task.scene.tool is Tool.SPATULA)
        for observation, slip, action in zip(
            teacher.observations, teacher.slips, played.actions, strict=True
        ):
            rows.append((len(seeds), len(sights[TokenForm.OBJECTS]), tool, slip, action))
            for form in TokenForm:
                sights[form].append(tokens.tokenize_observation(observation, form))
        texts.append(task.prompt.text)
        reworded.append(paraphrase_most(task).prompt.text)
        for _, picture in task.prompt.pictures:
            if picture.scene not in picture_ids:
                picture_ids[picture.scene] = len(sights[TokenForm.OBJECTS])
                for form in TokenForm:
                    sights[form].append(tokens.tokenize_picture(picture, form))
        pictures_json.append(
            json.dumps({name: picture_ids[picture.scene] for name, picture in task.prompt.pictures})
        )
        seeds.append(seed)
    arrays: dict[str, np.ndarray] = {}
    for form, views in sights.items() if rows else ():
        arrays[f"{form}_ends"] = np.cumsum([len(sight) for sight in views])
        for name in tokens.TOKEN_FIELDS:
            arrays[f"{form}_{name}"] = np.concatenate([getattr(sight, name) for sight in views])
    for name, strings in (("texts", texts), ("reworded", reworded), ("shown", pictures_json)):
        arrays[name] = np.array(strings, dtype=str)
    arrays["tried"] = np.array(len(job.seeds))
    arrays["seeds"] = np.array(seeds, dtype=np.int64)
    for index, name in enumerate(("episodes", "pictures", "tools", "slips", "actions")):
        arrays[name] = np.array([row[index] for row in rows])
    with replacing(job.file) as unfinished, unfinished.open("wb") as out:
        np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    return job, len(seeds)


def paraphrase_most(task: TableTask) -> TableTask:
    """Paraphrase a training task's prompt with probability 4/5."""
    if stream("tabletop", "training", task.setting.id, "own words").random() < ORIGINAL_FRACTION:
        return task
    return apply_perturbations(task, PromptParaphrase(), seed=task.setting.seed)
