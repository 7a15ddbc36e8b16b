"""Other requests in the same scene, and sets of rewordings for experiments.

`OtherTask` changes the goal and the instruction, as LIBERO-PRO's *task* perturbation does: success means that the
policy followed the new instruction.

`Counterfactual` changes the instruction alone. Success is still measured by the task's own goal, so a policy that
follows the instruction does *not* succeed, and one that replays the behaviour learnt for this scene does: the success
rate is the share of episodes in which the instruction was ignored. The requested goal is in the perturbation, and in
the label ``asked_goal``. Both perturbations give a policy the same scene, seed and text, so a pair of their episodes
shows whether a behaviour followed the instruction and whether it was memorised.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.errors import PerturbationError, TaskError
from assay.perturb.words.rewordings.corrupted import (
    GobbledygookTokens,
    GobbledygookWords,
    Shuffle,
    Substitute,
    Typos,
)
from assay.perturb.words.rewordings.goals import Alternative, _owner, alternatives
from assay.perturb.words.rewordings.sentences import (
    Concise,
    Passive,
    Reorder,
    Semantic,
    Synonyms,
    Telegraphic,
    Verbose,
)
from assay.perturb.words.text import Mask, Say
from assay.tasks import Atom, Goal, Instruction, Predicate, Scene, Task
from assay.tasks.checks import flaws, parse_atom


@perturbation
@dataclass(frozen=True, slots=True)
class OtherTask(Perturbation):
    """Requests another goal in the same scene, with its instruction."""

    kind = "words/other_task"
    effects = frozenset({Effect.WORDS, Effect.GOAL})
    change = Change.TASK
    sets_vocabulary = True

    text: str
    """New instruction."""
    goal: tuple[str, ...]
    """Atoms of the new goal: ``("On plate_1 flat_stove_1_cook_region",)``."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Return the other task. Raises PerturbationError if its goal does not fit the scene."""
        goal = _goal(self.goal, task, self.kind)
        names = dict.fromkeys(name for atom in goal.atoms for name in atom.arguments)
        return replace(task, goal=goal, instruction=Instruction(self.text), of_interest=tuple(names))


@perturbation
@dataclass(frozen=True, slots=True)
class Counterfactual(Perturbation):
    """Gives the instruction of another goal in the same scene; success is still measured by the task's own goal."""

    kind = "words/counterfactual"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING
    plausible = False
    """Whether success is expected: a policy that follows the instruction should not reach the measured goal."""

    text: str
    """New instruction."""
    goal: tuple[str, ...]
    """Atoms of the goal that the instruction requests."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Return the task with the other instruction. Raises PerturbationError if its goal does not fit the scene."""
        self.asked_goal(task)
        return replace(task, instruction=Instruction(self.text))

    def certified_as(self) -> Perturbation:
        """Return the `OtherTask` with the requested goal, which is the one that must be solvable."""
        return OtherTask(self.text, self.goal)

    def asked_goal(self, task: Task) -> Goal:
        """Return the goal that the instruction requests. Raises PerturbationError if it does not fit the scene."""
        return _goal(self.goal, task, self.kind)


def fields_of(alternative: Alternative) -> tuple[str, tuple[str, ...]]:
    """Return the fields of a perturbation for an alternative."""
    return alternative.text, tuple(str(atom) for atom in alternative.goal.atoms)


def _goal(atoms: tuple[str, ...], task: Task, kind: str) -> Goal:
    try:
        goal = Goal(tuple(parse_atom(atom.split() or [""]) for atom in atoms))
    except TaskError as error:
        raise PerturbationError(f"{kind}: {task.id}: {error}") from None
    for flaw in flaws(task.scene, goal, ()):
        raise PerturbationError(f"{kind}: {task.id}: {flaw.place}: {flaw.reason}")
    return goal


Label = str | int | bool | None


@dataclass(frozen=True, slots=True)
class Rewording:
    """A rewording of a task in an experiment."""

    name: str
    """Name, unique in its design and valid as the name of a condition."""
    perturbation: Perturbation
    plausible: bool
    labels: dict[str, Label] = field(default_factory=dict)
    """Labels for the measures, including ``plausible``."""


def _design(numbered: str, *rewordings: tuple[str, Perturbation, bool]) -> tuple[Rewording, ...]:
    """Return rewordings with a label that numbers them from 1."""
    return tuple(
        Rewording(name, change, plausible, {"plausible": plausible, numbered: number})
        for number, (name, change, plausible) in enumerate(rewordings, start=1)
    )


LADDER = _design(
    "rung",
    ("paraphrase", Semantic(), True),
    ("synonyms", Synonyms(), True),
    ("substitute", Substitute(), False),
    ("shuffle", Shuffle(), False),
    ("gobbledygook_words", GobbledygookWords(), False),
    ("gobbledygook_tokens", GobbledygookTokens(), False),
    ("xxx", Say("xxx", plausible=False), False),
    ("empty", Mask(), False),
)
"""The corruption ladder: decreasing information in the instruction, from rung 1 to rung 8."""
LEVEL5 = _design(
    "form",
    ("synonym", Synonyms(), True),
    ("concise", Concise(), True),
    ("reorder", Reorder(), True),
    ("passive", Passive(), True),
    ("verbose", Verbose(), True),
)
"""LIBERO-X's level 5, in its order: 5-1 to 5-5."""
SEMANTIC = _design("variant", ("semantic", Semantic(), True))
"""LIBERO-PRO's semantic perturbation."""
STYLES = _design("style", ("telegraphic", Telegraphic(), True), ("typos", Typos(), True))
"""Styles of hurried writing."""


def other_tasks(task: Task, change: type[OtherTask | Counterfactual] = OtherTask) -> tuple[Rewording, ...]:
    """Return every other goal known for the scene or derived from the task's own, with its instruction.

    The numbering is the same for both changes: of two episodes with one number and one seed, `OtherTask` shows
    whether the policy followed the instruction, and `Counterfactual` whether it replayed its training.
    """
    return to_rewordings(alternatives(task), change)


def to_rewordings(
    others: tuple[Alternative, ...], change: type[OtherTask | Counterfactual] = OtherTask
) -> tuple[Rewording, ...]:
    """Turn other goals into perturbations, numbered from 1."""
    plausible = change is OtherTask
    name = "task" if plausible else "counterfactual"
    return tuple(
        Rewording(
            f"{name}_{number}",
            change(*fields_of(other)),
            plausible,
            {"plausible": plausible, "asked_goal": str(other.goal), "asked_from": other.known_from},
        )
        for number, other in enumerate(others, start=1)
    )


_OPPOSITES = (
    {Predicate.OPEN, Predicate.CLOSE},
    {Predicate.TURN_ON, Predicate.TURN_OFF},
)
_PLACING = frozenset(
    {Predicate.ON, Predicate.IN, Predicate.EXACT_IN, Predicate.STACK, Predicate.UPRIGHT_ON, Predicate.SIDE_ON}
)


def compositions(task: Task) -> tuple[OtherTask, ...]:
    """Return combinations of a task with each known, compatible goal in its scene, as one instruction."""
    return tuple(
        OtherTask(
            f"{task.instruction.text} and {other.text}",
            tuple(str(atom) for atom in dict.fromkeys((*task.goal.atoms, *other.goal.atoms))),
        )
        for other in companions(task)
    )


def companions(task: Task) -> tuple[Alternative, ...]:
    """Return the known goals that are compatible with a task's own, as far as their atoms show."""
    return tuple(
        alternative
        for alternative in alternatives(task)
        if alternative.known_from is not None
        and not any(
            _collide(atom, other, task.scene) for atom in task.goal.atoms for other in alternative.goal.atoms
        )
    )


def _collide(one: Atom, other: Atom, scene: Scene) -> bool:
    """Whether two atoms cannot hold together, or one obstructs the other."""
    if one == other:
        return False
    placing = one.predicate in _PLACING and other.predicate in _PLACING
    if placing and one.arguments[0] == other.arguments[0]:
        return True
    # Two things in one place, and what is carried while something stands on it, are left to those who know.
    if placing and _owner(scene, one.arguments[1]) == _owner(scene, other.arguments[1]):
        return one.arguments[1] == other.arguments[1] and _owner(scene, one.arguments[1]) not in _wide(scene)
    if placing and {one.arguments[0], other.arguments[0]} & {
        _owner(scene, one.arguments[1]),
        _owner(scene, other.arguments[1]),
    }:
        return True
    same = one.arguments == other.arguments
    return same and {one.predicate, other.predicate} in _OPPOSITES


def _wide(scene: Scene) -> set[str]:
    """Return the names of entities that hold several objects."""
    return {entity.name for entity in scene.entities if entity.category in ("basket", "wooden_tray")}
