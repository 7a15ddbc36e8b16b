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
"""Minimum fraction of words in an English dictionary for a text to be scored without a warning."""
NO_DISTANCE = 0.005
"""Value of pd below which the distance is negligible."""
DIGITS = 9
"""Number of decimals of S_K, small enough for identical results on every machine."""
MOST_KNOWN = 20_000
"""Maximum number of texts, or words, in the cache before it is cleared (about 100 MB)."""


class Scorer:
    """Both models, with their cached results for texts and words.

    ``minilm`` are the files of the embedding model, as ``models.minilm_files`` returns them.
    """

    def __init__(self, minilm: Mapping[str, bytes]) -> None:
        self.embedding = Encoder(minilm)
        self._parser = Parser()
        self.parser = self._parser.name
        """Name and version of the parser's model."""
        self._forget()

    def score(self, pairs: Sequence[tuple[str, str]], alpha: float) -> list[Distance | DistanceError]:
        """Return the distance of each (original, paraphrase) pair, or an error if it has none."""
        refused = [_refusal(*pair) for pair in pairs]
        accepted = (pair for pair, error in zip(pairs, refused, strict=True) if error is None)
        self._read(text for pair in accepted for text in pair)
        return [error or self._distance(*pair, alpha) for pair, error in zip(pairs, refused, strict=True)]

    def _forget(self) -> None:
        self._parses: dict[str, Parse] = {}
        self._keywords: dict[str, NDArray[np.int64]] = {}
        """Rows of the vectors that belong to the content words of each text."""
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
            return DistanceError("the original has no content words to compare")
        s_k, rows, columns = 0.0, self._keywords[original], self._keywords[paraphrase]
        if len(columns):
            cosines = self._vectors[rows] @ self._vectors[columns].T  # (original's words, paraphrase's words)
            cosines[rows[:, None] == columns] = 1.0
            s_k = round(float(cosines.max(axis=1).mean()), DIGITS)
        s_t = 1 - edit_distance(before.tree, after.tree) / (len(before.tree) + len(after.tree))
        pd = alpha * (1 - s_k) + (1 - alpha) * (1 - s_t)
        texts = {"the original": (original, before), "the paraphrase": (paraphrase, after)}
        return Distance(s_k, s_t, pd, self.parser, warnings=tuple(_warnings(texts, pd)))


def _warnings(texts: Mapping[str, tuple[str, Parse]], pd: float) -> Iterator[str]:
    """Yield the reasons why a score may be unreliable, and the differences that it ignores, such as word order."""
    for name, (_, parse) in texts.items():
        if parse.english < ENGLISH:
            yield f"{name} does not look like English, and the models know nothing else"
        if parse.roots > 1:
            yield f"{name} is more than one sentence: only the first counts in s_t"
    if not texts["the paraphrase"][1].lemmas:
        yield "the paraphrase has no content words: s_k is 0"
    before, after = (text.lower().split() for text, _ in texts.values())
    if before != after and sorted(before) == sorted(after):
        yield "the same words in another order: pd does not say whether they still mean the same"
    elif before != after and pd < NO_DISTANCE:
        yield f"pd is {pd:.2f} although the texts differ: it does not see in what"


MOST_CHARACTERS = 2000
"""Maximum length of a text, in characters. Instructions have about a hundred; the time to compare trees grows with up
to the fourth power of their size.
"""
_UNREADABLE = {"Cc": "a control character", "Cf": "an invisible character", "Cs": "half a surrogate pair"}


def _refusal(*pair: object) -> DistanceError | None:
    """Return an error if one of two texts cannot be parsed."""
    for text, what in zip(pair, ("the original", "the paraphrase"), strict=True):
        if not isinstance(text, str):
            return DistanceError(f"{what} must be text, not {type(text).__name__}")
        if not text.strip():
            return DistanceError(f"{what} is empty")
        if len(text) > MOST_CHARACTERS:
            return DistanceError(
                f"{what} has {len(text)} characters: at most {MOST_CHARACTERS} can be compared"
            )
        for place, character in enumerate(text, start=1):
            kind = _UNREADABLE.get(unicodedata.category(character))
            if kind is not None:
                code = f"U+{ord(character):04X}"
                return DistanceError(f"{what} contains {kind} ({code}) at position {place}: remove it")
    return None
