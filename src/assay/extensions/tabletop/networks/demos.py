"""Record the teacher's successful episodes as tokens: ``FOLDER/T1_1000000.npz``, so many seeds in each file.

A file appears when it is whole; what is there is not done again.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from assay.errors import TaskError, did_you_mean
from assay.extensions.tabletop.networks.teacher import Teacher
from assay.extensions.tabletop.networks.tokens import Form, Sight, pictured, seen
from assay.extensions.tabletop.observation import TableObservation
from assay.extensions.tabletop.perturb import Paraphrase
from assay.extensions.tabletop.pools import Level
from assay.extensions.tabletop.prompt import Picture
from assay.extensions.tabletop.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW, TableScene, Tool
from assay.extensions.tabletop.tasks import KINDS, Setting, TableTask, make
from assay.extensions.tabletop.world import play
from assay.perturb import apply_perturbations
from assay.support import processes
from assay.support.files import replacing
from assay.support.streams import stream

FIRST_SEED = 1_000_000
"""From here on seeds are for training, below for evaluation."""
IN_A_FILE = 50
TASKS = tuple(kind.id for kind in KINDS.values() if Level.L1 in kind.levels)
"""The thirteen that there are for training."""
OWN_WORDS = 0.2
"""The share of episodes that keep their own words where the others are paraphrased."""
SLIPS, MOST_SLIPS = 0.08, 2
"""The share of actions that go wrong, so that the next one shows how to recover, and the most in an episode."""
_FIELDS = ("crops", "boxes", "views", "places")


@dataclass(frozen=True, slots=True)
class Job:
    """The seeds of one file."""

    folder: Path
    task: str
    seeds: range

    @property
    def file(self) -> Path:
        """Where it is written."""
        return self.folder / f"{self.task}_{self.seeds.start}.npz"

    def recorded(self) -> int | None:
        """How many episodes are in the file; None if it is not there, or stops short of the last seed."""
        try:
            with np.load(self.file) as arrays:
                return len(arrays["seeds"]) if arrays["tried"] >= len(self.seeds) else None
        except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile):
            return None


@dataclass(slots=True)
class _Album:
    """Pictures, each once."""

    sights: dict[Form, list[Sight]] = field(default_factory=lambda: {form: [] for form in Form})
    known: dict[TableScene, int] = field(default_factory=dict)

    def add(self, tokens: Callable[[Form], Sight]) -> int:
        for form in Form:
            self.sights[form].append(tokens(form))
        return len(self.sights[Form.OBJECTS]) - 1

    def shown(self, picture: Picture) -> int:
        if picture.scene not in self.known:
            self.known[picture.scene] = self.add(partial(pictured, picture))
        return self.known[picture.scene]

    def arrays(self) -> dict[str, np.ndarray]:
        arrays = {}
        for form, sights in self.sights.items():
            arrays[f"{form}_ends"] = np.cumsum([len(sight) for sight in sights])
            for name in _FIELDS:
                arrays[f"{form}_{name}"] = np.concatenate([getattr(sight, name) for sight in sights])
        return arrays


class _Recorder(Teacher):
    """A teacher of whom is kept what it saw and whether its hand slipped; what it did comes with the episode."""

    def __init__(self, setting: Setting) -> None:
        self.saw: list[TableObservation] = []
        self.slipped: list[bool] = []
        self._chance = stream("tabletop", "training", setting.id, "slips")

    def act(self, observation: TableObservation) -> np.ndarray:
        self.saw.append(observation)
        chosen = super().act(observation)
        # A push that goes wrong may touch the line, which nothing makes good.
        able = observation.tool is Tool.SUCTION and sum(self.slipped) < MOST_SLIPS
        self.slipped.append(able and bool(self._chance.random() < SLIPS))
        return slipped(chosen, self._chance) if self.slipped[-1] else chosen


def slipped(chosen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An action (1, 12) whose pick or whose place is 12 to 20 cm off."""
    end = 6 * int(rng.integers(2))
    way, far = rng.uniform(0, 2 * np.pi), rng.uniform(0.12, 0.20)
    wrong = chosen.copy()
    wrong[0, end : end + 2] += far * np.array([np.cos(way), np.sin(way)])
    wrong[0, [end, end + 1]] = np.clip(wrong[0, [end, end + 1]], (X_LOW, Y_LOW), (X_HIGH, Y_HIGH))
    return wrong


def jobs(folder: Path, tasks: Sequence[str], per_task: int) -> list[Job]:
    """What is to be recorded, file by file. Raises TaskError for a task that there is not."""
    for task in tasks:
        if task not in KINDS:
            raise TaskError(f"there is no tabletop task '{task}': {did_you_mean(task, KINDS)}")
        if Level.L1 not in KINDS[task].levels:
            raise TaskError(f"{task} is for evaluation only: it has no level {Level.L1}")
    ends = range(FIRST_SEED, FIRST_SEED + per_task, IN_A_FILE)
    return [
        Job(folder, task, range(first, min(first + IN_A_FILE, FIRST_SEED + per_task)))
        for first in ends
        for task in tasks
    ]


def record(wanted: Sequence[Job], workers: int) -> Iterator[tuple[Job, int]]:
    """Write the files that are missing; tells how many episodes are in each."""
    missing = []
    for job in wanted:
        count = job.recorded()
        if count is None:
            missing.append(job)
        else:
            yield job, count
    if workers == 1 or len(missing) < 2:
        yield from map(write, missing)
        return
    yield from processes.results(write, missing, workers)


def actions_taken(wanted: Sequence[Job]) -> dict[str, tuple[int, int]]:
    """The fewest and the most actions in a recorded episode of each task; more than it takes where a hand slipped."""
    found: dict[str, list[int]] = {}
    for job in wanted:
        with np.load(job.file) as arrays:
            found.setdefault(job.task, []).extend(np.bincount(arrays["episodes"].astype(int)).tolist())
    return {task: (min(counts), max(counts)) for task, counts in found.items() if counts}


def write(job: Job) -> tuple[Job, int]:
    """Write one file; tells how many episodes are in it."""
    album = _Album()
    texts: list[str] = []
    reworded: list[str] = []
    shown: list[str] = []
    seeds: list[int] = []
    rows: list[tuple[int, int, int, bool, np.ndarray]] = []
    for seed in job.seeds:
        task = make(Setting(job.task, seed))
        teacher = _Recorder(task.setting)
        played = play(task, teacher)
        if not played.success:
            continue
        tool = int(task.scene.tool is Tool.SPATULA)
        for observation, slip, action in zip(teacher.saw, teacher.slipped, played.actions, strict=True):
            rows.append((len(seeds), album.add(partial(seen, observation)), tool, slip, action))
        texts.append(task.prompt.text)
        reworded.append(told(task).prompt.text)
        shown.append(json.dumps({name: album.shown(picture) for name, picture in task.prompt.pictures}))
        seeds.append(seed)
    arrays = album.arrays() if rows else {}
    for name, said in (("texts", texts), ("reworded", reworded), ("shown", shown)):
        arrays[name] = np.array(said, dtype=str)
    arrays["tried"] = np.array(len(job.seeds))
    arrays["seeds"] = np.array(seeds, dtype=np.int64)
    for index, name in enumerate(("episodes", "pictures", "tools", "slips", "actions")):
        arrays[name] = np.array([row[index] for row in rows])
    with replacing(job.file) as unfinished, unfinished.open("wb") as out:
        np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    return job, len(seeds)


def told(task: TableTask) -> TableTask:
    """A training task in other words, four times in five."""
    if stream("tabletop", "training", task.setting.id, "own words").random() < OWN_WORDS:
        return task
    return apply_perturbations(task, Paraphrase(), seed=task.setting.seed)
