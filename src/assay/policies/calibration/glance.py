"""A policy that looks once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from assay.episodes import EpisodeSpec, horizon
from assay.policies.calibration.flawed import Flawed
from assay.policies.oracle.plan import ImpossibleError
from assay.policies.simple import STILL
from assay.sim import Observation, Simulation
from assay.tasks import Instruction


class Glance(Flawed):
    """Flaw: never looks again. Goes on as if everything were where it was when it was last told something.

    It thinks an episode through, as the oracle would do it, and then does what it thought. Told something else during
    the episode, it looks, and thinks again.
    """

    _actions: Iterator[np.ndarray]

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Think the episode through."""
        self._spec = spec
        self._actions = iter(self.thought(lambda: super(Glance, self).reset(instruction, spec)))

    def instruct(self, instruction: Instruction) -> bool:
        """Look, and think what is left through."""
        self._instruction = instruction
        self.attach(self._env)
        self._actions = iter(self.thought(self._plan_from_here))
        return True

    def act(self, observation: Observation) -> np.ndarray:
        """The next action it thought of; after the last, wait."""
        return next(self._actions, STILL)[None]

    def thought(self, plan: Callable[[], None]) -> Iterable[np.ndarray]:
        """The actions (7,) that a plan comes to, from the world as it is, in a simulation of its own."""
        real, thought = self._simulation, Simulation(self._simulation.compiled)
        thought.reset(real.state())
        self._simulation = thought
        plan()
        actions: list[np.ndarray] = []
        try:
            while len(actions) < horizon(self._spec) and not self._is_done(thought):
                actions.append(next(self._motion).astype(np.float32))  # as a rollout will have them
                thought.step(actions[-1])
        except StopIteration:
            pass
        except ImpossibleError as error:
            self._impossible = str(error)
        self._simulation = real
        return actions

    def _is_done(self, thought: Simulation) -> bool:
        return bool(self._goal.atoms) and thought.satisfied(self._goal)
