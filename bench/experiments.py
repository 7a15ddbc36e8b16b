"""Experiments: time to plan, and cost of compiling a perturbed scene."""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from assay import tasks
from assay.episodes import EpisodeSpec, task_of
from assay.errors import AssayError
from assay.experiments import load_experiment
from assay.experiments.factors import changes_to
from assay.runs.certificates import Certificate, CertificateCache, ClaimVerdict, admit, claims
from assay.runs.store import Store
from assay.sim.compile import compile_scene
from assay.sim.packs.registry import load_pack
from assay.tasks import Scene
from bench.figure import Figure

PLANNED = ("pro", "x")
TASKS = ("libero_goal/1", "libero_spatial/0")
ROUNDS = 3


def measure() -> list[Figure]:
    return [_planning(), _serving(), *_compiling()]


def _planning() -> Figure:
    start, count = time.perf_counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        for name in PLANNED:
            experiment = load_experiment(name)
            with Store.writing(Path(folder) / f"{name}.assay") as store:
                store.plan(experiment.plan(tasks.resolve(experiment.tasks), experiment.seeds))
                count += store.planned
    what = f"planning all of {' and '.join(PLANNED)} for {len(tasks.resolve('all'))} tasks"
    return Figure(what, time.perf_counter() - start, "s", 60.0, note=f"{count} episodes")


def _serving() -> Figure:
    """Time the lookup of all certificates of `x`, all of which exist, and the planning of its episodes."""
    experiment = load_experiment("x")
    chosen = tasks.resolve(experiment.tasks)
    with (
        tempfile.TemporaryDirectory() as folder,
        CertificateCache(Path(folder) / "certificates.sqlite") as cache,
        Store.writing(Path(folder) / "x.assay") as store,
    ):
        for claim in claims(experiment.plan(chosen, experiment.seeds)):
            cache.add(claim, Certificate(ClaimVerdict.SOLVED, 100))
        start = time.process_time()
        specs = list(experiment.plan(chosen, experiment.seeds))
        assert all(cache.get(claim) is not None for claim in claims(specs))
        admitted, _ = admit(specs, cache, experiment.limit)
        store.plan(admitted)
        seconds, count = time.process_time() - start, store.planned
    what = "planning a certified episode, processor time"
    return Figure(what, 1e3 * seconds / count, "ms", 1.0, note=f"{count} episodes of x, {seconds:.1f} s")


def _compiling() -> list[Figure]:
    ratios: dict[str, list[float]] = {}
    refused: dict[str, list[str]] = {}
    for task in TASKS:
        control = EpisodeSpec(task, 0)
        for name, change in changes_to(task_of(control)).items():
            if not change.rebuilds:
                continue
            try:
                scene = task_of(replace(control, perturbations=(change,))).scene
            except AssayError:  # not every change can be made to every task
                refused.setdefault(name, []).append(task)
                continue
            ratios.setdefault(name, []).append(_ratio(scene, task_of(control).scene))
    means = {name: statistics.mean(each) for name, each in ratios.items()}
    slowest = max(means, key=lambda name: means[name])
    what = "compiling a changed scene / its control"
    skipped = "; ".join(f"{name} not possible on {', '.join(each)}" for name, each in refused.items())
    return [
        Figure(
            f"{what} (mean of {len(means)} changes)", statistics.mean(means.values()), "x", 1.2, note=skipped
        ),
        Figure(f"{what} (slowest)", means[slowest], "x", 1.2, note=slowest),
    ]


def _ratio(changed: Scene, control: Scene) -> float:
    """Return the best ratio of several alternating rounds, to reduce the influence of other load."""
    pack = load_pack("primitives")
    times: dict[int, list[float]] = {0: [], 1: []}
    for _ in range(ROUNDS):
        for number, scene in enumerate((changed, control)):
            start = time.process_time()
            compile_scene(scene, pack)
            times[number].append(time.process_time() - start)
    return min(times[0]) / min(times[1])
