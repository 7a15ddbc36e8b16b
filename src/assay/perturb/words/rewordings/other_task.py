"""Asking for something else in the same scene.

`OtherTask` changes the goal and the instruction, as LIBERO-PRO's *task* perturbation does: success means that
the policy did what it was asked for.

`Counterfactual` changes the instruction alone. The episode is still judged by the task's own goal, so that a
policy that obeys does *not* succeed, and one that replays what it has learnt for this scene does: the success
rate is the share of episodes in which the words were not listened to. What was asked is in the perturbation,
and in the label ``asked_goal``. Both give a policy the same scene, seed and text; so an episode of the one
and its twin of the other say of one behaviour whether it was obedience and whether it was memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.errors import PerturbationError, TaskError
from assay.perturb.words.rewordings.goals import Alternative
from assay.tasks import Goal, Instruction, Task
from assay.tasks.checks import atom, flaws


@perturbation
@dataclass(frozen=True, slots=True)
class OtherTask(Perturbation):
    """Another goal in the same scene, with its instruction."""

    kind = "words/other_task"
    effects = frozenset({Effect.WORDS, Effect.GOAL})
    change = Change.TASK
    sets_vocabulary = True

    text: str
    """The instruction."""
    goal: tuple[str, ...]
    """The goal's atoms: ``("On plate_1 flat_stove_1_cook_region",)``."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The other task. Raises PerturbationError where its goal does not fit the scene."""
        goal = _goal(self.goal, task, self.kind)
        names = dict.fromkeys(name for each in goal.atoms for name in each.arguments)
        return replace(task, goal=goal, instruction=Instruction(self.text), of_interest=tuple(names))


@perturbation
@dataclass(frozen=True, slots=True)
class Counterfactual(Perturbation):
    """The instruction of another goal in the same scene; the task's own goal still counts."""

    kind = "words/counterfactual"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING
    plausible = False
    """A policy that understands should not reach the goal that is measured."""

    text: str
    """The instruction."""
    goal: tuple[str, ...]
    """The atoms of the goal that the instruction asks for."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The task with the other instruction. Raises PerturbationError where its goal does not fit."""
        self.asked_goal(task)
        return replace(task, instruction=Instruction(self.text))

    def certified_as(self) -> Perturbation:
        """What is asked for is what must be possible."""
        return OtherTask(self.text, self.goal)

    def asked_goal(self, task: Task) -> Goal:
        """What the instruction asks for. Raises PerturbationError where that does not fit the scene."""
        return _goal(self.goal, task, self.kind)


def fields_of(alternative: Alternative) -> tuple[str, tuple[str, ...]]:
    """An alternative as the fields of a perturbation."""
    return alternative.text, tuple(str(each) for each in alternative.goal.atoms)


def _goal(atoms: tuple[str, ...], task: Task, kind: str) -> Goal:
    try:
        goal = Goal(tuple(atom(each.split() or [""]) for each in atoms))
    except TaskError as error:
        raise PerturbationError(f"{kind}: {task.id}: {error}") from None
    for flaw in flaws(task.scene, goal, ()):
        raise PerturbationError(f"{kind}: {task.id}: {flaw.place}: {flaw.reason}")
    return goal
