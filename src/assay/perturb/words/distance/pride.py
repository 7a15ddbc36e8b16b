"""The distance of a paraphrase from its original, and of many."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from assay.perturb.words.distance.errors import DistanceError
from assay.perturb.words.distance.models import MINILM, minilm_files

if TYPE_CHECKING:
    from assay.perturb.words.distance.scorer import Scorer

ALPHA = 0.5


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
    (found,) = attempts([(original, paraphrase)], alpha=alpha)
    if isinstance(found, DistanceError):
        raise found
    for warning in found.warnings:
        warnings.warn(warning, stacklevel=2)
    return found


def distances(pairs: Iterable[tuple[str, str]], *, alpha: float = ALPHA) -> list[Distance]:
    """The distances of many (original, paraphrase), much faster together than one by one.

    Raises DistanceError for the first pair that has none, and says which.
    """
    return all_scored(attempts(pairs, alpha=alpha))


def all_scored(found: Iterable[Distance | DistanceError]) -> list[Distance]:
    """The distances, where every pair has one. Raises DistanceError for the first that has none."""
    scored: list[Distance] = []
    for number, each in enumerate(found, start=1):
        if isinstance(each, DistanceError):
            raise DistanceError(f"pair {number}: {each}")
        scored.append(each)
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
