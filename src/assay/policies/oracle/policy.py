"""The oracle: a privileged policy that solves tasks with scripted skills."""

from __future__ import annotations

import numpy as np

from assay.episodes import At, EpisodeSpec
from assay.perturb.words.rewordings.designs import Counterfactual
from assay.policies.oracle.motion import OPEN, Motion, grip, move
from assay.policies.oracle.placing import put_back
from assay.policies.oracle.plan import pursue
from assay.policies.oracle.scene_state import SceneState
from assay.policies.simple import STILL
from assay.sim import Observation
from assay.sim.world import SceneEnv
from assay.tasks import Goal, Instruction

LIFTED_HEIGHT_M = 0.015
"""Minimum height above its initial position, in metres, of an object that counts as lifted."""


class Oracle:
    """Reads the simulator's state and makes the goal true, predicate by predicate (privileged).

    The goal comes from the task and the perturbations, not from the text: a counterfactual instruction changes it,
    and an implausible instruction or scene makes it empty. After an event in the episode, the oracle puts down any
    held object and plans again from the current state.
    """

    def attach(self, env: SceneEnv) -> None:
        """Store the simulation, the task and the folder of stored initial states."""
        self._env = env
        self._simulation, self._task, self._states = env.simulation, env.task, env.states

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Plan the episode."""
        self._instruction, self._spec = instruction, spec
        self._happened = self._env.happened
        self._goal = self.goal(instruction, spec)
        scene = SceneState(self._simulation)
        self._initial_poses = {entity.name: scene.pose(entity) for entity in scene.movable_objects}
        self._motion: Motion = pursue(scene, self._goal)

    def instruct(self, instruction: Instruction) -> bool:
        """Plan again for a new instruction."""
        self._instruction = instruction
        self.replan()
        return True

    def replan(self) -> None:
        """Plan again from the current state, after putting down any held object."""
        self.attach(self._env)
        self._plan_from_here()

    def _plan_from_here(self) -> None:
        self._happened = self._env.happened
        self._goal = self.goal(self._instruction, self._spec)
        self._motion = self._put_down_and_pursue()

    def _put_down_and_pursue(self) -> Motion:
        """Put a held object back at its initial pose, open the gripper, retreat, and pursue the goal."""
        scene = SceneState(self._simulation)
        for entity in scene.movable_objects:
            if entity.name in self._initial_poses and scene.fingers_touching(entity) == 2:
                origin, rotation = self._initial_poses[entity.name]
                if scene.pose(entity)[0][2] - origin[2] > LIFTED_HEIGHT_M:
                    yield from put_back(scene, entity, origin, rotation)
                yield from grip(scene, OPEN, steps=6)
                here, rotation = scene.gripper_pose()
                yield from move(scene, here + (0.0, 0.0, 0.06), rotation, OPEN, steps=12, near=0.02)
        return (yield from pursue(scene, self._goal))

    def act(self, observation: Observation) -> np.ndarray:
        """Return the next action of the plan, shape (1, 7), or the waiting action after the last one."""
        if self._env.happened != self._happened:
            self.replan()
        return next(self._motion, STILL)[None]

    @property
    def note(self) -> str:
        """Atoms of the goal that do not hold."""
        missed = [atom for atom in self._goal.atoms if not self._simulation.holds(atom)]
        return f"not reached: {Goal(tuple(missed))}" if missed else ""

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """Return the goal of the episode's instruction; empty if the instruction or the scene is implausible."""
        goal = self._task.goal
        for perturbation in spec.perturbations:
            if isinstance(perturbation, Counterfactual):
                goal = perturbation.asked_goal(self._task)
            elif not perturbation.plausible and not isinstance(perturbation, At):
                goal = Goal(())  # an event (`At`) does not count, because it has not happened yet
        return goal
