"""The oracle: success rates, and speed relative to simulated time."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterable
from pathlib import Path

from assay import tasks
from assay.episodes import LIBERO, EpisodeSpec, Outcome, rollout
from assay.errors import AssetError
from assay.policies.registry import load_policy
from assay.runs.options import RunOptions
from assay.runs.trials import Trial, by_task, try_tasks
from assay.sim.compile import compile_scene
from assay.sim.packs.locate import LIBERO_VARIABLE, ROBOSUITE_VARIABLE, STATES_VARIABLE, locate_states
from assay.sim.packs.registry import load_pack
from assay.sim.simulation import CONTROL_HZ, Simulation
from assay.sim.world import SceneEnv
from bench.figure import Figure

SPEED_SEEDS = range(3)
SEEDS = range(1000, 1005)
"""Seed of the sampled states; none of them was used to develop the oracle."""
NINETY = range(1000, 1010)
STORED = range(40, 43)


def measure() -> list[Figure]:
    shared = Path(os.environ.get("ASSAY_SHARED", "../shared")).absolute() / "libero"
    if shared.is_dir():
        os.environ.setdefault(LIBERO_VARIABLE, str(shared / "assets"))
        os.environ.setdefault(ROBOSUITE_VARIABLE, str(shared / "robosuite_assets"))
        os.environ.setdefault(STATES_VARIABLE, str(shared / "init"))
    sampled = [
        *_sampled_figures("all", SEEDS, 97.0, 90.0),
        *_sampled_figures("libero_90", NINETY, 95.0, 70.0),
    ]
    return [*_speed_figures(), *sampled, _stored_figure(), *_libero_figures()]


def _speed_figures() -> list[Figure]:
    ratios = {task: _speed(task) for task in tasks.all_ids() if len(tasks.load(task).goal.atoms) == 1}
    slowest = min(ratios, key=lambda task: ratios[task])
    what = "simulated time / time of an oracle episode, one goal, without images"
    return [
        Figure(f"{what} (median task)", statistics.median(ratios.values()), "x", 10.0, at_most=False),
        Figure(f"{what} (slowest task)", ratios[slowest], "x", 10.0, at_most=False, note=slowest),
    ]


def _speed(task_id: str) -> float:
    """Return simulated seconds of successes per wall-clock second on one core, including planning and reset."""
    task = tasks.load(task_id)
    world = Simulation(compile_scene(task.scene, load_pack("primitives")))
    policy = load_policy("oracle")
    states = [world.sample(seed) for seed in SPEED_SEEDS]
    rollout(SceneEnv(world, task, states[0]), policy, EpisodeSpec(task_id, 0, steps=5))
    steps, seconds = 0, 0.0
    for seed, state in zip(SPEED_SEEDS, states, strict=True):
        start = time.perf_counter()
        done = rollout(SceneEnv(world, task, state), policy, EpisodeSpec(task_id, seed))
        seconds += time.perf_counter() - start
        steps += done.steps if done.outcome is Outcome.SUCCESS else 0
    return steps / CONTROL_HZ / seconds


def _sampled_figures(selection: str, seeds: range, least: float, least_of_one: float) -> list[Figure]:
    trials = _trials(selection, seeds)
    worst = min(trials, key=lambda trial: trial.success_rate[0])
    what = f"oracle, sampled states, primitives, {selection}"
    return [
        Figure(f"{what}, together", _percent(trials), "%", least, at_most=False),
        Figure(
            f"{what}, worst task",
            100 * worst.success_rate[0] / len(worst.attempts),
            "%",
            least_of_one,
            at_most=False,
            note=f"{worst.task}, {worst.success_rate[0]} of {len(worst.attempts)}",
        ),
    ]


def _stored_figure() -> Figure:
    what = "oracle, LIBERO's stored states, primitives, all tasks"
    try:
        locate_states()
    except AssetError as error:
        return Figure(what, None, "%", 90.0, at_most=False, note=str(error))
    return Figure(what, _percent(_trials("all", STORED, states=locate_states())), "%", 90.0, at_most=False)


def _libero_figures() -> Iterable[Figure]:
    bounds = {"libero_goal": 85.0, "libero_object": 85.0, "libero_spatial": 80.0, "libero_90": 85.0}
    for suite, bound in bounds.items():
        what = f"oracle, sampled states, libero pack, {suite}"
        trials = _trials(suite, SEEDS[:3], pack="libero")
        reasons = [episode.error for trial in trials for episode in trial.ending_in(Outcome.ERROR)]
        if reasons:  # not everybody has the meshes of all suites
            yield Figure(what, None, "%", bound, at_most=False, note=f"{len(reasons)} errors: {reasons[0]}")
        else:
            yield Figure(what, _percent(trials), "%", bound, at_most=False)


def _trials(
    selection: str, seeds: range, *, pack: str = "primitives", states: Path | None = None
) -> list[Trial]:
    chosen = [task.id for task in tasks.resolve(selection)]
    return by_task(list(try_tasks("oracle", LIBERO, chosen, seeds, pack, RunOptions(states=states))))


def _percent(trials: list[Trial]) -> float:
    return 100 * sum(trial.success_rate[0] for trial in trials) / sum(len(trial.attempts) for trial in trials)
