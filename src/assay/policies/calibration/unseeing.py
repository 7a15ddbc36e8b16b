"""A policy that does not look."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from assay import tasks
from assay.episodes import EpisodeSpec, rollout
from assay.policies.calibration.flawed import names_in
from assay.policies.control import control
from assay.policies.oracle.policy import Oracle
from assay.policies.simple import STILL
from assay.sim import Observation
from assay.sim.world import SceneEnv
from assay.tasks import Goal, Instruction


@dataclass
class Unseeing:
    """Flaw: sees nothing. Does what it is told with every thing where it stood at one start that it knows by heart.

    It understands the words as the oracle does, and plays the actions by which the oracle does what they ask for in
    the unperturbed scene, open-loop. That start is none of the episode's: the draw of another seed. Asked in other
    words for something that the unperturbed scene does not have, it waits.
    """

    known: int = 1000
    """The seed of the start that it knows by heart."""

    def attach(self, env: SceneEnv) -> None:
        """Take the task, to know what is asked for."""
        self._listener = Oracle()
        self._listener.attach(env)

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Recite what does it."""
        goal = self._listener.goal(instruction, spec)
        known = EpisodeSpec(spec.task, self.known, spec.pack, steps=spec.steps)
        usual = tasks.load(spec.task)
        if not names_in(goal) <= usual.scene.names:  # another room, or things that it has never met
            goal = usual.goal if instruction.text == usual.instruction.text else Goal(())
        self._actions = iter(recited(known, goal))

    def act(self, observation: Observation) -> np.ndarray:
        """The next action; after the last, wait."""
        return next(self._actions, STILL)[None]


@lru_cache(maxsize=256)
def recited(spec: EpisodeSpec, goal: Goal) -> np.ndarray:
    """The actions, (steps, 7), by which the oracle reaches a goal in a control; until it gives up, where it cannot."""
    usual = control(spec)
    usual.task = replace(usual.task, goal=goal)
    return rollout(usual, Oracle(), spec).trajectory.actions
