"""Policies with known flaws, to validate the diagnosis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.episodes import EpisodeSpec
from assay.extensions.tabletop.prompts.prompt import Prompt
from assay.extensions.tabletop.world.env import TableEnv
from assay.extensions.tabletop.world.goals import Put
from assay.extensions.tabletop.world.observation import TableObservation, table_point
from assay.extensions.tabletop.world.oracle import TableOracle
from assay.extensions.tabletop.world.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW
from assay.extensions.tabletop.world.simulation import TableSimulation, action
from assay.support.streams import stream

_SAME_PLACE = 1e-6
"""Distance below which two positions are considered the same, in metres."""
_DEFAULT_PROMPT = Prompt("Perform the task of this scene.")


class PromptBlind(TableOracle):
    """Flaw: ignores the prompt. Always pursues the original goal of the scene."""

    def attach(self, env: TableEnv) -> None:
        """Keep a reference to the privileged state of an environment."""
        super().attach(env)
        self._task = replace(env.task, asked=env.task.goal)
        self._requested, self._progress = None, env.progress

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Begin an episode with a fixed prompt in place of the actual one."""
        super().reset(_DEFAULT_PROMPT, spec)


class OrderFollower(TableOracle):
    """Flaw: follows the prompt, but identifies objects only by their index among the object tokens.

    In training the tokens were always in the scene's order, so the index was sufficient.
    """

    def attach(self, env: TableEnv) -> None:
        """Keep a reference to the privileged state of an environment."""
        super().attach(env)
        self._table: TableSimulation = env.simulation

    def act(self, observation: TableObservation) -> np.ndarray:
        """Return one action, (1, 12), computed for the assumed state of the table."""
        if self._world is self._table:
            self._world = _Mistaken(self._table, observation.objects("top").items)
        return super().act(observation)

    def _carry(self, put: Put) -> np.ndarray:
        for index, item in enumerate(self._task.scene.items):
            if item.fixed and np.hypot(item.x - put.x, item.y - put.y) < _SAME_PLACE:
                x, y, _ = self._world.poses()[index]
                return super()._carry(replace(put, x=float(x), y=float(y)))
        return super()._carry(put)


class _Mistaken(TableSimulation):
    """The simulation as the policy perceives it: each item is mistaken for the one at its index in the order."""

    def __init__(self, world: TableSimulation, order: np.ndarray) -> None:
        self._real, self._order = world, order

    def poses(self) -> np.ndarray:
        """Return the assumed poses of the items, (items, 3)."""
        return np.asarray(self._real.poses()[self._order])

    def below(self, x: float, y: float) -> tuple[int, float]:
        """Return the item that a descending tip would appear to touch, and its height."""
        item, height = self._real.below(x, y)
        return (int(np.flatnonzero(self._order == item)[0]) if item >= 0 else -1), height

    def predict(self, requested: np.ndarray) -> np.ndarray:
        """Return the assumed trajectories of the items under an action, (times, items, 3)."""
        return np.asarray(self._real.predict(requested)[:, self._order])


class FirstObject:
    """Flaw: ignores the prompt. Carries the first object of the observation to the second."""

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Do nothing."""

    def act(self, observation: TableObservation) -> np.ndarray:
        """Return one action, (1, 12)."""
        boxes = observation.objects("top").boxes
        first, second = (table_point(*boxes[min(number, len(boxes) - 1), :2]) for number in (0, 1))
        return action(first, second)[None]


class RandomPlaces:
    """Samples every action uniformly: pick position, place position and rotation."""

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Start the random stream of the episode."""
        self._stream = stream(spec.seed, "random places", spec.task)

    def act(self, observation: TableObservation) -> np.ndarray:
        """Return one action, (1, 12)."""
        x = self._stream.uniform(X_LOW, X_HIGH, 2)
        y = self._stream.uniform(Y_LOW, Y_HIGH, 2)
        turn = self._stream.uniform(-np.pi, np.pi)
        return action((x[0], y[0]), (x[1], y[1]), float(turn))[None]
