"""Other names for the same things: LIBERO-X's first rewording, and a rung of the corruption ladder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from assay.episodes import perturbation
from assay.perturb.words.rewordings.base import TextPerturbation
from assay.perturb.world.kinds import unseen
from assay.tasks import Scene
from assay.tasks.language import Action, Step, Verb, lexicon, read_steps, write_steps
from assay.tasks.language.verbs import plain_synonyms

PLAIN = 2
"""How many synonyms of a noun are plain enough; the lexicon lists the plainest first."""


@perturbation
@dataclass(frozen=True, slots=True)
class Synonyms(TextPerturbation):
    """Swaps every verb, and every name for which a synonym is known, and keeps the sentence as it is."""

    kind = "words/synonyms"

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction in synonyms."""
        return swap_synonyms(text, scene, rng)


def swap_synonyms(text: str, scene: Scene, rng: np.random.Generator) -> str:
    """An instruction in synonyms: plain names that nothing else in the scene could have, and any verb."""
    others = synonyms_in(scene)
    known = "|".join(sorted(map(re.escape, others), key=len, reverse=True))

    def rename(phrase: str) -> str:
        return re.sub(rf"\b(?:{known})\b", lambda found: others[found[0]], phrase) if known else phrase

    def swap(step: Step) -> Step:
        verb = _draw_verb(step.action, step.verb, rng)
        fetch = None if step.fetch is None else _draw_verb(Action.TAKE, step.fetch, rng)
        return replace(step, verb=verb, fetch=fetch, thing=rename(step.thing), target=rename(step.target))

    return write_steps([swap(step) for step in read_steps(text)])


def synonyms_in(scene: Scene) -> Mapping[str, str]:
    """What instructions may call the things of a scene -> a synonym; what has none, to itself.

    So does what no built-in task has: no policy knows its name, and another would be no synonym of a known one.
    """
    categories = {entity.category for entity in scene.entities}
    new = categories.intersection(unseen())
    named = (noun for noun in lexicon().nouns.values() if categories.intersection(noun.things))
    here = lexicon().with_parts(named)
    found: dict[str, str] = {}
    for noun in here:
        taken = {name for other in here if not noun.names_same_thing(other) for name in other.all_names}
        for form in noun.original_forms:
            plain = () if new.intersection(noun.things) else noun.habitual[:PLAIN]
            free = (name for name in plain if name.lower() not in taken and name != form)
            other = next(free, form)
            found |= {form: other, noun.plural_of(form): noun.plural_of(other)}
    return found


def _draw_verb(action: Action, verb: Verb, rng: np.random.Generator) -> Verb:
    others = plain_synonyms(action, verb)
    return others[int(rng.integers(len(others)))]
