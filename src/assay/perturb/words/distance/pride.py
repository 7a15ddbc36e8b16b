"""Distances of paraphrases from their originals."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import AssayError
from assay.perturb.words.distance.models import MINILM, MINILM_SHA256, PARSER_VERSION, minilm_files
from assay.support.files import KeyValues, cache_folder

if TYPE_CHECKING:
    from assay.perturb.words.distance.scorer import Scorer

ALPHA = 0.5


class DistanceError(AssayError):
    """Raised when no distance is defined for a text or a table of texts."""


@dataclass(frozen=True, slots=True)
class Distance:
    """Distance of a paraphrase from its original."""

    s_k: float
    """Keyword similarity, at most 1: mean similarity of the original's content words to their nearest matches."""
    s_t: float
    """Structural similarity of the two dependency trees, in [0, 1]."""
    pd: float
    """Paraphrase distance, 1 - (alpha S_K + (1 - alpha) S_T); 0 means identical."""
    parser: str
    """Name and version of the parser's model."""
    embedding: str = MINILM
    """Name of the embedding model."""
    warnings: tuple[str, ...] = ()
    """Reasons why the score may be unreliable; usually empty."""


def distance(original: str, paraphrase: str, *, alpha: float = ALPHA) -> Distance:
    """Return the distance of a paraphrase from its original.

    Raises DistanceError if a text is empty, is longer than 2,000 characters or contains control characters, or if
    the original has no content words. Texts that are not English, and paraphrases without content words, are
    scored with a warning. Only the first sentence of a text counts in S_T.
    """
    (result,) = attempts([(original, paraphrase)], alpha=alpha)
    if isinstance(result, DistanceError):
        raise result
    for warning in result.warnings:
        warnings.warn(warning, stacklevel=2)
    return result


def distances(pairs: Iterable[tuple[str, str]], *, alpha: float = ALPHA) -> list[Distance]:
    """Return the distances of many (original, paraphrase) pairs, which is much faster than one by one.

    Raises a DistanceError that names the first pair without a distance.
    """
    scored: list[Distance] = []
    for number, result in enumerate(attempts(pairs, alpha=alpha), start=1):
        if isinstance(result, DistanceError):
            raise DistanceError(f"pair {number}: {result}")
        scored.append(result)
    return scored


def attempts(pairs: Iterable[tuple[str, str]], *, alpha: float = ALPHA) -> list[Distance | DistanceError]:
    """Like ``distances``, but for a pair without a distance, return the error in its place."""
    if not 0.0 <= alpha <= 1.0:
        raise DistanceError(f"alpha is {alpha}: expected 0 (structure only) to 1 (keywords only)")
    return scorer().score(list(pairs), alpha)


@cache
def scorer() -> Scorer:
    """Return the scorer of this process. The first call creates it, which takes seconds."""
    with ThreadPoolExecutor(1) as beside:
        # 90 MB are read and hashed while spaCy is imported.
        minilm = beside.submit(minilm_files)
        from assay.perturb.words.distance.scorer import Scorer

        return Scorer(minilm.result())


RECIPE = 2
"""Version of the scores, which must be increased whenever the score or warning of any pair changes."""

Pair = tuple[str, str]


def cached_attempts(pairs: Sequence[Pair]) -> list[Distance | DistanceError]:
    """Like ``attempts``, but with a cache on disk: the models are loaded only for new pairs."""
    columns = ("s_k", "s_t", "parser", "warnings")
    results: dict[Pair, Distance | DistanceError] = {}
    try:
        with closing(
            KeyValues(cache_file(), "scores", ("original", "paraphrase"), columns, wal=False)
        ) as scores:
            for pair in pairs:
                if row := scores.get(*pair):
                    s_k, s_t, parser, notes = row
                    pd = ALPHA * (1 - s_k) + (1 - ALPHA) * (1 - s_t)
                    results[pair] = Distance(s_k, s_t, pd, parser, warnings=tuple(json.loads(notes)))
            new = [pair for pair in dict.fromkeys(pairs) if pair not in results]
            if new:
                scored = dict(zip(new, attempts(new), strict=True))
                results |= scored
                scores.put_all(
                    (*pair, result.s_k, result.s_t, result.parser, json.dumps(result.warnings))
                    for pair, result in scored.items()
                    if isinstance(result, Distance)
                )
            return [results[pair] for pair in pairs]
    except (sqlite3.Error, OSError, UnicodeEncodeError):
        return attempts(pairs)  # without the cache: no place for it, or a text that SQLite cannot store


def cache_file() -> Path:
    """Return the cache file of distances, which depends on the models and `RECIPE`."""
    made_with = json.dumps([RECIPE, MINILM_SHA256, PARSER_VERSION], sort_keys=True)
    return cache_folder() / f"distances-{hashlib.sha256(made_with.encode()).hexdigest()[:12]}.sqlite"
