"""Single tasks, to be looked at and stepped by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from assay.episodes import Env, EpisodeSpec, Initial, Perturbation, task_of, world_of
from assay.errors import StateError


def load_task(task: str, *, seed: int = 0, perturbations: Sequence[Perturbation] = ()) -> Any:
    """The task of an id such as ``libero_goal/3``, or of a task file; with perturbations, as they change it.

    ``seed`` draws what is drawn. Raises TaskError that says what is valid.
    """
    return task_of(_spec(task, seed, perturbations))


def make_env(
    task: str,
    *,
    perturbations: Sequence[Perturbation] = (),
    assets: str | None = None,
    states: str | Path | None = None,
) -> TaskEnv:
    """An environment of one task, to be stepped by hand; a context manager."""
    world = world_of(task)
    pack = assets or world.packs[0]
    world.pack_source(pack)
    load_task(task, perturbations=perturbations)  # what cannot be is missed now
    return TaskEnv(
        world.open(None if states is None else Path(states)),
        task,
        tuple(perturbations),
        pack,
        "sampled" if states is None else "stored",
    )


class TaskEnv:
    """One task that can be reset and stepped."""

    def __init__(
        self, env: Env, task: str, perturbations: tuple[Perturbation, ...], pack: str, initial: Initial
    ) -> None:
        self._env, self._id, self._perturbations = env, task, perturbations
        self._pack, self._initial = pack, initial
        self._spec: EpisodeSpec | None = None

    def reset(self, seed: int = 0) -> Any:
        """Begin an episode; returns the first observation."""
        self._spec = EpisodeSpec(
            self._id, seed, self._pack, perturbations=self._perturbations, initial=self._initial
        )
        return self._env.reset(self._spec)

    def step(self, action: np.ndarray | Sequence[float]) -> Any:
        """Carry out one action, (action size,); returns the observation after it."""
        if self._spec is None:
            raise StateError("the environment has no state yet: call reset first")
        return self._env.step(np.asarray(action))

    @property
    def task(self) -> Any:
        """The task as it is now, with ``id``, ``instruction`` and more."""
        return (
            self._env.task
            if self._spec is not None
            else load_task(self._id, perturbations=self._perturbations)
        )

    @property
    def succeeded(self) -> bool:
        """Whether the goal is reached now."""
        return self._spec is not None and self._env.succeeded()

    @property
    def simulation(self) -> Any:
        """The simulation behind it: poses, predicates, MuJoCo's model and data."""
        return self._env.simulation

    def frame(self, observation: Any) -> np.ndarray:
        """An observation as people look at it, for videos: uint8, (height, width, 3)."""
        return self._env.frame(observation)

    def close(self) -> None:
        """Give back what it holds."""
        self._env.close()

    def __enter__(self) -> TaskEnv:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _spec(task: str, seed: int, perturbations: Sequence[Perturbation]) -> EpisodeSpec:
    return EpisodeSpec(task, seed, perturbations=tuple(perturbations))
