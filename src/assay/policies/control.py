"""The control of an episode (the unperturbed task with the same seed), and the oracle's solutions of controls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay import tasks
from assay.episodes import EpisodeSpec, rollout
from assay.policies.oracle.policy import Oracle
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.world import SceneEnv, initial_state
from assay.tasks import Goal


def control(spec: EpisodeSpec, states: Path | None = None) -> SceneEnv:
    """Return the environment for an episode's control; ``states`` is the folder of stored initial states.

    All controls of a task share one simulation, so callers must reset it before use.
    """
    simulation = _simulation(spec.task, spec.pack)
    return SceneEnv(simulation, tasks.load(spec.task), initial_state(simulation, spec.control(), states))


@lru_cache(maxsize=4)
def _simulation(task: str, pack: str) -> Simulation:
    return Simulation(compile_scene(tasks.load(task).scene, load_pack(pack)))


class MemorisedEpisode(NamedTuple):
    """Episode in which the oracle performs the unperturbed task."""

    instruction: str
    positions: Mapping[str, np.ndarray]
    """Initial position (3,) of each entity, in metres."""
    actions: np.ndarray
    """Actions of the episode, shape (steps, 7)."""


@lru_cache(maxsize=256)
def memorise(spec: EpisodeSpec, states: Path | None = None, goal: Goal | None = None) -> MemorisedEpisode:
    """Run the oracle in an episode's control; return the oracle's episode. ``goal`` replaces the task's goal."""
    env = control(spec, states)
    if goal is not None:
        env.task = replace(env.task, goal=goal)
    env.reset(spec)
    positions = {name: env.simulation.pose(name)[0] for name in env.simulation.compiled.entities}
    result = rollout(env, Oracle(), spec)
    return MemorisedEpisode(env.task.instruction.text, positions, result.trajectory.actions)
