"""The distance of a paraphrase from its original, and of many."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from assay.perturb.words.distance.models import MINILM, minilm_files

if TYPE_CHECKING:
    from assay.perturb.words.distance.scorer import Scorer
import hashlib
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from assay.errors import AssayError
from assay.perturb.words.distance.models import MINILM_SHA256, PARSER_VERSION
from assay.support.files import KeyValues, cache_folder

ALPHA = 0.5


class DistanceError(AssayError):
    """A text, or a table of texts, for which there is no distance."""


@dataclass(frozen=True, slots=True)
class Distance:
    """How far a paraphrase is from its original."""

    s_k: float
    """Keyword similarity, at most 1: how near the nearest words to the original's content words are."""
    s_t: float
    """Structural similarity, in [0, 1]: how much of the two dependency trees is alike."""
    pd: float
    """Paraphrase distance, 1 - (alpha S_K + (1 - alpha) S_T); 0 is no distance."""
    parser: str
    """Name and version of the parser's model."""
    embedding: str = MINILM
    """Name of the embeddings' model."""
    warnings: tuple[str, ...] = ()
    """Why the score may mean little; usually none."""


def distance(original: str, paraphrase: str, *, alpha: float = ALPHA) -> Distance:
    """The distance of a paraphrase from its original.

    Raises DistanceError where a text is empty, longer than 2,000 characters or holds control characters, and
    where the original has no content words. What is no English, and a paraphrase without content words, is
    scored with a warning. Only the first sentence of a text counts in S_T.
    """
    (result,) = attempts([(original, paraphrase)], alpha=alpha)
    if isinstance(result, DistanceError):
        raise result
    for warning in result.warnings:
        warnings.warn(warning, stacklevel=2)
    return result


def distances(pairs: Iterable[tuple[str, str]], *, alpha: float = ALPHA) -> list[Distance]:
    """The distances of many (original, paraphrase), much faster together than one by one.

    Raises DistanceError for the first pair that has none, and says which.
    """
    return all_scored(attempts(pairs, alpha=alpha))


def all_scored(found: Iterable[Distance | DistanceError]) -> list[Distance]:
    """The distances, where every pair has one. Raises DistanceError for the first that has none."""
    scored: list[Distance] = []
    for number, result in enumerate(found, start=1):
        if isinstance(result, DistanceError):
            raise DistanceError(f"pair {number}: {result}")
        scored.append(result)
    return scored


def attempts(pairs: Iterable[tuple[str, str]], *, alpha: float = ALPHA) -> list[Distance | DistanceError]:
    """As ``distances``, but with the error in the place of a pair that has no distance."""
    if not 0.0 <= alpha <= 1.0:
        raise DistanceError(f"alpha is {alpha}: valid: 0 (structure only) to 1 (keywords only)")
    return scorer().score(list(pairs), alpha)


@cache
def scorer() -> Scorer:
    """The one scorer of this process; making it takes seconds."""
    with ThreadPoolExecutor(1) as beside:
        # 90 MB are read and hashed while spaCy is imported.
        minilm = beside.submit(minilm_files)
        from assay.perturb.words.distance.scorer import Scorer

        return Scorer(minilm.result())


RECIPE = 1
"""To be raised whenever a pair gets another score, or another warning, than before."""

Pair = tuple[str, str]


def cached_distances(pairs: Sequence[Pair]) -> list[Distance]:
    """As ``distances``, but only pairs that were never scored before are scored; the models may stay away."""
    return all_scored(cached_attempts(pairs))


def cached_attempts(pairs: Sequence[Pair]) -> list[Distance | DistanceError]:
    """As ``cached_distances``, but with the error in the place of a pair that has no distance."""
    try:
        with closing(_scores()) as scores:
            results: dict[Pair, Distance | DistanceError] = {**_read_scores(scores, pairs)}
            new = [pair for pair in dict.fromkeys(pairs) if pair not in results]
            if new:
                scored = dict(zip(new, attempts(new), strict=True))
                results |= scored
                scores.put_all(
                    (*pair, *_row(result)) for pair, result in scored.items() if isinstance(result, Distance)
                )
            return [results[pair] for pair in pairs]
    except (sqlite3.Error, OSError):
        return attempts(pairs)  # without a place to remember, it takes longer, and that is all


def memory_file() -> Path:
    """Where distances are kept; another file for other models and other recipes."""
    made_with = json.dumps([RECIPE, MINILM_SHA256, PARSER_VERSION], sort_keys=True)
    return cache_folder() / f"distances-{hashlib.sha256(made_with.encode()).hexdigest()[:12]}.sqlite"


def _scores() -> KeyValues:
    columns = ("s_k", "s_t", "parser", "warnings")
    return KeyValues(memory_file(), "scores", ("original", "paraphrase"), columns, wal=False)


def _read_scores(scores: KeyValues, pairs: Sequence[Pair]) -> dict[Pair, Distance]:
    stored: dict[Pair, Distance] = {}
    for pair in pairs:
        if row := scores.get(*pair):
            s_k, s_t, parser, warnings = row
            pd = ALPHA * (1 - s_k) + (1 - ALPHA) * (1 - s_t)
            stored[pair] = Distance(s_k, s_t, pd, parser, warnings=tuple(json.loads(warnings)))
    return stored


def _row(found: Distance) -> tuple[float, float, str, str]:
    return found.s_k, found.s_t, found.parser, json.dumps(found.warnings)
