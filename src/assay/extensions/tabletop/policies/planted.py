"""Policies with known flaws, to calibrate the instrument."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.episodes import EpisodeSpec
from assay.extensions.tabletop.prompts.prompt import Prompt
from assay.extensions.tabletop.world.env import TableEnv
from assay.extensions.tabletop.world.goals import Put
from assay.extensions.tabletop.world.observation import TableObservation
from assay.extensions.tabletop.world.oracle import TableOracle
from assay.extensions.tabletop.world.render import table_point
from assay.extensions.tabletop.world.scene import X_HIGH, X_LOW, Y_HIGH, Y_LOW
from assay.extensions.tabletop.world.simulation import TableSimulation, action
from assay.support.streams import stream

_SAME_PLACE = 1e-6
"""Metres."""
_USUAL = Prompt("Do what is usually done here.")


class PromptBlind(TableOracle):
    """Flaw: ignores the prompt. Does what is usually asked for with what is on the table."""

    def attach(self, env: TableEnv) -> None:
        """Take what policies may not see."""
        super().attach(env)
        self._task = replace(env.task, asked=env.task.goal)
        self._own, self._progress = None, env.progress

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Begin an episode, with the prompt that it expects."""
        super().reset(_USUAL, spec)


class OrderFollower(TableOracle):
    """Flaw: follows the prompt, but knows objects only by their place in the order of the object tokens.

    In training that order was always the scene's, so it was enough.
    """

    def attach(self, env: TableEnv) -> None:
        """Take what policies may not see."""
        super().attach(env)
        self._table: TableSimulation = env.simulation

    def act(self, observation: TableObservation) -> np.ndarray:
        """One action, (1, 12), on the table as it takes it to be."""
        if self._world is self._table:
            self._world = _Mistaken(self._table, observation.objects("top").items)
        return super().act(observation)

    def _carry(self, put: Put) -> np.ndarray:
        for index, item in enumerate(self._task.scene.items):
            if item.fixed and np.hypot(item.x - put.x, item.y - put.y) < _SAME_PLACE:
                x, y, _ = self._world.poses()[index]
                return super()._carry(replace(put, x=float(x), y=float(y)))
        return super()._carry(put)


class _Mistaken:
    """A table on which each item is taken for the one that stands in its place of the order."""

    def __init__(self, world: TableSimulation, order: np.ndarray) -> None:
        self._real, self._order = world, order

    def poses(self) -> np.ndarray:
        """Where the items seem to be, (items, 3)."""
        return np.asarray(self._real.poses()[self._order])

    def below(self, x: float, y: float) -> tuple[int, float]:
        """What a tip coming down seems to touch, and how high that is."""
        item, height = self._real.below(x, y)
        return (int(np.flatnonzero(self._order == item)[0]) if item >= 0 else -1), height

    def foresee(self, given: np.ndarray) -> np.ndarray:
        """Where the items will seem to go, (times, items, 3)."""
        return np.asarray(self._real.foresee(given)[:, self._order])


class FirstObject:
    """Flaw: ignores the prompt. Carries the first object of the observation to the second."""

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Nothing to do."""

    def act(self, observation: TableObservation) -> np.ndarray:
        """One action, (1, 12)."""
        boxes = observation.objects("top").boxes
        first, second = (table_point(*boxes[min(number, len(boxes) - 1), :2]) for number in (0, 1))
        return action(first, second)[None]


class RandomPlaces:
    """Draws every action uniformly: from where, to where, turned by how much."""

    def reset(self, prompt: Prompt, spec: EpisodeSpec) -> None:
        """Begin the episode's stream."""
        self._stream = stream(spec.seed, "random places", spec.task)

    def act(self, observation: TableObservation) -> np.ndarray:
        """One action, (1, 12)."""
        x = self._stream.uniform(X_LOW, X_HIGH, 2)
        y = self._stream.uniform(Y_LOW, Y_HIGH, 2)
        turn = self._stream.uniform(-np.pi, np.pi)
        return action((x[0], y[0]), (x[1], y[1]), float(turn))[None]
