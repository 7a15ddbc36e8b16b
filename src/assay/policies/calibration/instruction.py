"""Policies with a flaw in understanding the instruction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from assay import tasks
from assay.episodes import EpisodeSpec
from assay.policies.calibration.flawed import FlawedPolicy, names_in, replace_objects
from assay.tasks import Atom, Entity, Goal, Instruction, Predicate, Task
from assay.tasks.language.lexicon import mentions, names_of, words
from assay.tasks.scene import Finish

MISSING_OBJECT = "nothing"
"""Name of the wrong object in a scene without other objects; no entity has this name, so the goal is impossible."""
FUNCTION_WORDS = frozenset(
    words("a an and at both for from i in into is it me my of onto or please so that the then to up you")
)
"""Words that do not distinguish tasks."""
OPPOSITES = {"on": "off", "off": "on", "open": "close", "close": "open"}


class BlindPolicy(FlawedPolicy):
    """Flaw: ignores the instruction and performs the unperturbed task, wherever the objects are.

    The goal is that of the unperturbed task. If one of its objects has been replaced, the policy uses another object
    with the original appearance if the scene contains one. It perceives the scene as the oracle does.
    """

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """Return the goal of the unperturbed task, applied to objects with the original appearance."""
        trained = tasks.load(spec.task)
        objects = self._task.scene.objects
        by_appearance = {_appearance(entity): entity.name for entity in reversed(objects)}
        changed = (entity for entity in trained.scene.objects if entity not in objects)
        return replace_objects(
            trained.goal,
            {entity.name: by_appearance.get(_appearance(entity), entity.name) for entity in changed},
        )


def _appearance(entity: Entity) -> tuple[str, Finish, float]:
    return entity.category, entity.finish, entity.size


@dataclass
class KeywordPolicy(FlawedPolicy):
    """Flaw: knows only the words of the training instructions.

    Among the tasks trained in this scene, the policy performs the one that shares the most words with the
    instruction. If the trained name of an object does not occur verbatim in the instruction, the policy uses a
    wrong object instead, always the same one. It waits if too few words match.
    """

    least: float = 0.3
    """Minimum fraction of a trained instruction's words that the instruction must contain for the policy to act."""

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """Return the goal of the best-matching task, with a wrong object for each unnamed one, or no goal."""
        text = instruction.text
        overlap, match = max(
            ((word_overlap(text, task.instruction.text), task) for task in self.trained_tasks(spec)),
            key=lambda scored: scored[0],
        )
        if overlap < self.least:
            return Goal(())
        return Goal(tuple(self._confuse(atom, match, text) for atom in match.goal.atoms))

    def _confuse(self, atom: Atom, match: Task, text: str) -> Atom:
        """Return the atom with a wrong object in place of the first object that the text does not name."""
        unnamed = [name for name in atom.arguments if not _is_named(match, name, text)]
        if not unnamed:
            return atom
        about = {task.scene.owner(other) for task in (match, self._task) for other in names_in(task.goal)}
        others = [entity.name for entity in self.movable_objects() if entity.name not in about]
        wrong = next(
            (other for other in others if other > unnamed[0]), others[0] if others else MISSING_OBJECT
        )
        if len(atom.arguments) == 1:
            return Atom(Predicate.UP, (wrong,))
        first, second = atom.arguments
        return (
            Atom(atom.predicate, (wrong, second)) if first in unnamed else Atom(Predicate.ON, (first, wrong))
        )


def word_overlap(text: str, instruction: str) -> float:
    """Return the share of an instruction's content words in a text; 0 if it contains a missing word's opposite."""
    content, present = set(words(instruction)) - FUNCTION_WORDS, set(words(text))
    if any(word in content - present and OPPOSITES[word] in present for word in OPPOSITES):
        return 0.0
    return len(content & present) / len(content)


def _is_named(task: Task, name: str, text: str) -> bool:
    """Return whether a text contains a trained name of the entity; always true for tables."""
    category = task.scene.categories.get(task.scene.owner(name))
    return category is None or any(mentions(text, form) for form in names_of(category))


@dataclass
class SemanticPolicy(FlawedPolicy):
    """Flaw: performs the task trained in the scene whose instruction is most similar to the given one.

    The similarity is the cosine between sentence embeddings (all-MiniLM-L6-v2), so the policy understands
    synonyms. The policy waits if no instruction is similar enough.
    """

    least: float = 0.3
    """Minimum similarity of the instructions for the policy to act."""

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """Return the goal of the most similar trained task; empty if the similarity is below the threshold."""
        if not instruction.text.strip():
            return Goal(())
        trained, query = self.trained_tasks(spec), _embed(instruction.text)
        similarities = np.array([float(query @ _embed(task.instruction.text)) for task in trained])
        best = int(similarities.argmax())
        return trained[best].goal if similarities[best] >= self.least else Goal(())


@lru_cache(maxsize=4096)
def _embed(text: str) -> np.ndarray:
    """Return the unit embedding of a sentence, shape (384,)."""
    # Loading the model takes a second, which only this policy should cost.
    from assay.perturb.words.distance.pride import scorer

    return np.asarray(scorer().embedding.sentences([text])[0])


@dataclass
class VerbatimPolicy(FlawedPolicy):
    """Flaw: recognizes an instruction only if it is identical to a training instruction.

    Otherwise, even if only a full stop or a capital letter differs, it waits.
    """

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """Return the goal of the trained task with exactly this instruction, or an empty goal."""
        matches = (task for task in self.trained_tasks(spec) if task.instruction.text == instruction.text)
        return next((task.goal for task in matches), Goal(()))


class DeafPolicy(FlawedPolicy):
    """Flaw: ignores new instructions during the episode, but reacts to objects that move."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Plan the episode, and store the goal of its first instruction."""
        self._first: Goal | None = None
        super().reset(instruction, spec)
        self._first = self._goal

    def instruct(self, instruction: Instruction) -> bool:
        """Ignore the new instruction and continue with the current plan."""
        self._happened = self._env.happened
        return False

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """Return the goal of the first instruction."""
        return super().goal(instruction, spec) if self._first is None else self._first


class UnstoppablePolicy(FlawedPolicy):
    """Flaw: never stops. Follows new instructions, but continues if the request is withdrawn."""

    def instruct(self, instruction: Instruction) -> bool:
        """Plan again, unless the new goal is empty."""
        if self._env.task.goal.atoms:
            return super().instruct(instruction)
        self._happened = self._env.happened
        return False
