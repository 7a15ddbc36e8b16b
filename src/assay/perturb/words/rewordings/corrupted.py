"""Instructions with different punctuation, with typing errors, and with partly or completely lost meaning."""

from __future__ import annotations

import math
import string
from enum import StrEnum
from functools import cache
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from assay.episodes import Change, perturbation, within
from assay.errors import PerturbationError
from assay.perturb.words.text import TextPerturbation
from assay.support.extras import optional_import
from assay.tasks import Scene
from assay.tasks.language.lexicon import names_of, words

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NEIGHBOURS = {
    "a": "qwsz", "b": "vghn", "c": "xdfv", "d": "serfcx", "e": "wsdr", "f": "drtgvc", "g": "ftyhbv",
    "h": "gyujnb", "i": "ujko", "j": "huikmn", "k": "jiolm", "l": "kop", "m": "njk", "n": "bhjm",
    "o": "iklp", "p": "ol", "q": "wa", "r": "edft", "s": "awedxz", "t": "rfgy", "u": "yhji",
    "v": "cfgb", "w": "qase", "x": "zsdc", "y": "tghu", "z": "asx",
}  # fmt: skip
"""Neighbouring keys on a QWERTY keyboard."""
FUNCTION_WORDS = frozenset(
    words("a an and at between both for from front in inside into it next of off on onto the them then to")
    + words("top up")
)
"""Words that are never replaced, because they name neither an object nor an action."""
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
"""Ordinary words unrelated to tables and kitchens."""
MIN_TYPO_LENGTH = 4
"""Minimum length of a mistyped word; shorter words are mistyped only if there are no longer ones."""
SHUFFLE_DRAWS = 20
TOKEN_TRIES = 200
_OFFENSIVE = ("fuck", "shit", "cunt", "bitch", "nigg", "whore", "slut", "rape", "porn", "nazi")
"""Strings that no randomly generated word may contain, because these words appear in reports."""


class Form(StrEnum):
    """A change to the spelling or punctuation of a sentence."""

    FULL_STOP = "full_stop"
    """A full stop at the end."""
    CAPITAL = "capital"
    """A capital first letter."""
    CAPITALS = "capitals"
    """All letters capitalised."""
    TASK = "task"
    """"Task:" before the instruction."""
    QUOTES = "quotes"
    """Quotation marks around the instruction."""
    BLANKS = "blanks"
    """Doubled spaces."""
    PLEASE = "please"
    """"Please" before the instruction."""


@perturbation
class Surface(TextPerturbation):
    """Changes punctuation, capitals, spaces or politeness: `put the bowl on the stove.`"""

    kind = "words/surface"
    change = Change.SURFACE
    form: Form
    """Change to apply."""

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """Return the instruction in this form. Raises PerturbationError if the instruction already has this form."""
        written = {
            Form.FULL_STOP: f"{text.rstrip('.')}.",
            Form.CAPITAL: text[:1].upper() + text[1:],
            Form.CAPITALS: text.upper(),
            Form.TASK: f"Task: {text}",
            Form.QUOTES: f'"{text}"',
            Form.BLANKS: text.replace(" ", "  "),
            Form.PLEASE: f"please {text}",
        }[self.form]
        if written == text:
            raise PerturbationError(f"'{text}' already has the form '{self.form}'")
        return written


@perturbation
class Typos(TextPerturbation):
    """Makes one typing error in each of some words: a neighbouring key, two letters swapped, or a letter missing.

    The first letter of a word never changes. Words of fewer than four letters change only if all are that short.
    """

    kind = "words/typos"
    neutral = MappingProxyType({"share": 0.0})
    share: float = within(0.0, 1.0, default=0.4)
    """Fraction of the sufficiently long words that are mistyped; always at least one."""

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """Add typing errors to the instruction. Raises PerturbationError if no word is long enough."""
        typed = text.split()
        possible = {index: typos for index, word in enumerate(typed) if (typos := _possible_typos(word))}
        if not possible:
            raise PerturbationError("no word is long enough to be mistyped")
        long = [index for index in possible if len(typed[index]) >= MIN_TYPO_LENGTH] or list(possible)
        for index in rng.permutation(long)[: math.ceil(self.share * len(long))]:
            word, typos = typed[index], possible[int(index)]
            typo = list(typos)[int(rng.integers(len(typos)))]
            place = typos[typo][int(rng.integers(len(typos[typo])))]
            letter, rest = "", word[place + 1 :]
            if typo == "neighbour":
                keys = NEIGHBOURS[word[place].lower()]
                letter = keys[int(rng.integers(len(keys)))]
                letter = letter.upper() if word[place].isupper() else letter
            elif typo == "swap":
                letter, rest = word[place + 1] + word[place], word[place + 2 :]
            typed[index] = word[:place] + letter + rest
        return " ".join(typed)


def _possible_typos(word: str) -> dict[str, list[int]]:
    """Return, for each possible kind of typing error, the positions in a word at which it can occur."""
    letters = [place for place in range(1, len(word)) if word[place].isalpha()]
    near = [place for place in letters if word[place].lower() in NEIGHBOURS]
    swappable = [
        place for place, after in pairwise(letters) if after == place + 1 and word[place] != word[after]
    ]
    typos = {"neighbour": near, "swap": swappable, "omission": letters}
    return {typo: places for typo, places in typos.items() if places}


@perturbation
class Substitute(TextPerturbation):
    """Replaces words with unrelated words, starting with the names of objects, so that the request is lost."""

    kind = "words/substitute"
    plausible = False
    neutral = MappingProxyType({"share": 0.0})
    share: float = within(0.0, 1.0, default=0.5)
    """Fraction of the content words that are replaced; always at least one."""

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """Replace content words, starting with the names of objects in the scene."""
        changed = text.split()
        content = [index for index, word in enumerate(changed) if word.lower() not in FUNCTION_WORDS]
        content = content or list(range(len(changed)))
        named = {
            word for entity in scene.entities for form in names_of(entity.category) for word in words(form)
        }
        order = [content[place] for place in rng.permutation(len(content))]
        # The sort is stable: among the names, and among the others, the order stays random.
        order.sort(key=lambda index: not named.intersection(words(changed[index])))
        chosen = order[: math.ceil(self.share * len(content))]
        strangers = [word for word in UNRELATED if word not in named]
        # Words repeat only if more are replaced than are available.
        rounds = range(0, len(chosen), len(strangers))
        drawn = np.concatenate([rng.permutation(len(strangers)) for _ in rounds])
        for index, stranger in zip(sorted(chosen), drawn, strict=False):
            changed[index] = strangers[stranger]
        return " ".join(changed)


@perturbation
class Shuffle(TextPerturbation):
    """Shuffles the words of the instruction."""

    kind = "words/shuffle"
    plausible = False
    guessable = True

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """Shuffle such that few words keep their neighbours, because "turn the stove on" would still be a request.

        Raises PerturbationError if no other order exists.
        """
        original = text.split()
        if len(set(original)) < 2:
            raise PerturbationError("all words of the instruction are the same, so they cannot be shuffled")
        neighbours = set(pairwise(original))
        orders = ([original[place] for place in rng.permutation(len(original))] for _ in range(SHUFFLE_DRAWS))
        mixed = min(
            orders, key=lambda order: (order == original, sum(pair in neighbours for pair in pairwise(order)))
        )
        return " ".join(mixed if mixed != original else reversed(original))


@perturbation
class GobbledygookWords(TextPerturbation):
    """Replaces every character with a random letter and shuffles the words, keeping their lengths (CoGeLoT)."""

    kind = "words/gobbledygook_words"
    plausible = False

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """Return nonsense words made of random letters."""
        return random_letters(text, rng)


@perturbation
class GobbledygookTokens(TextPerturbation):
    """Replaces every sub-word with a random one and shuffles the words, keeping the number of sub-words (CoGeLoT).

    Sub-words are those of all-MiniLM-L6-v2's tokenizer, which `assay words setup` fetches. Other models split
    words differently, so for them the number is only approximately the same.
    """

    kind = "words/gobbledygook_tokens"
    plausible = False

    def reword(self, text: str, scene: Scene, rng: np.random.Generator) -> str:
        """Return random sub-words. Raises ModelError if there is no tokenizer."""
        return random_tokens(text, rng)


def random_letters(text: str, rng: np.random.Generator) -> str:
    """Return words of random letters, with the lengths of the words in a text, in random order."""
    drawn = ["".join(rng.choice(list(string.ascii_letters), size=len(word))) for word in text.split()]
    return " ".join(drawn[place] for place in rng.permutation(len(drawn)))


def random_tokens(text: str, rng: np.random.Generator) -> str:
    """Return words of random sub-words: as many per word as in the text, in random order."""
    beginnings, endings = _vocabulary()
    drawn: list[str] = []
    for count in map(token_count, text.split()):
        for _ in range(TOKEN_TRIES):
            parts = [beginnings[rng.integers(len(beginnings))]]
            parts += [endings[rng.integers(len(endings))] for _ in range(count - 1)]
            word = "".join(parts)
            if count == 1 or token_count(word) == count:  # the tokenizer may split the new word elsewhere
                break
        else:
            # A long word of random pieces is rarely split as it was composed: draw short words instead.
            word = " ".join(beginnings[rng.integers(len(beginnings))] for _ in range(count))
        drawn.append(word)
    return " ".join(drawn[place] for place in rng.permutation(len(drawn)))


def token_count(text: str) -> int:
    """Count the sub-words of a text."""
    return len(sub_words(text))


def sub_words(text: str) -> list[str]:
    """Split a text into sub-words, without continuation marks."""
    parts = _tokenizer().encode(text, add_special_tokens=False).tokens
    return [part.removeprefix("##") for part in parts]


@cache
def _tokenizer() -> Tokenizer:
    from assay.perturb.words.distance.models import TOKENIZER, minilm_files

    with optional_import("words", "random sub-words need tokenizers", PerturbationError):
        from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(minilm_files()[TOKENIZER].decode())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@cache
def _vocabulary() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the purely alphabetic sub-words: those that begin a word, and those that continue a word."""
    beginnings: list[str] = []
    endings: list[str] = []
    for token in _tokenizer().get_vocab():
        part = token.removeprefix("##")
        if len(part) > 1 and part.isascii() and part.isalpha() and not any(bad in part for bad in _OFFENSIVE):
            (endings if token.startswith("##") else beginnings).append(part)
    return tuple(sorted(beginnings)), tuple(sorted(endings))
