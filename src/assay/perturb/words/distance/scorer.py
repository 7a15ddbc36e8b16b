"""Scores for pairs of texts, computed with both models."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from assay.perturb.words.distance.encoder import Encoder
from assay.perturb.words.distance.parser import Parse, Parser, edit_distance
from assay.perturb.words.distance.pride import Distance, DistanceError

ENGLISH = 0.6
"""Minimum fraction of words in an English dictionary for a text to be scored without a warning."""
NO_DISTANCE = 0.005
"""Value of pd below which the distance is negligible."""
DIGITS = 9
"""Number of decimals to which S_K is rounded, so that results are identical on every machine."""


class Scorer:
    """Both models: word embeddings and parser.

    ``minilm`` lists the files of the embedding model, as ``models.minilm_files`` returns them.
    """

    def __init__(self, minilm: Mapping[str, bytes]) -> None:
        self.embedding = Encoder(minilm)
        self._parser = Parser()
        self.parser = self._parser.name
        """Name and version of the parser's model."""

    def score(self, pairs: Sequence[tuple[str, str]], alpha: float) -> list[Distance | DistanceError]:
        """Return the distance of each (original, paraphrase) pair, or an error if it has none."""
        refused = [_refusal(*pair) for pair in pairs]
        accepted = (pair for pair, error in zip(pairs, refused, strict=True) if error is None)
        texts = list(dict.fromkeys(text for pair in accepted for text in pair))
        parses = dict(zip(texts, self._parser.parse(texts), strict=True))
        words = list(dict.fromkeys(lemma for parse in parses.values() for lemma in parse.lemmas))
        vectors, row = self.embedding.sentences(words), {word: number for number, word in enumerate(words)}

        def distance(original: str, paraphrase: str) -> Distance | DistanceError:
            before, after = parses[original], parses[paraphrase]
            if not before.lemmas:
                return DistanceError("the original has no content words to compare")
            rows, columns = (
                np.array([row[lemma] for lemma in parse.lemmas], dtype=np.int64) for parse in (before, after)
            )
            s_k = 0.0
            if len(columns):
                cosines = vectors[rows] @ vectors[columns].T  # (original's words, paraphrase's words)
                cosines[rows[:, None] == columns] = 1.0
                s_k = round(float(cosines.max(axis=1).mean()), DIGITS)
            s_t = 1 - edit_distance(before.tree, after.tree) / (len(before.tree) + len(after.tree))
            pd = alpha * (1 - s_k) + (1 - alpha) * (1 - s_t)
            both = {"the original": (original, before), "the paraphrase": (paraphrase, after)}
            return Distance(s_k, s_t, pd, self.parser, warnings=tuple(_warnings(both, pd)))

        return [error or distance(*pair) for pair, error in zip(pairs, refused, strict=True)]


def _warnings(texts: Mapping[str, tuple[str, Parse]], pd: float) -> Iterator[str]:
    """Yield the reasons why a score may be unreliable, and the differences that it ignores, such as word order."""
    for name, (_, parse) in texts.items():
        if parse.english < ENGLISH:
            yield f"{name} does not appear to be English, the only language of the models"
        if parse.roots > 1:
            yield f"{name} has more than one sentence: only the first counts in s_t"
    if not texts["the paraphrase"][1].lemmas:
        yield "the paraphrase has no content words: s_k is 0"
    before, after = (text.lower().split() for text, _ in texts.values())
    if before != after and sorted(before) == sorted(after):
        yield "the same words in another order: pd does not show whether the meaning is the same"
    elif before != after and pd < NO_DISTANCE:
        yield f"pd is {pd:.2f} although the texts differ: pd ignores this difference"


MAX_CHARACTERS = 2000
"""Maximum length of a text, in characters. Instructions have about a hundred; the time to compare trees grows with up
to the fourth power of their size.
"""
_UNREADABLE = {"Cc": "a control character", "Cf": "an invisible character", "Cs": "an unpaired surrogate"}


def _refusal(*pair: object) -> DistanceError | None:
    """Return an error if either of two texts cannot be parsed."""
    for text, what in zip(pair, ("the original", "the paraphrase"), strict=True):
        if not isinstance(text, str):
            return DistanceError(f"{what} must be text, not {type(text).__name__}")
        if not text.strip():
            return DistanceError(f"{what} is empty")
        if len(text) > MAX_CHARACTERS:
            return DistanceError(
                f"{what} has {len(text)} characters: at most {MAX_CHARACTERS} can be compared"
            )
        for place, character in enumerate(text, start=1):
            kind = _UNREADABLE.get(unicodedata.category(character))
            if kind is not None:
                code = f"U+{ord(character):04X}"
                return DistanceError(f"{what} contains {kind} ({code}) at position {place}: remove it")
    return None
