"""A policy that knows what to do and misses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.episodes import EpisodeSpec, horizon
from assay.errors import PolicyError
from assay.policies.calibration.flawed import Flawed
from assay.policies.oracle.motion import CLOSED, OPEN
from assay.policies.simple import STILL
from assay.sim import Observation, Simulation
from assay.streams import stream
from assay.tasks import Instruction

LATE = 15
"""Control steps by which its fingers are late when it misses: the hand has left the thing by then."""

GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
"""Multiples of it spread evenly between whole numbers: a few seeds show the share of misses."""


@dataclass
class Clumsy(Flawed):
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

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Think the episode through."""
        real, thought = self._simulation, Simulation(self._simulation.compiled)
        seen = thought.reset(real.state())
        self._simulation = thought
        super().reset(instruction, spec)
        actions: list[np.ndarray] = []
        while self._goal.atoms and len(actions) < horizon(spec) and not thought.satisfied(self._goal):
            actions.append(super().act(seen)[0].astype(np.float32))  # as a rollout will have them
            seen = thought.step(actions[-1])
        self._simulation = real
        phase = stream("clumsy", spec.task, spec.condition).random()
        misses = (phase + GOLDEN * spec.seed) % 1.0 < self.miss
        self._actions = iter(_late(np.array(actions)) if actions and misses else actions)

    def act(self, observation: Observation) -> np.ndarray:
        """The next action it thought of; after the last, wait."""
        return next(self._actions, STILL)[None]


def _late(actions: np.ndarray) -> np.ndarray:
    """Actions (steps, 7) with every closing of the hand so much later."""
    late = actions.copy()
    for start in np.flatnonzero(np.diff(actions[:, 6], prepend=OPEN) == CLOSED - OPEN):
        late[start : start + LATE, 6] = OPEN
    return late
