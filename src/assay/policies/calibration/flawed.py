"""The oracle's skills in the hands of somebody who mistakes what is asked."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from assay import tasks
from assay.episodes import EpisodeSpec
from assay.policies.oracle.plan import ImpossibleError
from assay.policies.oracle.policy import Oracle
from assay.policies.simple import STILL
from assay.sim import Observation
from assay.sim.compile import EntityIndex
from assay.tasks import Atom, Goal, Instruction, Task


class Flawed(Oracle):
    """Pursues a goal of its own making with the oracle's skills.

    What it takes to be the goal may be out of reach where the scene was changed; then it waits, and the
    episode is a failure and not an error.
    """

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Plan anew."""
        self._impossible = ""
        super().reset(instruction, spec)

    def look_again(self) -> None:
        """Plan anew."""
        self._impossible = ""
        super().look_again()

    def act(self, observation: Observation) -> np.ndarray:
        """The next action; waits where there is nothing it could do."""
        try:
            return super().act(observation)
        except ImpossibleError as error:
            self._impossible = str(error)
            return STILL[None]

    @property
    def note(self) -> str:
        """What it took to be the goal and could not do."""
        return self._impossible or super().note

    def known_tasks(self, spec: EpisodeSpec) -> list[Task]:
        """The tasks known beside the episode's own that can be asked for in this scene; its own first."""
        names = self._simulation.compiled.scene.names
        own = tasks.load(spec.task)
        others = [task for task in tasks.siblings(own) if task.id != own.id]
        return [own, *(task for task in others if names_in(task.goal) <= names)]

    def movables(self) -> list[EntityIndex]:
        """The things of the scene that can be moved, by name."""
        entities = self._simulation.compiled.entities
        return [entities[name] for name in sorted(entities) if entities[name].movable]


def names_in(goal: Goal) -> set[str]:
    """Every name a goal uses."""
    return {name for atom in goal.atoms for name in atom.arguments}


def renamed(goal: Goal, names: Mapping[str, str]) -> Goal:
    """A goal about other things: the first argument of each atom exchanged where ``names`` has it."""
    return Goal(
        tuple(
            Atom(atom.predicate, (names.get(atom.arguments[0], atom.arguments[0]), *atom.arguments[1:]))
            for atom in goal.atoms
        )
    )
