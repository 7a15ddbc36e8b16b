"""What a perturbation of the senses is: a value that puts a filter between the world and the policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import MISSING, dataclass, field, fields
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from assay.errors import PerturbationError
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
        for each in fields(self):
            if "valid" in each.metadata:
                self._check(each.name, *each.metadata["valid"], optional=each.default is None)

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The task itself."""
        return task

    @abstractmethod
    def begin(self, key: Key) -> Filter:
        """The filter of an episode whose random streams hang on ``key``."""

    def _check(self, name: str, low: float, high: float, *, optional: bool) -> None:
        value: Any = getattr(self, name)
        whole = isinstance(low, int)
        if optional and value is None:
            return
        number = isinstance(value, Integral if whole else Real)
        if not number or not low <= value <= high:
            valid = f"{'whole numbers ' if whole else ''}{low:g} to {high:g}"
            raise PerturbationError(f"{self.kind}: {name} is {value!r:.60}; valid: {valid}")


def within(low: float, high: float, default: Any = MISSING) -> Any:
    """A field for numbers from ``low`` to ``high``, whole if ``low`` is; and for None as the default."""
    return field(default=default, metadata={"valid": (low, high)})
