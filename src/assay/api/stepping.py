"""Single tasks, for inspection and manual stepping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from assay.episodes import Env, EpisodeSpec, Initial, Perturbation, task_of, world_of
from assay.errors import StateError


def load_task(task: str, *, seed: int = 0, perturbations: Sequence[Perturbation] = ()) -> Any:
    """Load a task by an id such as ``libero_goal/3`` or from a task file, with perturbations applied.

    ``seed`` determines all random choices. Raises TaskError, which lists the valid values.
    """
    return task_of(EpisodeSpec(task, seed, perturbations=tuple(perturbations)))


def make_env(
    task: str,
    *,
    perturbations: Sequence[Perturbation] = (),
    assets: str | None = None,
    states: str | Path | None = None,
) -> TaskEnv:
    """Create the environment of one task for manual stepping; use it as a context manager."""
    world = world_of(task)
    initial: Initial = "sampled" if states is None else "stored"
    pack = assets or world.packs[0]
    spec = EpisodeSpec(task, 0, pack, perturbations=tuple(perturbations), initial=initial)
    world.pack_source(pack)
    task_of(spec)  # raises now, not at the first reset
    return TaskEnv(world.open(None if states is None else Path(states)), spec)


class TaskEnv:
    """Environment of one task for manual stepping."""

    def __init__(self, env: Env, spec: EpisodeSpec) -> None:
        """``spec``: the episode to run; its seed is replaced by that of each `reset`."""
        self._env, self._spec, self._is_reset = env, spec, False

    def reset(self, seed: int = 0) -> Any:
        """Start an episode and return the first observation."""
        observation = self._env.reset(replace(self._spec, seed=seed))
        self._is_reset = True
        return observation

    def step(self, action: np.ndarray | Sequence[float]) -> Any:
        """Execute one action, of shape (action size,), and return the next observation."""
        if not self._is_reset:
            raise StateError("the environment has no state yet: call reset first")
        return self._env.step(np.asarray(action))

    @property
    def task(self) -> Any:
        """Current task, with ``id``, ``instruction`` and other attributes."""
        return self._env.task if self._is_reset else task_of(self._spec)

    @property
    def succeeded(self) -> bool:
        """Whether the goal currently holds."""
        return self._is_reset and self._env.succeeded()

    @property
    def simulation(self) -> Any:
        """Underlying simulation: poses, predicates, MuJoCo's model and data."""
        return self._env.simulation

    def frame(self, observation: Any) -> np.ndarray:
        """Render an observation as an image for videos: uint8, (height, width, 3)."""
        return self._env.frame(observation)

    def close(self) -> None:
        """Close the environment and release its resources."""
        self._env.close()

    def __enter__(self) -> TaskEnv:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
