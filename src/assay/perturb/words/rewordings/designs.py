"""Perturbations that request another goal in the same scene, and sets of rewordings for experiments.

`OtherTask` changes the goal and the instruction, as LIBERO-PRO's *task* perturbation does: success means that the
policy followed the new instruction.

`Counterfactual` changes only the instruction. Success is still measured by the task's original goal, so a policy
that follows the instruction does *not* succeed, whereas a policy that replays the behaviour learnt for this scene
does: the success rate is the fraction of episodes in which the instruction was ignored. The requested goal is
stored in the perturbation and in the label ``asked_goal``. With either perturbation, the policy gets the same
scene, seed and text. A pair of episodes, one with each, therefore shows whether a behaviour followed the
instruction or was memorised.
"""

from __future__ import annotations

from dataclasses import replace

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
from assay.perturb.words.rewordings.goals import alternatives
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
class OtherTask(Perturbation):
    """Replaces the goal and the instruction with those of another task in the same scene."""

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
class Counterfactual(Perturbation):
    """Replaces the instruction with that of another goal in the scene; the original goal still defines success."""

    kind = "words/counterfactual"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING
    plausible = False
    """Whether success is expected; a policy that follows the instruction should not reach the measured goal."""

    text: str
    """New instruction."""
    goal: tuple[str, ...]
    """Atoms of the goal that the instruction requests."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Return the task with the other instruction. Raises PerturbationError if its goal does not fit the scene."""
        self.asked_goal(task)
        return replace(task, instruction=Instruction(self.text))

    def certified_as(self) -> Perturbation:
        """Return the `OtherTask` with the requested goal, which must be solvable."""
        return OtherTask(self.text, self.goal)

    def asked_goal(self, task: Task) -> Goal:
        """Return the goal that the instruction requests. Raises PerturbationError if it does not fit the scene."""
        return _goal(self.goal, task, self.kind)


def _goal(atoms: tuple[str, ...], task: Task, kind: str) -> Goal:
    try:
        goal = Goal(tuple(parse_atom(atom.split()) for atom in atoms))
    except TaskError as error:
        raise PerturbationError(f"{kind}: {task.id}: {error}") from None
    for flaw in flaws(task.scene, goal, ()):
        raise PerturbationError(f"{kind}: {task.id}: {flaw.place}: {flaw.reason}")
    return goal


LADDER: dict[str, Perturbation] = {
    "paraphrase": Semantic(),
    "synonyms": Synonyms(),
    "substitute": Substitute(),
    "shuffle": Shuffle(),
    "gobbledygook_words": GobbledygookWords(),
    "gobbledygook_tokens": GobbledygookTokens(),
    "xxx": Say("xxx", plausible=False),
    "empty": Mask(),
}
"""The corruption ladder: eight rewordings by name, each with less information than the previous one."""
LEVEL5: dict[str, Perturbation] = {
    "synonym": Synonyms(),
    "concise": Concise(),
    "reorder": Reorder(),
    "passive": Passive(),
    "verbose": Verbose(),
}
"""Rewordings of LIBERO-X's level 5 by name, in its order: sublevels 5-1 to 5-5."""
STYLES: dict[str, Perturbation] = {"telegraphic": Telegraphic(), "typos": Typos()}
"""Styles of hurried writing, by name."""

_OPPOSITES = ({Predicate.OPEN, Predicate.CLOSE}, {Predicate.TURN_ON, Predicate.TURN_OFF})
_PLACING = frozenset(
    {Predicate.ON, Predicate.IN, Predicate.EXACT_IN, Predicate.STACK, Predicate.UPRIGHT_ON, Predicate.SIDE_ON}
)
_WIDE = ("basket", "wooden_tray")
"""Categories of receptacles that can hold several objects."""


def compositions(task: Task) -> tuple[OtherTask, ...]:
    """Return the perturbations that each add a known, compatible goal in the scene to the task's goal."""
    own = task.goal.atoms
    return tuple(
        OtherTask(
            f"{task.instruction.text} and {other.text}",
            tuple(str(atom) for atom in dict.fromkeys((*own, *other.goal.atoms))),
        )
        for other in alternatives(task)
        if other.known_from is not None
        and not any(_collide(atom, second, task.scene) for atom in own for second in other.goal.atoms)
    )


def _collide(one: Atom, other: Atom, scene: Scene) -> bool:
    """Whether two goal atoms cannot hold at the same time, or reaching one obstructs the other."""
    if one == other:
        return False
    if one.predicate in _PLACING and other.predicate in _PLACING:
        carried = {one.arguments[0], other.arguments[0]}
        places = {scene.owner(one.arguments[1]), scene.owner(other.arguments[1])}
        if len(carried) == 1:
            return True
        if len(places) == 1:  # only a basket or a tray holds two objects at one place
            wide = {entity.name for entity in scene.entities if entity.category in _WIDE}
            return one.arguments[1] == other.arguments[1] and not places <= wide
        if carried & places:  # an object is carried while another stands on it
            return True
    return one.arguments == other.arguments and {one.predicate, other.predicate} in _OPPOSITES
