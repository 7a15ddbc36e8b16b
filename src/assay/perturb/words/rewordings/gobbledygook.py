"""CoGeLoT's gobbledygook: as many words, or as many sub-word tokens, and no meaning at all."""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from assay.episodes import perturbation
from assay.perturb.words.rewordings.base import TextPerturbation
from assay.tasks import Scene

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_TRIES = 200
_UNSEEMLY = ("fuck", "shit", "cunt", "bitch", "nigg", "whore", "slut", "rape", "porn", "nazi")
"""What is not drawn: reports are read by people."""


@perturbation
@dataclass(frozen=True, slots=True)
class GobbledygookWords(TextPerturbation):
    """Every character becomes a random letter, then the words change places: word lengths are kept."""

    kind = "words/gobbledygook_words"
    plausible = False

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction in words that do not exist."""
        return random_letters(text, rng)


@perturbation
@dataclass(frozen=True, slots=True)
class GobbledygookTokens(TextPerturbation):
    """Every sub-word becomes a random one, then the words change places: the number of sub-words is kept.

    Sub-words are those of all-MiniLM-L6-v2's tokenizer, which `assay words setup` fetches. Other models cut
    words elsewhere, so for them the number is kept approximately.
    """

    kind = "words/gobbledygook_tokens"
    plausible = False

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction in random words. Raises ModelError where there is no tokenizer."""
        return random_tokens(text, rng)


def random_letters(text: str, rng: np.random.Generator) -> str:
    """A text of random letters with the word lengths of another, in another order."""
    said = text.split()
    drawn = ["".join(rng.choice(list(string.ascii_letters), size=len(word))) for word in said]
    return " ".join(drawn[place] for place in rng.permutation(len(drawn)))


def random_tokens(text: str, rng: np.random.Generator) -> str:
    """A text of random sub-words, for each word as many as it had, in another order."""
    drawn = [_random_word(token_count(word), rng) for word in text.split()]
    return " ".join(drawn[place] for place in rng.permutation(len(drawn)))


def token_count(text: str) -> int:
    """How many sub-words a text has."""
    return len(sub_words(text))


def sub_words(text: str) -> list[str]:
    """The sub-words of a text, without the marks of those that go on with a word."""
    parts = _tokenizer().encode(text, add_special_tokens=False).tokens
    return [part.removeprefix("##") for part in parts]


def _random_word(count: int, rng: np.random.Generator) -> str:
    beginnings, endings = _vocabulary()
    for _ in range(_TRIES):
        parts = [beginnings[rng.integers(len(beginnings))]]
        parts += [endings[rng.integers(len(endings))] for _ in range(count - 1)]
        word = "".join(parts)
        if count == 1 or token_count(word) == count:  # what was put together may be cut elsewhere
            return word
    # A long word out of random pieces is seldom cut as it was put together: as many short ones, then.
    return " ".join(beginnings[rng.integers(len(beginnings))] for _ in range(count))


@cache
def _tokenizer() -> Tokenizer:
    from tokenizers import Tokenizer

    from assay.perturb.words.distance.models import TOKENIZER, minilm_files

    found = Tokenizer.from_str(minilm_files()[TOKENIZER].decode())
    found.no_padding()
    found.no_truncation()
    return found


@cache
def _vocabulary() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sub-words that begin a word and sub-words that go on with one, of ordinary letters."""
    parts = {token: token.removeprefix("##") for token in _tokenizer().get_vocab()}
    ordinary = {
        token: part
        for token, part in parts.items()
        if len(part) > 1 and part.isascii() and part.isalpha() and not any(each in part for each in _UNSEEMLY)
    }
    beginnings = tuple(sorted(token for token in ordinary if not token.startswith("##")))
    return beginnings, tuple(sorted(part for token, part in ordinary.items() if token.startswith("##")))
