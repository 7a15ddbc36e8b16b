"""The control of an episode: the unperturbed task with the same seed, as in training."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from assay import tasks
from assay.episodes import EpisodeSpec
from assay.sim import Simulation, compile_scene, load_pack
from assay.sim.world import SceneEnv, initial_state


def control(spec: EpisodeSpec, states: Path | None = None) -> SceneEnv:
    """Return the environment for an episode's control; ``states`` is the folder of stored initial states.

    All controls of a task share one simulation, so reset it before use.
    """
    simulation = _simulation(spec.task, spec.pack)
    return SceneEnv(simulation, tasks.load(spec.task), initial_state(simulation, spec.control(), states))


@lru_cache(maxsize=4)
def _simulation(task: str, pack: str) -> Simulation:
    return Simulation(compile_scene(tasks.load(task).scene, load_pack(pack)))
