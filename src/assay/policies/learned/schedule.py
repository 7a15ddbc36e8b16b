"""How long a training goes on, how far it is, and its learning rate on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass

_WARM_UP = 0.03
"""The share of the training in which the rate rises."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long to train: until one of both is used up."""

    steps: int = 0
    """Batches; 0 for any number."""
    minutes: float = 0.0
    """0 for any time."""
    batch: int = 64
    rate: float = 1.5e-3

    def share(self, step: int, seconds: float) -> float:
        """How much of it is over, from 0 to 1."""
        by_steps = step / self.steps if self.steps else 0.0
        by_time = seconds / (60 * self.minutes) if self.minutes else 0.0
        return min(1.0, max(by_steps, by_time))

    def rate_at(self, share: float) -> float:
        """The learning rate once a share of it is over: up, then down along a cosine."""
        if share < _WARM_UP:
            return self.rate * max(share / _WARM_UP, 0.02)
        return self.rate * (0.5 + 0.5 * math.cos(math.pi * (share - _WARM_UP) / (1 - _WARM_UP)))


@dataclass(frozen=True, slots=True)
class Progress:
    """How far it is."""

    step: int
    share: float
    loss: float
    """The mean of late."""

    def next(self, share: float, loss: float) -> Progress:
        """After one more step."""
        late = loss if math.isnan(self.loss) else 0.98 * self.loss + 0.02 * loss
        return Progress(self.step + 1, share, late)


BEGUN = Progress(0, 0.0, math.nan)
