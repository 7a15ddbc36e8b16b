"""Single tasks, for inspection and manual stepping."""

from __future__ import annotations

from collections.abc import Sequence
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
    pack = assets or world.packs[0]
    world.pack_source(pack)
    load_task(task, perturbations=perturbations)  # raises now, not at the first reset
    return TaskEnv(
        world.open(None if states is None else Path(states)),
        task,
        tuple(perturbations),
        pack,
        "sampled" if states is None else "stored",
    )


class TaskEnv:
    """Environment of one task for manual stepping."""

    def __init__(
        self, env: Env, task: str, perturbations: tuple[Perturbation, ...], pack: str, initial: Initial
    ) -> None:
        self._env, self._id, self._perturbations = env, task, perturbations
        self._pack, self._initial = pack, initial
        self._spec: EpisodeSpec | None = None

    def reset(self, seed: int = 0) -> Any:
        """Start an episode and return the first observation."""
        self._spec = EpisodeSpec(
            self._id, seed, self._pack, perturbations=self._perturbations, initial=self._initial
        )
        return self._env.reset(self._spec)

    def step(self, action: np.ndarray | Sequence[float]) -> Any:
        """Execute one action, of shape (action size,), and return the next observation."""
        if self._spec is None:
            raise StateError("the environment has no state yet: call reset first")
        return self._env.step(np.asarray(action))

    @property
    def task(self) -> Any:
        """Current task, with ``id``, ``instruction`` and other attributes."""
        if self._spec is None:
            return load_task(self._id, perturbations=self._perturbations)
        return self._env.task

    @property
    def succeeded(self) -> bool:
        """Whether the goal currently holds."""
        return self._spec is not None and self._env.succeeded()

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
