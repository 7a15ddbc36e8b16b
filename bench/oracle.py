"""The oracle: how much faster than the robot's own time it solves tasks."""

from __future__ import annotations

import statistics
import time

from assay import tasks
from assay.policies import EpisodeSpec, load_policy, rollout
from assay.sim.compile import compile_scene
from assay.sim.packs.registry import load_pack
from assay.sim.world import CONTROL_HZ, World
from bench.figure import Figure

SEEDS = range(3)


def measure() -> list[Figure]:
    ratios = {task: _speed(task) for task in tasks.all_ids() if len(tasks.load(task).goal.atoms) == 1}
    slowest = min(ratios, key=lambda task: ratios[task])
    what = "robot time / time of an oracle episode, one goal, no pictures"
    return [
        Figure(f"{what} (median task)", statistics.median(ratios.values()), "x", 10.0, at_most=False),
        Figure(f"{what} (slowest task)", ratios[slowest], "x", 10.0, at_most=False, note=slowest),
    ]


def _speed(task_id: str) -> float:
    """Simulated seconds for each second of the clock, one core, planning and reset included."""
    task = tasks.load(task_id)
    world = World(compile_scene(task.scene, load_pack("primitives")))
    policy = load_policy("oracle")
    states = [world.sample(seed) for seed in SEEDS]
    rollout(world, task, policy, states[0], EpisodeSpec(task_id, 0, steps=5))
    steps, start = 0, time.perf_counter()
    for seed, state in zip(SEEDS, states, strict=True):
        steps += rollout(world, task, policy, state, EpisodeSpec(task_id, seed)).steps
    return steps / CONTROL_HZ / (time.perf_counter() - start)
