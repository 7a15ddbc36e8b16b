"""The oracle as a policy, and what it lends to policies that know less."""

from __future__ import annotations

import numpy as np

from assay.episodes import At, EpisodeSpec
from assay.perturb.words.rewordings import Counterfactual
from assay.policies.oracle.motion import Motion
from assay.policies.oracle.plan import pursue
from assay.policies.oracle.recovery import Stood, set_down, standing
from assay.policies.oracle.sight import Sight
from assay.policies.simple import STILL
from assay.sim import Observation
from assay.sim.world import SceneEnv
from assay.tasks import Goal, Instruction


class Oracle:
    """Reads the simulator's state and does what is asked for, predicate by predicate (privileged).

    It needs no words to know the goal, but it listens: asked for something else it does that, and told
    nothing that makes sense it does nothing. When something happens during the episode, it sets down what it holds and
    plans anew, from the world as it is then.
    """

    def attach(self, env: SceneEnv) -> None:
        """Take the simulation, the task and, for those who remember it, where its control starts."""
        self._env = env
        self._simulation, self._task, self._states = env.simulation, env.task, env.states

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Plan anew."""
        self._instruction, self._spec = instruction, spec
        self._happened = self._env.happened
        self._goal = self.goal(instruction, spec)
        sight = self.sight(spec)
        self._stood: Stood = standing(sight)
        self._motion: Motion = pursue(sight, self._goal)

    def instruct(self, instruction: Instruction) -> bool:
        """Plan anew for another request."""
        self._instruction = instruction
        self.replan()
        return True

    def replan(self) -> None:
        """Plan anew after something happened, with what is held set down first."""
        self.attach(self._env)
        self._plan_from_here()

    def _plan_from_here(self) -> None:
        self._happened = self._env.happened
        self._goal = self.goal(self._instruction, self._spec)
        self._motion = _from_here(self.sight(self._spec), self._stood, self._goal)

    def act(self, observation: Observation) -> np.ndarray:
        """The next action of the plan; once it is over, wait."""
        if self._env.happened != self._happened:
            self.replan()
        return next(self._motion, STILL)[None]

    @property
    def note(self) -> str:
        """What it has not reached."""
        missed = [atom for atom in self._goal.atoms if not self._simulation.holds(atom)]
        return f"not reached: {Goal(tuple(missed))}" if missed else ""

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """What is asked for: the task's goal, or another; nothing, if words or scene make no sense."""
        asked = self._task.goal
        for perturbation in spec.perturbations:
            if isinstance(perturbation, Counterfactual):
                asked = perturbation.asked_goal(self._task)
            elif not perturbation.plausible and not isinstance(
                perturbation, At
            ):  # until it happens, all makes sense
                asked = Goal(())
        return asked

    def sight(self, spec: EpisodeSpec) -> Sight:
        """What it sees."""
        return Sight(self._simulation)


def _from_here(sight: Sight, stood: Stood, goal: Goal) -> Motion:
    yield from set_down(sight, stood)
    return (yield from pursue(sight, goal))
