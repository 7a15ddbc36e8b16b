"""Runs: cost of two workers, Ray, the driver and large plans; number of rendered images."""

from __future__ import annotations

import importlib.util
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import numpy as np
from rich.console import Console

from assay import tasks
from assay.episodes import Episode, EpisodeSpec
from assay.errors import RenderingError
from assay.experiments import Experiment, Variant, load_experiment
from assay.perturb import Say
from assay.runs import display
from assay.runs.display import RunDisplay
from assay.runs.driver import drive
from assay.runs.executor import Done, EpisodeRunner, Event, Executor, WorkerConfig
from assay.runs.local import LocalProcesses
from assay.runs.on_ray import RayActors
from assay.runs.schedulers.plan import Scheduler
from assay.runs.store import Store
from assay.sim import Observation, gl
from assay.sim.render import CAMERAS
from assay.tasks import Instruction
from bench.figure import Figure, call_in_new_process, peak_memory

TASKS = "libero_goal/0,libero_goal/5,libero_goal/7,libero_spatial/0,libero_object/0"
"""Short episodes, which make the overhead most visible."""
EPISODES = 500
LARGE = 200_000


def measure() -> list[Figure]:
    return [*_workers(), *_ray(), _overhead(), *_large(), _pictures()]


def _workers() -> list[Figure]:
    """Alternate between the settings, so that other load affects both."""
    paces: dict[int, list[float]] = {1: [], 2: []}
    for workers in (1, 2, 2, 1):
        paces[workers].append(_pace(_timed(LocalProcesses(WorkerConfig("oracle"), workers), 100)))
    what = "episodes per minute with two workers / with one worker, oracle, no images"
    return [Figure(what, sum(paces[2]) / sum(paces[1]), "x", 1.8, at_most=False, note=_cores())]


def _ray() -> list[Figure]:
    what = f"time of a run of {EPISODES} short episodes on Ray local / on local processes, two workers"
    if importlib.util.find_spec("ray") is None:
        return [Figure(what, None, "x", 1.1, note="ray is not installed")]
    ray = _timed(RayActors(WorkerConfig("oracle"), "local", 2), EPISODES)
    local = _timed(LocalProcesses(WorkerConfig("oracle"), 2), EPISODES)
    return [
        Figure(
            what,
            ray[-1] / local[-1],
            "x",
            1.1,
            note=f"{ray[-1]:.0f} s / {local[-1]:.0f} s, including start and end",
        ),
        Figure("... time per episode while all workers are active", _pace(local) / _pace(ray), "x", 1.1),
    ]


def _timed(executor: Executor, episodes: int) -> list[float]:
    """Execute a plan; return the times at which episodes were recorded and the total time, seconds."""
    moments: list[float] = []
    start = time.perf_counter()

    def watch(spec: EpisodeSpec | None, episode: Episode | None) -> None:
        if spec is not None:
            moments.append(time.perf_counter() - start)

    with tempfile.TemporaryDirectory() as folder, Store.writing(Path(folder) / "run.assay") as store:
        store.plan(_plan(episodes))
        assert drive(store, executor, watch=watch).left == 0
        assert not (broken := store.reasons()), f"episodes ended in an error: {broken}"
    return [*moments, time.perf_counter() - start]


def _pace(moments: list[float]) -> float:
    """Return episodes per second in the middle of a run, while all workers are active."""
    margin = len(moments) // 10
    middle = moments[margin : -margin - 1]
    return (len(middle) - 1) / (middle[-1] - middle[0])


def _plan(episodes: int) -> Iterator[EpisodeSpec]:
    chosen = tasks.resolve(TASKS)
    return load_experiment("libero").plan(chosen, range(-(-episodes // len(chosen))))


def _cores() -> str:
    return f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}"


class _Here:
    """An executor in this process that measures the duration of episodes."""

    workers = 1

    def __init__(self, orders: WorkerConfig) -> None:
        self._stage = EpisodeRunner(orders)
        self.inside = 0.0

    def execute(self, source: Scheduler, stopping: Callable[[], bool]) -> Iterator[Event]:
        latest = None
        while batch := source.take(latest):
            for number, spec in batch:
                start = time.perf_counter()
                episode = self._stage.run(spec)
                self.inside += time.perf_counter() - start
                yield Done(number, episode)
            latest = batch[-1][1].scene_key


def _overhead() -> Figure:
    executor = _Here(WorkerConfig("oracle"))
    start = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        Path(os.devnull).open("w") as nowhere,
        Store.writing(Path(folder) / "run.assay") as store,
    ):
        terminal = Console(file=nowhere, force_terminal=True, width=120)
        store.plan(_plan(100))
        with patch.object(display, "errors", terminal), RunDisplay() as shown:
            shown.began(store, store.planned)
            assert drive(store, executor, watch=shown.episode).left == 0
    whole = time.perf_counter() - start
    what = "time for planning, storing and progress display / time of a run of short episodes"
    return Figure(what, 100 * (whole - executor.inside) / whole, "%", 3.0)


def _plan_large(path: str, episodes: str) -> tuple[float, ...]:
    """Plan many episodes; return their number, seconds, and memory in MB."""
    wordings = [
        Variant(f"para/{number}", (Say(f"wording {number}"),), {"wording": number, "pd": number / 10})
        for number in range(9)
    ]
    chosen = tasks.resolve("all")
    seeds = range(-(-int(episodes) // (len(chosen) * (len(wordings) + 1))))
    start = time.perf_counter()
    with Store.writing(Path(path)) as store:
        store.plan(Experiment("large", "", variants=lambda task: wordings).plan(chosen, seeds))
        planned = len(store.todo())
    return planned, time.perf_counter() - start, peak_memory()


def _open_large(path: str) -> tuple[float, ...]:
    """Read the table of a run's episodes; return their number and seconds."""
    start = time.perf_counter()
    with Store.reading(Path(path)) as store:
        rows = len(store.frame())
    return rows, time.perf_counter() - start


def _large() -> list[Figure]:
    """Measure each in a new process; memory includes all imports."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.assay"
        planned, seconds, memory = call_in_new_process(_plan_large, path, LARGE)
        _fill(path)
        opened, opening = call_in_new_process(_open_large, path)
    assert planned == opened >= LARGE
    return [
        Figure(f"a plan of {LARGE} episodes: time", seconds, "s", 10.0),
        Figure(f"a plan of {LARGE} episodes: memory", memory, "MB", 1000.0),
        Figure(f"opening a run of {LARGE} episodes", opening, "s", 3.0),
    ]


def _fill(path: Path) -> None:
    """Store the result of one real episode for every planned episode."""
    with Store.writing(path) as store:
        store.append(1, EpisodeRunner(WorkerConfig("oracle")).run(EpisodeSpec("libero_goal/7", 0)))
    with sqlite3.connect(path) as file:
        for table in ("episodes", "trajectories"):
            _, *row = file.execute(f"SELECT * FROM {table} WHERE id = 1").fetchone()
            others = (
                (number, *row) for (number,) in file.execute("SELECT id FROM specs WHERE id > 1").fetchall()
            )
            file.executemany(f"INSERT INTO {table} VALUES (?{', ?' * len(row)})", others)


class Looking:
    """A policy that reads both images at every call and returns eight actions."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        pass

    def act(self, observation: Observation) -> np.ndarray:
        for camera in CAMERAS:
            observation.image(camera, 128)
        return np.zeros((8, 7))


def _pictures() -> Figure:
    what = "images with a decision at every step / every eight, both cameras, by count"
    try:
        gl.backend()
    except RenderingError as error:
        return Figure(what, None, "x", 6.0, at_most=False, note=str(error))
    stage = EpisodeRunner(WorkerConfig("python:bench.runs:Looking"))
    specs = [EpisodeSpec("libero_goal/7", 0, steps=80, replan=replan) for replan in (1, 8)]
    each, eighth = (stage.run(spec).images for spec in specs)
    stage.close()
    return Figure(what, each / eighth, "x", 6.0, at_most=False, note=f"{each} / {eighth}")
