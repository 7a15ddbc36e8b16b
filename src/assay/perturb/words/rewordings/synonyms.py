"""Other names for the same things: LIBERO-X's first rewording, and a rung of the corruption ladder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.perturb.words.grid.lexicon import Noun, lexicon
from assay.perturb.words.rewordings import verbs
from assay.perturb.words.rewordings.clauses import Step, parse, said
from assay.perturb.words.rewordings.text import reworded
from assay.perturb.words.rewordings.verbs import Verb
from assay.tasks import Scene, Task

PLAIN = 2
"""How many synonyms of a noun are plain enough; the lexicon lists the plainest first."""


@perturbation
@dataclass(frozen=True, slots=True)
class Synonyms(Perturbation):
    """Swaps every verb, and every name for which a synonym is known, and keeps the sentence as it is."""

    kind = "words/synonyms"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """The task in synonyms."""
        return reworded(task, self.kind, lambda text: swapped(text, task.scene, rng))


def swapped(text: str, scene: Scene, rng: np.random.Generator) -> str:
    """An instruction in synonyms: plain names that nothing else in the scene could have, and any verb."""
    others = synonyms_in(scene)
    known = "|".join(sorted(map(re.escape, others), key=len, reverse=True))

    def renamed(phrase: str) -> str:
        return re.sub(rf"\b(?:{known})\b", lambda found: others[found[0]], phrase) if known else phrase

    def turned(step: Step) -> Step:
        verb, fetch = _drawn(step.verb, rng), None if step.fetch is None else _drawn(step.fetch, rng)
        return replace(step, verb=verb, fetch=fetch, thing=renamed(step.thing), target=renamed(step.target))

    return said([turned(step) for step in parse(text)])


def synonyms_in(scene: Scene) -> Mapping[str, str]:
    """What instructions may call the things of a scene -> a synonym; what has none, to itself."""
    categories = {entity.category for entity in scene.entities}
    here = [noun for noun in lexicon().nouns.values() if categories.intersection(noun.things)]
    here += [part for noun in here for part in lexicon().parts_of(noun)]
    found: dict[str, str] = {}
    for noun in here:
        taken = {name for other in here if not _is_the_same(noun, other) for name in other.called}
        for form in noun.written:
            free = (name for name in noun.habitual[:PLAIN] if name.lower() not in taken and name != form)
            other = next(free, form)
            found |= {form: other, noun.plural_of(form): noun.plural_of(other)}
    return found


def _drawn(verb: Verb, rng: np.random.Generator) -> Verb:
    others = verbs.synonyms(verb)
    return others[int(rng.integers(len(others)))]


def _is_the_same(noun: Noun, other: Noun) -> bool:
    """Whether two nouns name one kind of thing, as "cream cheese" and "cream cheese box" do."""
    return noun.name == other.name or bool(set(noun.things).intersection(other.things))
