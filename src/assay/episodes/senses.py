"""Perturbations of the senses: values that put a filter between the world and the policy."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.episodes.perturbation import Change, Effect, Perturbation
from assay.errors import PolicyError
from assay.support.streams import stream

Key = tuple[str | int, ...]
"""The key of the random streams of one perturbation in one episode."""


@dataclass(frozen=True, slots=True)
class Chance:
    """The random streams of one step; they do not depend on other draws, their order, or the worker."""

    key: Key
    """Of the perturbation in its episode and, for an image, of the camera."""
    step: int
    """Control steps since the start."""

    def now(self) -> np.random.Generator:
        """For what is another at every step, as the grain of an image."""
        return stream(*self.key, "step", self.step)

    def lasting(self) -> np.random.Generator:
        """For what stays as it is in an episode, as dirt on a lens."""
        return stream(*self.key, "episode")


class Filter:
    """What one perturbation does in one episode. This one lets everything through."""

    def observe(self, observation: Any) -> Any:
        """What the policy gets in place of an observation; the observation itself stays as it is."""
        return observation

    def act(self, action: np.ndarray, step: int) -> np.ndarray:
        """What the robot does in place of an action, (action size,), at a control step."""
        return action


@dataclass(frozen=True, slots=True)
class Sense(Perturbation):
    """A perturbation of what the policy senses or of how it is obeyed. The task stays as it is."""

    effects = frozenset({Effect.SENSES})
    change = Change.SENSES

    def apply(self, task: Any, rng: np.random.Generator) -> Any:
        """The task itself."""
        return task

    @abstractmethod
    def begin(self, key: Key) -> Filter:
        """The filter of an episode; its random streams are keyed by ``key``."""


class Senses:
    """Passes observations on to the policy and actions on to the robot, changed by perturbations in turn.

    Other perturbations are ignored. Streams are keyed by kind and occurrence, so that adding a perturbation does not
    alter the draws of another.
    """

    def __init__(self, perturbations: Iterable[Perturbation], *, task: str, seed: int) -> None:
        self._filters: list[Filter] = []
        before: Counter[str] = Counter()
        for perturbation in perturbations:
            if isinstance(perturbation, Sense):
                self._filters.append(
                    perturbation.begin((seed, "senses", task, perturbation.kind, before[perturbation.kind]))
                )
                before[perturbation.kind] += 1

    def add(self, sense: Sense, key: Key) -> bool:
        """Let a perturbation begin now, during the episode, behind the others; it can at any time."""
        self._filters.append(sense.begin(key))
        return True

    def observe(self, observation: Any) -> Any:
        """What the policy gets in place of an observation. Nothing is rendered."""
        for sense_filter in self._filters:
            observation = sense_filter.observe(observation)
        return observation

    def act(self, action: np.ndarray, step: int, *, absolute: bool = False) -> np.ndarray:
        """What the robot does in place of an action at a control step. To be called once a step.

        Raises PolicyError where the action is a pose to go to, ``absolute``, and something would change it.
        """
        for sense_filter in self._filters:
            if absolute and type(sense_filter).act is not Filter.act:
                raise PolicyError(
                    "the action is a pose to go to; valid with actuators that are late or inaccurate: motions"
                )
            action = sense_filter.act(action, step)
        return action
