"""What a perturbation of the senses is: a value that puts a filter between the world and the policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from assay.perturb.fields import check
from assay.sim import Observation
from assay.streams import stream
from assay.tasks import Task

Key = tuple[str | int, ...]
"""What the random streams of one perturbation in one episode hang on."""


@dataclass(frozen=True, slots=True)
class Chance:
    """The random streams of one step: the same whatever else was drawn, in whatever order, on any worker."""

    key: Key
    """Of the perturbation in its episode and, for a picture, of the camera."""
    step: int
    """Control steps since the start."""

    def now(self) -> np.random.Generator:
        """For what is another at every step, as the grain of a picture."""
        return stream(*self.key, "step", self.step)

    def lasting(self) -> np.random.Generator:
        """For what stays as it is in an episode, as dirt on a lens."""
        return stream(*self.key, "episode")


class Filter:
    """What one perturbation does in one episode. This one lets everything through."""

    def observe(self, observation: Observation) -> Observation:
        """What the policy gets in place of an observation; the observation itself stays as it is."""
        return observation

    def act(self, action: np.ndarray, step: int) -> np.ndarray:
        """What the robot does in place of an action (7,), in [-1, 1], at a control step."""
        return action


@dataclass(frozen=True, slots=True)
class Sense(ABC):
    """A perturbation of what the policy senses or of how it is obeyed. The task stays as it is."""

    kind: ClassVar[str]
    rebuilds: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check(self)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The task itself."""
        return task

    @abstractmethod
    def begin(self, key: Key) -> Filter:
        """The filter of an episode whose random streams hang on ``key``."""
