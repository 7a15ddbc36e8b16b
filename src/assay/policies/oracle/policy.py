"""The oracle as a policy, and what it lends to policies that know less."""

from __future__ import annotations

import numpy as np

from assay.episodes import EpisodeSpec
from assay.perturb.words.rewordings import Counterfactual
from assay.policies.oracle.motion import Motion
from assay.policies.oracle.plan import pursue
from assay.policies.oracle.sight import Sight
from assay.policies.simple import STILL
from assay.sim import Observation
from assay.sim.world import SceneEnv
from assay.tasks import Goal, Instruction


class Oracle:
    """Reads the simulator's state and does what is asked for, predicate by predicate (privileged).

    It needs no words to know the goal, but it listens: asked for something else it does that, and told
    nothing that makes sense it does nothing.
    """

    def attach(self, env: SceneEnv) -> None:
        """Take the simulation, the task and, for those who remember it, where its control starts."""
        self._simulation, self._task, self._states = env.simulation, env.task, env.states

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Plan anew."""
        self._goal = self.goal(instruction, spec)
        self._motion: Motion = pursue(self.sight(spec), self._goal)

    def act(self, observation: Observation) -> np.ndarray:
        """The next action of the plan; once it is over, wait."""
        return next(self._motion, STILL)[None]

    @property
    def note(self) -> str:
        """What it has not reached."""
        missed = [atom for atom in self._goal.atoms if not self._simulation.holds(atom)]
        return f"not reached: {Goal(tuple(missed))}" if missed else ""

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """What is asked for: the task's goal, or another; nothing, if words or scene make no sense."""
        asked = self._task.goal
        for each in spec.perturbations:
            if isinstance(each, Counterfactual):
                asked = each.asked_goal(self._task)
            elif not each.plausible:
                asked = Goal(())
        return asked

    def sight(self, spec: EpisodeSpec) -> Sight:
        """What it sees."""
        return Sight(self._simulation)
