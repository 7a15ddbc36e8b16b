"""Base class of policies with a planted flaw: the oracle's skills, applied to a goal that may be wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from assay import tasks
from assay.episodes import EpisodeSpec
from assay.policies.oracle.policy import ImpossibleError, Oracle
from assay.policies.simple import STILL
from assay.sim import Observation
from assay.sim.compile import EntityIndex
from assay.sim.world import SceneEnv
from assay.tasks import Atom, Goal, Task


class FlawedPolicy(Oracle):
    """Pursues the goal returned by its `goal` method, using the oracle's skills.

    The goal may be impossible in a changed scene. In that case the policy waits, so that the episode counts as a
    failure rather than an error.
    """

    def attach(self, env: SceneEnv) -> None:
        """Store the environment, and discard the reason why the last goal was impossible."""
        self._impossible = ""
        super().attach(env)

    def act(self, observation: Observation) -> np.ndarray:
        """Return the next action, shape (1, 7), or the waiting action if the goal is impossible."""
        try:
            return super().act(observation)
        except ImpossibleError as error:
            self._impossible = str(error)
            return STILL[None]

    @property
    def note(self) -> str:
        """Reason why the goal was impossible, or the atoms that were not achieved."""
        return self._impossible or super().note

    def trained_tasks(self, spec: EpisodeSpec) -> list[Task]:
        """Return the episode's task, followed by other tasks of its original scene whose objects still exist."""
        names = self._simulation.compiled.scene.names
        own = tasks.load(spec.task)
        others = [task for task in tasks.siblings(own) if task.id != own.id]
        return [own, *(task for task in others if names_in(task.goal) <= names)]

    def movable_objects(self) -> list[EntityIndex]:
        """Return the movable objects of the scene, sorted by name."""
        entities = self._simulation.compiled.entities
        return [entities[name] for name in sorted(entities) if entities[name].movable]


class OpenLoopPolicy:
    """Executes a precomputed sequence of actions, then waits."""

    _actions: Iterator[np.ndarray]

    def act(self, observation: Observation) -> np.ndarray:
        """Return the next action, shape (1, 7), or the waiting action after the last one."""
        return next(self._actions, STILL)[None]


def names_in(goal: Goal) -> set[str]:
    """Return all entity and region names that occur in a goal."""
    return {name for atom in goal.atoms for name in atom.arguments}


def replace_objects(goal: Goal, names: Mapping[str, str]) -> Goal:
    """Return a goal with the first argument of each atom replaced according to ``names``."""
    return Goal(
        tuple(
            Atom(atom.predicate, (names.get(atom.arguments[0], atom.arguments[0]), *atom.arguments[1:]))
            for atom in goal.atoms
        )
    )
