"""Prompts without a meaning, after CoGeLoT: pictures stay where they are, with nonsense between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from assay.episodes import Change, Effect, perturbation
from assay.extensions.tabletop.perturb.base import TablePerturbation
from assay.extensions.tabletop.perturb.telling import tells
from assay.extensions.tabletop.prompt import PLACEHOLDER
from assay.extensions.tabletop.tasks import TableTask
from assay.perturb.words.rewordings.gobbledygook import random_letters, random_tokens, sub_words


class Unit(StrEnum):
    """Of what a nonsense prompt has as many as the prompt had."""

    WORDS = "words"
    TOKENS = "tokens"


@perturbation
@dataclass(frozen=True, slots=True)
class Gobbledygook(TablePerturbation):
    """On the table: nonsense between the pictures. Nothing in it says what is to be done."""

    kind = "words/prompt_gobbledygook"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING
    plausible = False

    unit: Unit
    """Random letters, as many words of the same lengths; or random sub-words of all-MiniLM-L6-v2's tokenizer, as
    many as the words had."""

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """The task with a prompt that asks for nothing. Raises ModelError where sub-words need a tokenizer."""
        said = task.prompt.text.split()
        places = [index for index, word in enumerate(said) if not PLACEHOLDER.search(word)]
        drawn = [_nonsense(said[index], self.unit, rng) for index in places]
        for place, index in zip(places, rng.permutation(len(drawn)), strict=True):
            said[place] = drawn[index]
        return replace(task, prompt=task.prompt.saying(" ".join(said)), asked=None)


def _nonsense(word: str, unit: Unit, rng: np.random.Generator) -> str:
    """Random letters or sub-words in place of a word; drawn again where one of them would tell something."""
    while True:
        if unit is Unit.WORDS:
            if not tells([drawn := random_letters(word, rng)]):
                return drawn
        elif not tells([drawn := random_tokens(word, rng), *sub_words(drawn)]):
            return drawn
