"""A policy that knows what to do and misses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from assay.errors import PolicyError
from assay.policies.calibration.glance import Glance
from assay.policies.oracle.motion import CLOSED, OPEN
from assay.support.streams import stream

LATE = 15
"""Control steps by which its fingers are late when it misses: the hand has left the thing by then."""

GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
"""Multiples of it spread evenly between whole numbers: a few seeds show the share of misses."""


@dataclass
class Clumsy(Glance):
    """Flaw: closes its hand too late now and then, and carries on with nothing in it.

    It thinks an episode through, as the oracle would do it, and then does what it thought, without looking
    again. Whether it misses hangs on task, condition and seed. What need not be held, as a drawer that is
    pushed, it does not miss.
    """

    miss: float = 0.5
    """The share of episodes in which it misses."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.miss <= 1.0:
            raise PolicyError(f"miss={self.miss:g}: valid: 0 to 1 (the share of episodes)")

    def thought(self, plan: Callable[[], None]) -> Iterable[np.ndarray]:
        """The same, with its fingers late where it misses."""
        actions = list(super().thought(plan))
        phase = stream("clumsy", self._spec.task, self._spec.condition).random()
        misses = (phase + GOLDEN * self._spec.seed) % 1.0 < self.miss
        return _late(np.array(actions)) if actions and misses else actions


def _late(actions: np.ndarray) -> np.ndarray:
    """Actions (steps, 7) with every closing of the hand so much later."""
    late = actions.copy()
    for start in np.flatnonzero(np.diff(actions[:, 6], prepend=OPEN) == CLOSED - OPEN):
        late[start : start + LATE, 6] = OPEN
    return late
