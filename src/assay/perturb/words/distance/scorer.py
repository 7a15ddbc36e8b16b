"""Scoring of pairs of texts, with a cache of model results."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.perturb.words.distance.encoder import WIDTH, Encoder
from assay.perturb.words.distance.parser import Parse, Parser, edit_distance
from assay.perturb.words.distance.pride import Distance, DistanceError

ENGLISH = 0.6
"""Minimum share of words in an English dictionary for a text to be scored without a warning."""
NO_DISTANCE = 0.005
"""Value of pd below which the distance is negligible."""
DIGITS = 9
"""Decimals of S_K, few enough for identical results on every machine."""
MOST_KNOWN = 20_000
"""Maximum number of cached texts, or words, before the cache is cleared: about 100 MB."""


class Scorer:
    """Both models, and their cached results for texts and words.

    ``minilm`` are the files of the embedding model, as ``models.minilm_files`` returns them.
    """

    def __init__(self, minilm: Mapping[str, bytes]) -> None:
        self.embedding = Encoder(minilm)
        self._parser = Parser()
        self.parser = self._parser.name
        """Name and version of the parser's model."""
        self._forget()

    def score(self, pairs: Sequence[tuple[str, str]], alpha: float) -> list[Distance | DistanceError]:
        """Return the distance of each (original, paraphrase), or the error if it has none."""
        refused = [_refusal(*pair) for pair in pairs]
        accepted = (pair for pair, error in zip(pairs, refused, strict=True) if error is None)
        self._read(text for pair in accepted for text in pair)
        return [error or self._distance(*pair, alpha) for pair, error in zip(pairs, refused, strict=True)]

    def _forget(self) -> None:
        self._parses: dict[str, Parse] = {}
        self._keywords: dict[str, NDArray[np.int64]] = {}
        """For each text, the rows of the vectors that belong to its content words."""
        self._rows: dict[str, int] = {}
        self._vectors = np.empty((0, WIDTH))

    def _read(self, texts: Iterable[str]) -> None:
        """Parse new texts, and embed their new words."""
        wanted = dict.fromkeys(texts)
        if max(len(self._parses), len(self._rows)) > MOST_KNOWN:
            self._forget()
        new = [text for text in wanted if text not in self._parses]
        if not new:
            return
        parses = self._parser.parse(new)
        lemmas = dict.fromkeys(lemma for parse in parses for lemma in parse.lemmas)
        words = [lemma for lemma in lemmas if lemma not in self._rows]
        self._vectors = np.concatenate([self._vectors, self.embedding.sentences(words)])
        self._rows |= {word: row for row, word in enumerate(words, start=len(self._rows))}
        for text, parse in zip(new, parses, strict=True):
            self._parses[text] = parse
            self._keywords[text] = np.array([self._rows[lemma] for lemma in parse.lemmas], dtype=np.int64)

    def _distance(self, original: str, paraphrase: str, alpha: float) -> Distance | DistanceError:
        before, after = self._parses[original], self._parses[paraphrase]
        if not before.lemmas:
            return DistanceError("the original has no content words, so there is nothing to compare")
        s_k = self._keyword_similarity(self._keywords[original], self._keywords[paraphrase])
        s_t = 1 - edit_distance(before.tree, after.tree) / (len(before.tree) + len(after.tree))
        pd = alpha * (1 - s_k) + (1 - alpha) * (1 - s_t)
        doubts = [*_doubts(before, after), *_blindness(original, paraphrase, pd)]
        return Distance(s_k, s_t, pd, self.parser, warnings=tuple(doubts))

    def _keyword_similarity(self, before: NDArray[np.int64], after: NDArray[np.int64]) -> float:
        if not len(after):
            return 0.0
        cosines = self._vectors[before] @ self._vectors[after].T  # (original's words, paraphrase's words)
        cosines[before[:, None] == after] = 1.0
        return round(float(cosines.max(axis=1).mean()), DIGITS)


def _refusal(original: object, paraphrase: object) -> DistanceError | None:
    try:
        check_text(original, "the original")
        check_text(paraphrase, "the paraphrase")
    except DistanceError as error:
        return error
    return None


def _doubts(before: Parse, after: Parse) -> Iterator[str]:
    for parse, what in ((before, "the original"), (after, "the paraphrase")):
        if parse.english < ENGLISH:
            yield f"{what} does not look like English, and the models know nothing else"
        if parse.roots > 1:
            yield f"{what} is more than one sentence: only the first counts in s_t"
    if not after.lemmas:
        yield "the paraphrase has no content words: s_k is 0"


def _blindness(original: str, paraphrase: str, pd: float) -> Iterator[str]:
    """Yield a warning about differences that the score ignores: order of siblings in the trees, and of words."""
    before, after = original.lower().split(), paraphrase.lower().split()
    if before != after and sorted(before) == sorted(after):
        yield "the same words in another order: pd does not say whether they still mean the same"
    elif before != after and pd < NO_DISTANCE:
        yield f"pd is {pd:.2f} although the texts differ: it does not see in what"


MOST_CHARACTERS = 2000
"""Maximum length of a text, characters. Instructions have about a hundred; comparing trees takes up to the fourth
power of their size.
"""
_UNREADABLE = {"Cc": "a control character", "Cf": "an invisible character", "Cs": "half a surrogate pair"}


def check_text(text: object, what: str) -> None:
    """Raise DistanceError if a text cannot be parsed; ``what`` names it in the message."""
    if not isinstance(text, str):
        raise DistanceError(f"{what} must be text, not {type(text).__name__}")
    if not text.strip():
        raise DistanceError(f"{what} is empty")
    if len(text) > MOST_CHARACTERS:
        raise DistanceError(f"{what} has {len(text)} characters: at most {MOST_CHARACTERS} can be compared")
    for place, character in enumerate(text, start=1):
        kind = _UNREADABLE.get(unicodedata.category(character))
        if kind is not None:
            raise DistanceError(f"{what} holds {kind} (U+{ord(character):04X}) at place {place}: take it out")
