"""Audits and latency: intervals of the difference between two kinds of initial state, and what latency costs where
there is none."""

from __future__ import annotations

import statistics
import time

import numpy as np

from assay import tasks
from assay.episodes import EpisodeSpec, rollout
from assay.episodes.latency import Timeline
from assay.measures.shortcuts import within_tasks
from assay.policies.simple import STILL
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.world import LIBERO_WORLD, SceneEnv
from assay.support.streams import stream
from bench.figure import Figure

REPEATS = 2000
TASKS, STATES = 10, 20
STEPS, ROUNDS = 50, 9
TASK = "libero_goal/7"


def measure() -> list[Figure]:
    return [*_states(), *_latency()]


def _states() -> list[Figure]:
    """Coverage of a true difference of 15 points within tasks, and false alarms where there is none."""
    rng = stream("bench", "states")
    covered = alarms = 0
    counts = np.full(TASKS, float(STATES))
    for _ in range(REPEATS):
        stored = rng.uniform(0.3, 0.95, TASKS)
        hits, fewer, same = (
            rng.binomial(STATES, np.clip(share, 0, 1)).astype(float)
            for share in (stored, stored - 0.15, stored)
        )
        found, _ = within_tasks(hits, counts, fewer, counts)
        covered += found.interval.low <= -0.15 <= found.interval.high
        alarms += within_tasks(hits, counts, same, counts)[1] < 0.05
    where = f"{TASKS} tasks x {STATES} states, {REPEATS} repeats"
    return [
        Figure(
            f"audit states: coverage of 95 % intervals ({where})",
            covered / REPEATS,
            "share",
            0.95,
            at_most=False,
        ),
        Figure(f"audit states: false alarms at 5 % ({where})", alarms / REPEATS, "share", 0.05),
    ]


class _Chunks:
    """Ten actions that wait."""

    def reset(self, instruction: object, spec: EpisodeSpec) -> None: ...

    def act(self, observation: object) -> np.ndarray:
        return np.tile(STILL, (10, 1))


def _latency() -> list[Figure]:
    """The time of what latency needs where there is none, as a share of a control step's, in one process."""
    task = tasks.load(TASK)
    world = Simulation(compile_scene(task.scene, load_pack("primitives")))
    spec = EpisodeSpec(TASK, 0, steps=STEPS)
    try:
        env = SceneEnv(world, task, world.sample(0))
        rollout(env, _Chunks(), spec)
        steps = [_seconds(lambda: rollout(env, _Chunks(), spec)) / STEPS for _ in range(ROUNDS)]
    finally:
        world.close()
    chunk = np.tile(STILL.astype(np.float32), (10, 1))
    timeline = Timeline(LIBERO_WORLD, 0, "play")

    def with_timeline() -> None:
        for _ in range(STEPS):
            for _action, _absolute in timeline.actions(chunk, 10, absolute=False, late=0):
                pass

    def without() -> None:
        for _ in range(STEPS):
            for _action in chunk[:10]:
                pass

    extra = [(_seconds(with_timeline) - _seconds(without)) / (10 * STEPS) for _ in range(ROUNDS)]
    share = statistics.median(extra) / statistics.median(steps)
    what = "latency where there is none: share of a control step"
    return [Figure(what, 100 * share, "%", 1.0, note=f"{1e6 * statistics.median(extra):.2g} microseconds")]


def _seconds(work: object) -> float:
    start = time.process_time()
    work()  # type: ignore[operator]
    return time.process_time() - start
