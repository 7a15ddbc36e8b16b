"""Perturbations of the senses, implemented as filters between the world and the policy."""

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
"""Key of the random streams of one perturbation in one episode."""


@dataclass(frozen=True, slots=True)
class Chance:
    """Random streams for one step, independent of the worker and of other random draws and their order."""

    key: Key
    """Key of the perturbation within its episode; for images, followed by the camera."""
    step: int
    """Number of control steps since the start of the episode."""

    def now(self) -> np.random.Generator:
        """Return a stream for effects that vary from step to step, for example image noise."""
        return stream(*self.key, "step", self.step)

    def lasting(self) -> np.random.Generator:
        """Return a stream for effects that are constant within an episode, for example dirt on a lens."""
        return stream(*self.key, "episode")


class Filter:
    """Effect of one perturbation in one episode. The base class changes nothing."""

    def observe(self, observation: Any) -> Any:
        """Return the observation for the policy; the original observation is not modified."""
        return observation

    def act(self, action: np.ndarray, step: int) -> np.ndarray:
        """Return the action to execute at a control step, (action size,), in place of the policy's action."""
        return action


@dataclass(frozen=True, slots=True)
class Sense(Perturbation):
    """A perturbation of the policy's observations or of the execution of its actions; the task is unchanged."""

    effects = frozenset({Effect.SENSES})
    change = Change.SENSES

    def apply(self, task: Any, rng: np.random.Generator) -> Any:
        """Return the task unchanged."""
        return task

    @abstractmethod
    def begin(self, key: Key) -> Filter:
        """Return the filter for an episode, with random streams keyed by ``key``."""


class Senses:
    """Applies perturbations of the senses in sequence to the policy's observations and actions.

    Other perturbations are ignored. Streams are keyed by kind and occurrence, so that adding a perturbation does
    not alter the random draws of the others.
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
        """Add a perturbation during the episode, to be applied after the existing ones. Always return True."""
        self._filters.append(sense.begin(key))
        return True

    def observe(self, observation: Any) -> Any:
        """Return the observation for the policy, without rendering any images."""
        for sense_filter in self._filters:
            observation = sense_filter.observe(observation)
        return observation

    def act(self, action: np.ndarray, step: int, *, absolute: bool = False) -> np.ndarray:
        """Return the action to execute in place of the policy's action. Call this once per control step.

        Raises PolicyError if the action is a pose (``absolute``) and a perturbation would change it.
        """
        for sense_filter in self._filters:
            if absolute and type(sense_filter).act is not Filter.act:
                raise PolicyError(
                    "the action is an absolute pose; perturbations of the actuators support only relative actions"
                )
            action = sense_filter.act(action, step)
        return action
