"""A policy that knows words by their spelling."""

from __future__ import annotations

from dataclasses import dataclass

from assay.episodes import EpisodeSpec
from assay.policies.calibration.flawed import Flawed, names_in
from assay.tasks import Atom, Goal, Instruction, Predicate, Task
from assay.tasks.language.lexicon import mentions, names_of, words

NOTHING = "nothing"
"""What is taken where a scene has nothing else: no such thing exists, so nothing is done."""
FUNCTION_WORDS = frozenset(
    words("a an and at both for from i in into is it me my of onto or please so that the then to up you")
)
"""Words that say nothing about which task is meant."""
OPPOSITES = {"on": "off", "off": "on", "open": "close", "close": "open"}


@dataclass
class Keyword(Flawed):
    """Flaw: knows the words of the training instructions and no others.

    It does the known task of the scene that shares most words with the instruction. A thing whose trained
    name is not there, word for word, it does not recognise: it takes the wrong one instead, always the same.
    An instruction without any known word leaves it waiting.
    """

    least: float = 0.3
    """The share of a known instruction's words that must be there for it to act at all."""

    def goal(self, instruction: Instruction, spec: EpisodeSpec) -> Goal:
        """What the known words add up to; nothing, if there are none."""
        text = instruction.text
        share, known = max(
            ((overlap(text, task.instruction.text), task) for task in self.known_tasks(spec)),
            key=lambda each: each[0],
        )
        if share < self.least:
            return Goal(())
        return Goal(tuple(self._as_heard(atom, known, text) for atom in known.goal.atoms))

    def _as_heard(self, atom: Atom, known: Task, text: str) -> Atom:
        """An atom, with the wrong thing in place of one whose name is not in the text."""
        strangers = [name for name in atom.arguments if not _is_named(known, name, text)]
        if not strangers:
            return atom
        wrong = self._wrong(known, strangers[0])
        if len(atom.arguments) == 1:
            return Atom(Predicate.UP, (wrong,))
        first, second = atom.arguments
        return (
            Atom(atom.predicate, (wrong, second))
            if first in strangers
            else Atom(Predicate.ON, (first, wrong))
        )

    def _wrong(self, known: Task, name: str) -> str:
        """A movable thing that neither the known nor the real task is about: the one that follows by name."""
        about = {_owner(task, other) for task in (known, self._task) for other in names_in(task.goal)}
        others = [entity.name for entity in self.movables() if entity.name not in about]
        return next((other for other in others if other > name), others[0] if others else NOTHING)


def overlap(text: str, instruction: str) -> float:
    """The share of an instruction's content words that occur in a text; none if it says the opposite."""
    content, said = set(words(instruction)) - FUNCTION_WORDS, set(words(text))
    if any(word in content - said and OPPOSITES[word] in said for word in OPPOSITES):
        return 0.0
    return len(content & said) / len(content)


def _owner(known: Task, name: str) -> str:
    """The thing a name stands for: a region's is what the region is part of."""
    region = known.scene.region(name)
    return region.target if region is not None else name


def _is_named(known: Task, name: str, text: str) -> bool:
    """Whether a text has a trained name of a thing, or of what a region is part of; a table needs none."""
    owner = _owner(known, name)
    entity = next((entity for entity in known.scene.entities if entity.name == owner), None)
    return entity is None or any(mentions(text, form) for form in names_of(entity.category))
