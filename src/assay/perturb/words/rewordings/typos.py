"""Slips of the finger."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from assay.episodes import perturbation
from assay.errors import PerturbationError
from assay.perturb.words.rewordings.base import TextPerturbation
from assay.tasks import Scene

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
