"""Cost of recording stages, side effects and lasting success, as ratios within one run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from assay.episodes import EpisodeSpec, rollout
from assay.policies.registry import load_policy
from assay.sim.conduct import EffectWatch, StageWatch
from assay.sim.robot_contacts import RobotContacts
from assay.sim.simulation import Simulation
from assay.sim.trace import Trace
from assay.sim.world import LIBERO_WORLD
from bench.figure import Figure

TASKS = (
    "libero_goal/1",
    "libero_goal/3",
    "libero_goal/7",
    "libero_spatial/0",
    "libero_object/0",
    "libero_10/0",
)


def measure() -> list[Figure]:
    """Time spent on recording relative to stepping, and on the aftermath relative to the episode."""
    steps, afters = [], []
    env = LIBERO_WORLD.open()
    rollout(env, load_policy("oracle"), EpisodeSpec(TASKS[0], 0))  # what is compiled at its first call is
    for task in TASKS:
        for seed in range(2):
            spent: dict[str, float] = {}
            with _clocked(spent):
                env.reset(EpisodeSpec(task, seed))  # compiled, and not timed
                spent.clear()
                began = time.perf_counter()
                rollout(env, load_policy("oracle"), EpisodeSpec(task, seed))
                whole = time.perf_counter() - began
            recorded = spent["now"] + spent["StageWatch"] + spent["EffectWatch"]
            steps.append(recorded / spent["step"])
            afters.append(spent.get("aftermath", 0.0) / whole)
    env.close()
    how = f"median of {len(steps)} episodes of the oracle, without images"
    part = 100 * statistics.median(steps)
    return [
        Figure("time to record stages, contacts and side effects / time of a control step", part, "%", 4.0,
               note=f"{how}; maximum {100 * max(steps):.1f} %"),
        Figure("time to check whether success lasts / time of an episode", 100 * statistics.median(afters), "%", 15.0,
               note=f"{how}; maximum {100 * max(afters):.1f} %"),
    ]  # fmt: skip


@contextmanager
def _clocked(spent: dict[str, float]) -> Iterator[None]:
    """Accumulate the time spent in recording and in stepping."""
    places: list[tuple[Any, str, str]] = [
        (RobotContacts, "now", "now"),
        (StageWatch, "__call__", "StageWatch"),
        (EffectWatch, "__call__", "EffectWatch"),
        (Trace, "_simulate_aftermath", "aftermath"),
        (Simulation, "step", "step"),
    ]
    before = [getattr(owner, name) for owner, name, _ in places]
    try:
        for (owner, name, called), method in zip(places, before, strict=True):
            setattr(owner, name, _timed(method, called, spent))
        yield
    finally:
        for (owner, name, _), method in zip(places, before, strict=True):
            setattr(owner, name, method)


def _timed(method: Callable[..., Any], called: str, spent: dict[str, float]) -> Callable[..., Any]:
    def timed(*arguments: Any, **named: Any) -> Any:
        began = time.perf_counter()
        try:
            return method(*arguments, **named)
        finally:
            spent[called] = spent.get(called, 0.0) + time.perf_counter() - began

    return timed
