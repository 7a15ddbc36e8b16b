"""Scale: processor time and peak memory of the commands that read runs, for runs of increasing size.

``python -m bench.scale --episodes 20000 200000 --folder /tmp/scale`` prints a table, and keeps the runs in the folder.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil
from rich.console import Console
from rich.table import Table

from assay import tasks
from assay.episodes import CONTROL, Episode, EpisodeSpec, Outcome, Trajectory, world_of
from assay.episodes.episode import Aftermath, SideEffects
from assay.experiments.base import load_experiment
from assay.runs.store import Store
from assay.support.console import right
from bench.figure import Figure

EPISODES = (2_000, 20_000)
"""Numbers of episodes that `measure` compares."""
RUNS = 1_000
"""Number of runs in the folder that the web app lists."""
TASKS = "libero_goal,libero_spatial,libero_object,libero_10"
REFUSED_SHARE = 0.05
"""Number of refused episodes relative to planned ones."""
ERROR_SHARE = 0.01
MAX_MEMORY_MB = 1000.0
MAX_LIST_SECONDS = 2.0
ASSAY = str(Path(sys.executable).with_name("assay"))
STAGES = ("reached", "touched", "grasped", "lifted", "carried", "placed", "released")


class Usage(NamedTuple):
    """Resources that a process and its children used."""

    cpu_seconds: float
    """User and system time, in seconds."""
    peak_mb: float
    seconds: float
    """Wall-clock time: of the command, or of the request for a page of the web app."""


def measure() -> list[Figure]:
    figures = []
    with tempfile.TemporaryDirectory() as name:
        usages = [measure_commands(Path(name), episodes) for episodes in EPISODES]
        small, large = usages
        more = EPISODES[1] / EPISODES[0]
        for command in small:
            what = f"{command}, {EPISODES[1]} episodes"
            ratio = large[command].cpu_seconds / small[command].cpu_seconds
            figures += [
                Figure(f"{what}: processor time / that of {EPISODES[0]} episodes", ratio, "x", more),
                Figure(f"{what}: memory", large[command].peak_mb, "MB", MAX_MEMORY_MB),
            ]
        listing = measure_list(Path(name), RUNS)
    return [
        *figures,
        Figure(f"list of {RUNS} runs in the web app", listing.seconds, "s", MAX_LIST_SECONDS),
    ]


def measure_commands(folder: Path, episodes: int, only: str = "") -> dict[str, Usage]:
    """Return the usage of each command whose name contains ``only``, for runs of ``episodes`` episodes."""
    runs = folder / str(episodes)
    first, second = runs / "first.assay", runs / "second.assay"
    for seed, run in enumerate((first, second)):
        if not run.exists():
            write_run(run, episodes, seed=seed, trajectories=1.0 if run is first else 0.0)
    out = runs / "out"
    shutil.rmtree(out, ignore_errors=True)
    commands = {
        "runs list": ("runs", "list", runs),
        "runs show": ("runs", "show", first),
        "report": ("report", first),
        "report --out": ("report", first, "--out", out / "report"),
        "export --csv": ("export", first, "--csv", out / "table.csv"),
        "export --json": ("export", first, "--json", out / "table.json"),
        "compare": ("compare", first, second),
    }
    pages = {
        "ui: list": "/",
        "ui: run": "/runs/first.assay",
        "ui: findings": "/runs/first.assay/finding",
        "ui: episodes": "/runs/first.assay/episodes?outcome=failure&sort=-steps",
        "ui: compare": "/compare?a=first&b=second",
    }
    usages = {name: run_command(command) for name, command in commands.items() if only in name}
    return usages | {name: open_page(runs, page) for name, page in pages.items() if only in name}


def measure_list(folder: Path, runs: int) -> Usage:
    """Return the usage of the web app's list of ``runs`` runs, which it has not read before."""
    many = folder / f"{runs}-runs"
    if not many.exists():
        write_run(one := folder / "one.assay", 200, seed=0)
        many.mkdir()
        for number in range(runs):
            shutil.copy(one, many / f"run-{number:04}.assay")
    return open_page(many, "/")


def write_run(path: Path, episodes: int, *, seed: int, trajectories: float = 1.0) -> None:
    """Write a complete run of the experiment `pro` in which a share of the episodes has trajectories."""
    rng = np.random.default_rng(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"unfinished-{path.name}")
    unfinished.unlink(missing_ok=True)
    plan = list(_plan(episodes))
    words = {task.id: str(task.instruction.words) for task in tasks.resolve(TASKS)}
    refused = [
        (spec.condition, spec.task, spec.seed, "demonstrator failed: not reached: On plate_1 flat_stove_1")
        for spec in plan[:: round(1 / REFUSED_SHARE)]
    ]
    with Store.writing(unfinished) as store:
        store.describe(
            experiment="pro",
            policy=f"synthetic?seed={seed}",
            pack="primitives",
            world=world_of(plan[0].task).traits.as_json(),
            settings={},
            plugins=[],
            refused=refused,
            started="2026-11-17T09:30:00+00:00",
        )
        store.plan(plan)
        for number, spec in enumerate(plan, start=1):
            store.append(number, _episode(rng, spec, words[spec.task], rng.random() < trajectories))
    unfinished.rename(path)


def _plan(episodes: int) -> Iterator[EpisodeSpec]:
    """Yield the first ``episodes`` specs of the smallest plan with at least so many."""
    chosen, experiment = tasks.resolve(TASKS), load_experiment("pro")
    each = sum(1 for _ in experiment.plan(chosen, range(1)))
    plan = experiment.plan(chosen, range(-(-episodes // each)))
    return (spec for spec, _ in zip(plan, range(episodes), strict=False))


def _episode(rng: np.random.Generator, spec: EpisodeSpec, words: str, has_trajectory: bool) -> Episode:
    """Return an episode of a policy that is worse under perturbations, and repeats some trajectories of controls."""
    if rng.random() < ERROR_SHARE:
        return Episode(Outcome.ERROR, 0, _walk(rng, 0), words, error="PolicyError: the server answered 503")
    # The same perturbation has the same effect in every run of this script.
    effect = sum(map(ord, spec.condition)) % 60 / 100
    success = rng.random() < (0.85 if spec.condition == CONTROL else 0.85 - effect)
    steps = int(rng.integers(70, 220)) if success else 300
    target, other = f"object_{sum(map(ord, spec.task)) % 7}", f"object_{rng.integers(7)}"
    atom, done = f"On {target} plate_1", len(STAGES) if success else int(rng.integers(len(STAGES)))
    stages = {stage: steps * place // 7 if place < done else None for place, stage in enumerate(STAGES, 1)}
    place = {name: tuple(rng.normal(scale=0.1, size=3).round(4).tolist()) for name in (target, "plate_1")}
    return Episode(
        Outcome.SUCCESS if success else Outcome.FAILURE,
        steps,
        _walk(rng if rng.random() < 0.8 else np.random.default_rng(len(spec.task)), steps * has_trajectory),
        words if spec.labels.get("axis") != "words" else f"{words}, {spec.condition.partition('=')[2]}",
        seconds=steps / 100,
        decisions=steps // 8,
        images=steps // 4,
        touched=target if done else other,
        moved=target if done > 1 else None,
        truth={atom: ((steps, steps + 1),) if success else ()},
        initial_positions=place,
        contacts={target: ((steps // 3, steps // 2),), other: ((steps // 5, steps // 4),)},
        clipped=int(rng.integers(3)),
        inference=tuple(rng.normal(60, 5, steps // 8).round(1).tolist()),
        stages={atom: stages},
        progress=1.0 if success else round((done - 1) / 7, 3) if done else 0.0,
        side_effects=SideEffects(
            {other: 0.03}, {other: 4.0}, {}, {target: 20.0, "arena": 3.0}, {}, 1.2, 19.0
        ),
        aftermath=Aftermath(30, bool(rng.random() < 0.95), True) if success else None,
    )


def _walk(rng: np.random.Generator, steps: int) -> Trajectory:
    if not steps:
        return Trajectory(*(np.zeros(shape, np.float32) for shape in ((0, 3), (0,), (0, 7))))
    # The goal position of a task's path, approached with noise.
    share = np.linspace(0, 1, steps + 1)[:, None]
    goal = np.array([0.2, -0.1, 0.15]) + rng.normal(scale=0.03, size=3)
    hand = share * goal + np.cumsum(rng.normal(scale=0.002, size=(steps + 1, 3)), axis=0)
    gripper = np.where(share[:, 0] < 0.5, 0.08, 0.02)
    actions = np.concatenate([np.diff(hand, axis=0) * 20, np.zeros((steps, 4))], axis=1)
    return Trajectory(*(part.astype(np.float32) for part in (hand, gripper, actions)))


def run_command(command: Iterable[object]) -> Usage:
    """Run an Assay command in a process of its own."""
    return _finish(_start(*command))


def open_page(folder: Path, page: str) -> Usage:
    """Start the web app in a process of its own, request a page, and stop it."""
    process = _start("ui", folder, "--port", "0")
    assert process.stdout is not None
    match = re.search(r"http://([\w.:]+)", process.stdout.readline())
    assert match is not None, _finish(process)
    (app,) = psutil.Process(process.pid).children()
    try:
        start = time.perf_counter()
        connection = HTTPConnection(match.group(1), timeout=3600)
        connection.request("GET", page)
        answer = connection.getresponse()
        content = answer.read()
        seconds = time.perf_counter() - start
        connection.close()
    finally:
        app.terminate()
    assert answer.status == 200, (page, answer.status, content[:300])
    return _finish(process)._replace(seconds=seconds)


_LAUNCH = """
import json, os, sys, time
start = time.perf_counter()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(pid, 0)
cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
print(json.dumps([status, cpu, peak, time.perf_counter() - start]), file=sys.stderr)
"""
"""Script that runs a command and prints its resources: a process begins with the peak memory of the one that starts it,
which must therefore be small."""


def _start(*command: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-S", "-c", _LAUNCH, ASSAY, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(process: subprocess.Popen[str]) -> Usage:
    _, errors = process.communicate()
    status, *used = json.loads(errors.splitlines()[-1])
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGTERM), (process.args, errors)
    return Usage(*used)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("--episodes", type=int, nargs="+", default=EPISODES, help="sizes of the runs")
    parser.add_argument("--folder", type=Path, required=True, help="folder for the runs, which are kept")
    parser.add_argument("--only", default="", help="measure only the commands whose name contains this text")
    arguments = parser.parse_args()
    sizes: Sequence[int] = arguments.episodes
    usages = [measure_commands(arguments.folder, episodes, arguments.only) for episodes in sizes]
    columns = (f"{episodes:,}: {unit}" for episodes in sizes for unit in ("CPU s", "MB"))
    table = Table("command", *right(*columns))
    for command in usages[0]:
        used = [usage[command] for usage in usages]
        table.add_row(
            command, *(f"{value:,.1f}" for part in used for value in (part.cpu_seconds, part.peak_mb))
        )
    Console(width=120).print(table)
    if arguments.only in "list of many runs":
        listing = measure_list(arguments.folder, RUNS)
        print(
            f"list of {RUNS:,} runs in the web app: {listing.seconds:.1f} s, "
            f"{listing.cpu_seconds:.1f} s CPU, {listing.peak_mb:.0f} MB"
        )


if __name__ == "__main__":
    main()
