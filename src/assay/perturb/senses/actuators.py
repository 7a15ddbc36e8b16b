"""A robot that does not do quite what it is told."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from assay.episodes import Perturbation, perturbation
from assay.episodes.fields import within
from assay.episodes.senses import Chance, Filter, Key, Sense
from assay.errors import PerturbationError


@perturbation
@dataclass(frozen=True, slots=True)
class ActionNoise(Sense):
    """The arm is inaccurate: normal errors with these standard deviations, new at every step.

    They are added to the action within its limits; the gripper obeys.
    """

    kind = "senses/action_noise"

    translation: float = within(0.0, 1.0, default=0.0)
    """As a share of the largest command, which is 50 mm."""
    rotation: float = within(0.0, 1.0, default=0.0)
    """As a share of the largest command, which is 0.5 rad."""

    def __post_init__(self) -> None:
        Perturbation.__post_init__(self)
        if not (self.translation or self.rotation):
            raise PerturbationError(
                f"{self.kind}: nothing is changed; valid: a translation or rotation above 0"
            )

    def begin(self, key: Key) -> Filter:
        """The filter of an episode."""
        return _Inaccurate(self, key)


@perturbation
@dataclass(frozen=True, slots=True)
class ActionDelay(Sense):
    """Every action comes late; until the first one comes, the robot stays as it is."""

    kind = "senses/action_delay"

    steps: int = within(1, 40)
    """By how many control steps of 50 ms."""

    def begin(self, key: Key) -> Filter:
        """The filter of an episode."""
        return _Late(self.steps)


class _Inaccurate(Filter):
    def __init__(self, sense: ActionNoise, key: Key) -> None:
        self._scale, self._key = np.repeat([sense.translation, sense.rotation], 3), key

    def act(self, action: np.ndarray, step: int) -> np.ndarray:
        done = np.array(action, dtype=np.float64)
        noise = Chance(self._key, step).now().standard_normal(6)
        done[:6] = np.clip(done[:6], -1.0, 1.0) + noise * self._scale
        return done


class _Late(Filter):
    def __init__(self, steps: int) -> None:
        self._coming = deque([np.zeros(7)] * steps)  # a gripper's command of 0 leaves it as it is

    def act(self, action: np.ndarray, step: int) -> np.ndarray:
        self._coming.append(np.array(action))
        return self._coming.popleft()


DISTURBANCE = ActionNoise(translation=0.02, rotation=0.02)
"""Actuation noise of 1 mm and 10 mrad a step, under which a scene that can be solved should still be."""
