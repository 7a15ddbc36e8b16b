"""The same words, written otherwise: punctuation, capitals, blanks and courtesy."""

from __future__ import annotations

import math
import string
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from assay.episodes import Change, perturbation
from assay.errors import PerturbationError
from assay.perturb.words.text import TextPerturbation
from assay.support.extras import optional_import
from assay.tasks import Scene
from assay.tasks.language.lexicon import names_of, words

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class Form(StrEnum):
    """What is done to how a sentence is written."""

    FULL_STOP = "full_stop"
    """A full stop at its end."""
    CAPITAL = "capital"
    """A capital for its first letter."""
    CAPITALS = "capitals"
    """Capitals for all letters."""
    TASK = "task"
    """"Task:" before it."""
    QUOTES = "quotes"
    """Quotation marks around it."""
    BLANKS = "blanks"
    """Two blanks for each."""
    PLEASE = "please"
    """"Please" before it."""


@perturbation
@dataclass(frozen=True, slots=True)
class Surface(TextPerturbation):
    """Writes the same words otherwise, in one respect: `put the bowl on the stove.`"""

    kind = "words/surface"
    change = Change.SURFACE

    form: Form
    """in which respect"""

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction, written otherwise. Raises PerturbationError where it is written so already."""
        written = _written(text, self.form)
        if written == text:
            raise PerturbationError(f"'{text}' is written so already ({self.form})")
        return written


def _written(text: str, form: Form) -> str:
    match form:
        case Form.FULL_STOP:
            return f"{text.rstrip('.')}."
        case Form.CAPITAL:
            return text[:1].upper() + text[1:]
        case Form.CAPITALS:
            return text.upper()
        case Form.TASK:
            return f"Task: {text}"
        case Form.QUOTES:
            return f'"{text}"'
        case Form.BLANKS:
            return text.replace(" ", "  ")
        case Form.PLEASE:
            return f"please {text}"


NEIGHBOURS = {
    "a": "qwsz", "b": "vghn", "c": "xdfv", "d": "serfcx", "e": "wsdr", "f": "drtgvc", "g": "ftyhbv",
    "h": "gyujnb", "i": "ujko", "j": "huikmn", "k": "jiolm", "l": "kop", "m": "njk", "n": "bhjm",
    "o": "iklp", "p": "ol", "q": "wa", "r": "edft", "s": "awedxz", "t": "rfgy", "u": "yhji",
    "v": "cfgb", "w": "qase", "x": "zsdc", "y": "tghu", "z": "asx",
}  # fmt: skip
"""Which keys lie beside which on a QWERTY keyboard."""
_LONG = 4


@perturbation
@dataclass(frozen=True, slots=True)
class Typos(TextPerturbation):
    """One slip in each of some words: a neighbouring key, two letters swapped, or a letter missing.

    First letters stay, and so do words of fewer than four letters where there are longer ones.
    """

    kind = "words/typos"

    share: float = 0.4
    """Of the words that are long enough, how many hold a slip: above 0, at most 1; one at least."""

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise PerturbationError(
                f"words/typos: the share must be above 0 and at most 1, not {self.share:g}"
            )

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction as typed in a hurry."""
        return mistype(text, self.share, rng)


def mistype(text: str, share: float, rng: np.random.Generator) -> str:
    """A text with slips. Raises PerturbationError where no word is long enough."""
    said = text.split()
    possible = {index: slips for index, word in enumerate(said) if (slips := _slips(word))}
    if not possible:
        raise PerturbationError("no word is long enough to be mistyped")
    long = [index for index in possible if len(said[index]) >= _LONG] or list(possible)
    for index in rng.permutation(long)[: max(1, math.ceil(share * len(long)))]:
        slips = possible[int(index)]
        said[index] = slips[int(rng.integers(len(slips)))](rng)
    return " ".join(said)


def _slips(word: str) -> list[Callable[[np.random.Generator], str]]:
    """The slips that can happen in a word, and change it."""
    letters = [place for place in range(1, len(word)) if word[place].isalpha()]
    near = [place for place in letters if word[place].lower() in NEIGHBOURS]
    swappable = [
        place for place, after in pairwise(letters) if after == place + 1 and word[place] != word[after]
    ]

    def hit_neighbour(rng: np.random.Generator) -> str:
        place = near[int(rng.integers(len(near)))]
        keys = NEIGHBOURS[word[place].lower()]
        key = keys[int(rng.integers(len(keys)))]
        return word[:place] + (key.upper() if word[place].isupper() else key) + word[place + 1 :]

    def swap(rng: np.random.Generator) -> str:
        place = swappable[int(rng.integers(len(swappable)))]
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]

    def leave_out(rng: np.random.Generator) -> str:
        place = letters[int(rng.integers(len(letters)))]
        return word[:place] + word[place + 1 :]

    found = ((hit_neighbour, near), (swap, swappable), (leave_out, letters))
    return [slip for slip, places in found if places]


FUNCTION_WORDS = frozenset(
    words("a an and at between both for from front in inside into it next of off on onto the them then to")
    + words("top up")
)
"""Words that stay: they name neither a thing nor an act."""
UNRELATED = words(
    """
    anchor avenue balloon banjo bishop blanket bridge camel candle canyon carpet castle cathedral
    cloud comet compass curtain dentist desert diamond dolphin donkey eagle elbow engine feather
    forest fountain galaxy garden giraffe glacier guitar hammer harbour helmet horizon island jacket
    jungle kettledrum ladder lantern lawyer library lizard magnet meadow mirror monkey mountain museum
    needle notebook ocean orchestra palace parrot passport penguin piano pilot pirate planet pocket
    prairie pyramid rabbit railway rainbow river rocket saddle sailor satellite scarecrow shadow
    singer skeleton stadium statue submarine tailor temple thunder ticket tiger tornado tractor tunnel
    umbrella valley violin volcano waterfall weather whistle window winter wizard zebra
    """
)
"""Ordinary words that have nothing to do with tables and kitchens."""
_DRAWS = 20


@perturbation
@dataclass(frozen=True, slots=True)
class Substitute(TextPerturbation):
    """Puts unrelated words in the place of others, names of things first: nobody can tell what is wanted."""

    kind = "words/substitute"
    plausible = False

    share: float = 0.5
    """Of the words with a meaning of their own, how many are replaced: above 0, at most 1; one at least."""

    def __post_init__(self) -> None:
        if not 0.0 < self.share <= 1.0:
            raise PerturbationError(
                f"words/substitute: the share must be above 0 and at most 1, not {self.share:g}"
            )

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction about something else."""
        return substitute_words(text, scene, self.share, rng)


@perturbation
@dataclass(frozen=True, slots=True)
class Shuffle(TextPerturbation):
    """Keeps every word and loses their order."""

    kind = "words/shuffle"
    plausible = False
    guessable = True

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """The instruction with its words in another order."""
        return shuffle_words(text, rng)


def substitute_words(text: str, scene: Scene, share: float, rng: np.random.Generator) -> str:
    """A text with a share of its content words replaced, names of things in the scene first."""
    said = text.split()
    content = [index for index, word in enumerate(said) if word.lower() not in FUNCTION_WORDS]
    content = content or list(range(len(said)))
    named = {word for entity in scene.entities for form in names_of(entity.category) for word in words(form)}
    order = [content[place] for place in rng.permutation(len(content))]
    order.sort(
        key=lambda index: not named.intersection(words(said[index]))
    )  # stable: chance decides the rest
    chosen = order[: max(1, math.ceil(share * len(content)))]
    strangers = [word for word in UNRELATED if word not in named]
    # As many different words as there are; 10,000 replaced words have to repeat some.
    drawn = np.concatenate([rng.permutation(len(strangers)) for _ in range(0, len(chosen), len(strangers))])
    for index, stranger in zip(sorted(chosen), drawn, strict=False):
        said[index] = strangers[stranger]
    return " ".join(said)


def shuffle_words(text: str, rng: np.random.Generator) -> str:
    """A text with its words in another order, in which few stand beside those they stood beside.

    Just any order would do at times: "turn the stove on". Raises PerturbationError where there is no other.
    """
    said = text.split()
    if len(set(said)) < 2:
        raise PerturbationError("there are no two words to change places")
    beside = set(pairwise(said))
    drawn = ([said[place] for place in rng.permutation(len(said))] for _ in range(_DRAWS))
    mixed = min(drawn, key=lambda order: (order == said, sum(pair in beside for pair in pairwise(order))))
    return " ".join(mixed if mixed != said else reversed(said))


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
    from assay.perturb.words.distance.models import TOKENIZER, minilm_files

    with optional_import("words", "misspelt words need tokenizers", PerturbationError):
        from tokenizers import Tokenizer

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
