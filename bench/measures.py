"""Measures: time and memory of all measures of large runs, and of comparing trajectories."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

from assay import tasks
from assay.episodes import Episode, EpisodeSpec, Label, Outcome, Trajectory
from assay.measures.measure import profile
from assay.measures.memory.paths import POINTS, distances
from assay.measures.result import Missing
from assay.perturb import Say
from assay.perturb.words.grid.cells import CELLS
from assay.runs.store import Store
from bench.figure import Figure, call_in_new_process, peak_memory

WORDINGS, SEEDS = 4_092, range(7, 12)
PATHS = 143_000
LARGE = 200_000
STEPS = 200
KINDS = 40
"""Number of distinct episodes that a run repeats."""


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        para, large = Path(folder) / "para.assay", Path(folder) / "large.assay"
        _write(para, _plan(WORDINGS, SEEDS), trajectories=True)
        _write(large, _plan(WORDINGS, range(-(-LARGE // (WORDINGS + 10)))), trajectories=False)
        done, seconds, _ = call_in_new_process(_profile, para, "paths")
        assert done >= WORDINGS * len(SEEDS)
        many, slow, memory = call_in_new_process(_profile, large, "")
        assert many >= LARGE
    return [
        Figure(f"all measures of {done:.0f} episodes with trajectories", seconds, "s", 60.0),
        Figure(f"all measures of {many:.0f} episodes without trajectories: time", slow, "s", 60.0),
        Figure(f"all measures of {many:.0f} episodes without trajectories: memory", memory, "MB", 2000.0),
        Figure(
            f"distances of {PATHS} trajectories of {POINTS} points from a reference",
            _dtw_seconds(),
            "s",
            60.0,
        ),
    ]


def _dtw_seconds() -> float:
    paths = np.random.default_rng(7).normal(size=(PATHS, POINTS, 3)).astype(np.float32)
    distances(paths[:1], paths[:1])  # compiled before the clock starts
    start = time.perf_counter()
    distances(paths, paths[:10], np.arange(PATHS) % 10)
    return time.perf_counter() - start


def _plan(wordings: int, seeds: range) -> Iterator[EpisodeSpec]:
    """Return paraphrases over cells and tasks, each with every seed, and the controls."""
    rng = np.random.default_rng(7)
    chosen = [task.id for task in tasks.resolve("libero_goal")]
    for task in chosen:
        yield from (EpisodeSpec(task, seed, experiment="para") for seed in seeds)
    places = list(product(CELLS, chosen))
    for number in range(wordings):
        cell, task = places[number % len(places)]
        s_k, s_t = (float(value) for value in 1 - 0.6 * rng.random(2))
        labels: dict[str, Label] = {
            "object": str(cell.object_type),
            "action": str(cell.action_type),
            "s_k": s_k,
            "s_t": s_t,
            "pd": 1 - (s_k + s_t) / 2,
            "axis": "words",
            "plausible": number % 10 > 0,
        }
        for seed in seeds:
            said, condition = (Say(f"wording {number}"),), f"para/{cell}"
            yield EpisodeSpec(task, seed, "primitives", "para", condition, said, labels=labels)


def _write(path: Path, plan: Iterator[EpisodeSpec], *, trajectories: bool) -> None:
    """Write a run that repeats a few episodes, in bulk: one transaction per episode would take too long."""
    rng = np.random.default_rng(7)
    with Store.writing(path) as store:
        store.plan(plan)
        for number in range(1, KINDS + 1):
            store.append(number, _episode(rng))
    with sqlite3.connect(path) as file:
        ids = [number for (number,) in file.execute("SELECT id FROM specs WHERE id > ?", (KINDS,)).fetchall()]
        for table in ("episodes", "trajectories"):
            kinds = [row[1:] for row in file.execute(f"SELECT * FROM {table} ORDER BY id")]
            if table == "trajectories" and not trajectories:
                continue
            marks = ", ".join("?" * (len(kinds[0]) + 1))
            rows = ((number, *kinds[rng.integers(KINDS)]) for number in ids)
            file.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def _episode(rng: np.random.Generator) -> Episode:
    success = rng.random() < 0.7
    steps = STEPS if success else 300
    hand = np.cumsum(rng.normal(scale=0.01, size=(steps + 1, 3)), axis=0).astype(np.float32)
    path = Trajectory(hand, hand[:, 0].copy(), np.zeros((steps, 7), np.float32))
    truth = {"On akita_black_bowl_1 flat_stove_1_cook_region": ((steps, steps + 1),) if success else ()}
    outcome = Outcome.SUCCESS if success else Outcome.FAILURE
    return Episode(
        outcome, steps, path, decisions=steps // 8, touched="plate_1", moved="akita_black_bowl_1", truth=truth
    )


def _profile(run: str, with_paths: str) -> tuple[float, ...]:
    """Compute all measures; return episodes, seconds, and memory in MB."""
    start = time.perf_counter()
    with Store.reading(Path(run)) as store:
        found = profile(store, with_paths=bool(with_paths))
    found.as_json()
    assert not isinstance(found["pride"], Missing) and not isinstance(found["drops"], Missing)
    assert isinstance(found["failures"], Missing) == (not with_paths)
    return found.done, time.perf_counter() - start, peak_memory()
