"""Record the teacher's successful episodes as tokens: ``FOLDER/T1_1000000.npz``, so many seeds in each file.

A file appears when it is whole; what is there is not done again.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from assay import processes
from assay.errors import TaskError, did_you_mean
from assay.files import replacing
from assay.perturb import apply_perturbations
from assay.perturb.tabletop import Paraphrase
from assay.policies.learned.tabletop.teacher import Teacher
from assay.policies.learned.tabletop.tokens import Form, Sight, pictured, seen
from assay.streams import stream
from assay.tabletop import (
    KINDS,
    Level,
    Picture,
    Setting,
    TableObservation,
    TableScene,
    TableTask,
    Tool,
    make,
    play,
)

FIRST_SEED = 1_000_000
"""From here on seeds are for training, below for evaluation."""
IN_A_FILE = 50
TASKS = ("T1", "T2", "T3", "T4", "T6", "T7", "T12", "T15")
"""Tasks whose next action can be told from the table as it is."""
OWN_WORDS = 0.2
"""The share of episodes that keep their own words where the others are paraphrased."""
_FIELDS = ("crops", "boxes", "views", "places")


@dataclass(frozen=True, slots=True)
class Job:
    """The seeds of one file."""

    folder: Path
    task: str
    seeds: range
    paraphrase: bool

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
    """A teacher of whom is kept what it saw; what it did comes with the episode."""

    def __init__(self) -> None:
        self.saw: list[TableObservation] = []

    def act(self, observation: TableObservation) -> np.ndarray:
        self.saw.append(observation)
        return super().act(observation)


def jobs(folder: Path, tasks: Sequence[str], per_task: int, *, paraphrase: bool) -> list[Job]:
    """What is to be recorded, file by file. Raises TaskError for a task that there is not."""
    for task in tasks:
        if task not in KINDS:
            raise TaskError(f"there is no tabletop task '{task}': {did_you_mean(task, KINDS)}")
        if Level.L1 not in KINDS[task].levels:
            raise TaskError(f"{task} is for evaluation only: it has no level {Level.L1}")
    ends = range(FIRST_SEED, FIRST_SEED + per_task, IN_A_FILE)
    return [
        Job(folder, task, range(first, min(first + IN_A_FILE, FIRST_SEED + per_task)), paraphrase)
        for first in ends
        for task in tasks
    ]


def record(wanted: Sequence[Job], workers: int) -> Iterator[tuple[Job, int]]:
    """Write the files that are missing, each as it is done; tells how many episodes are in each."""
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
    with processes.pool(min(workers, len(missing))) as pool:
        for written in as_completed([pool.submit(write, job) for job in missing]):
            yield written.result()


def write(job: Job) -> tuple[Job, int]:
    """Write one file; tells how many episodes are in it."""
    album = _Album()
    texts: list[str] = []
    shown: list[str] = []
    seeds: list[int] = []
    rows: list[tuple[int, int, int, np.ndarray]] = []
    for seed in job.seeds:
        task = told(job.task, seed, paraphrase=job.paraphrase)
        teacher = _Recorder()
        played = play(task, teacher)
        if not played.success:
            continue
        tool = int(task.scene.tool is Tool.SPATULA)
        for observation, action in zip(teacher.saw, played.actions, strict=True):
            rows.append((len(seeds), album.add(partial(seen, observation)), tool, action))
        texts.append(task.prompt.text)
        shown.append(json.dumps({name: album.shown(picture) for name, picture in task.prompt.pictures}))
        seeds.append(seed)
    arrays = album.arrays() if rows else {}
    arrays["texts"], arrays["shown"] = np.array(texts, dtype=str), np.array(shown, dtype=str)
    arrays["paraphrased"], arrays["tried"] = np.array(job.paraphrase), np.array(len(job.seeds))
    arrays["seeds"] = np.array(seeds, dtype=np.int64)
    for index, name in enumerate(("episodes", "pictures", "tools", "actions")):
        arrays[name] = np.array([row[index] for row in rows])
    with replacing(job.file) as unfinished, unfinished.open("wb") as out:
        np.savez_compressed(out, **arrays)  # type: ignore[arg-type]
    return job, len(seeds)


def told(kind: str, seed: int, *, paraphrase: bool) -> TableTask:
    """A training task, in its own words or, four times in five, in others."""
    task = make(Setting(kind, seed))
    if not paraphrase or stream("tabletop", "training", task.setting.id, "own words").random() < OWN_WORDS:
        return task
    return apply_perturbations(task, Paraphrase(), seed=seed)
