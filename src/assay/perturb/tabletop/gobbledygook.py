"""Prompts without a meaning, after CoGeLoT: pictures stay where they are, with nonsense between them."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from assay.episodes import Change, Effect, perturbation
from assay.perturb.tabletop.base import TablePerturbation
from assay.perturb.tabletop.grammar import vocabulary
from assay.tabletop import TableTask
from assay.tabletop.prompt import PLACEHOLDER

_TOKEN = re.compile(r"\w+|[^\w\s]")


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
    """Random letters, as many words of the same lengths; or random words of other prompts, one for each
    word and mark."""

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """The task with a prompt that asks for nothing."""
        said = task.prompt.text.split()
        places = [index for index, word in enumerate(said) if not PLACEHOLDER.search(word)]
        known = {word.lower() for word in tokens(task.prompt.text)}
        strange = [word for word in vocabulary() if word not in known]
        drawn = [
            _letters(said[index], rng) if self.unit is Unit.WORDS else _words(said[index], strange, rng)
            for index in places
        ]
        for place, index in zip(places, rng.permutation(len(drawn)), strict=True):
            said[place] = drawn[index]
        return replace(task, prompt=task.prompt.saying(" ".join(said)), asked=None)


def tokens(text: str) -> list[str]:
    """A text's words and marks; a placeholder is one token. Policies that cut words up will count others."""
    return _TOKEN.findall(PLACEHOLDER.sub("picture", text))


def _letters(word: str, rng: np.random.Generator) -> str:
    return "".join(rng.choice(list(string.ascii_letters), size=len(word)))


def _words(word: str, strange: list[str], rng: np.random.Generator) -> str:
    return " ".join(strange[int(rng.integers(len(strange)))] for _ in tokens(word))
