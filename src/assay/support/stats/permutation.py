"""Tests by dealing anew: labels over clusters, rows and columns of a table. Exact where there are few ways to deal."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

from assay.support.stats.intervals import Interval, Z
from assay.support.streams import stream

DRAWS = 10_000
"""Ways to deal that are tried, where there are more."""


def labels_behind(hits: np.ndarray, counts: np.ndarray, mine: np.ndarray) -> float:
    """One-sided p that clusters with a label (``mine``, (clusters,)) succeed less than those without it.

    From successes and episodes of each cluster (clusters,): the share of the ways to deal as many labels to the
    clusters in which those with it are as far behind. 1 where all have it, or none.
    """
    many, of = int(mine.sum()), len(hits)
    if many in (0, of):
        return 1.0
    dealt, added = _dealt(of, many)
    with_it, among = dealt @ hits, dealt @ counts
    behind = with_it / among - (hits.sum() - with_it) / (counts.sum() - among)
    seen = hits[mine].sum() / counts[mine].sum() - hits[~mine].sum() / counts[~mine].sum()
    return float(((behind <= seen + 1e-6).sum() + added) / (len(dealt) + added))


@lru_cache(maxsize=64)
def _dealt(of: int, many: int) -> tuple[np.ndarray, int]:
    """Ways to deal so many labels, (ways, clusters), 0 or 1, and 1 if these are drawn, 0 if they are all."""
    if comb(of, many) > DRAWS:
        order = stream("labels", of, many).random((DRAWS, of)).argsort(axis=1)
        return (order < many).astype(np.float32), 1
    dealt = np.zeros((comb(of, many), of), np.float32)
    for row, chosen in enumerate(combinations(range(of), many)):
        dealt[row, list(chosen)] = 1
    return dealt, 0


def table_correlation(x: np.ndarray, y: np.ndarray) -> tuple[float, float, Interval]:
    """Pearson's correlation of two tables (rows, columns), nan where nothing is known, its two-sided p and interval.

    If x has nothing to do with y, its rows and its columns may change places: cells of one row, or column, have much in
    common and are no witnesses of their own. The interval is Fisher's, as wide as correlations then differ by chance.
    """
    rng = stream("table", *x.shape)
    rows = rng.random((DRAWS, x.shape[0])).argsort(axis=1)
    columns = rng.random((DRAWS, x.shape[1])).argsort(axis=1)
    dealt = x[rows[:, :, None], columns[:, None, :]].reshape(DRAWS, -1)
    r, by_chance = float(_pearson(x.reshape(1, -1), y.ravel())[0]), _pearson(dealt, y.ravel())
    by_chance = by_chance[np.isfinite(by_chance)]
    p = float(((np.abs(by_chance) >= abs(r) - 1e-12).sum() + 1) / (len(by_chance) + 1))
    limit = 1 - 1e-12
    known = int((np.isfinite(x) & np.isfinite(y)).sum())
    spread = float(np.std(np.arctanh(np.clip(by_chance, -limit, limit))))
    half = Z * max(spread, 1 / max(known - 3, 1) ** 0.5)
    low, high = np.tanh(np.arctanh(np.clip(r, -limit, limit)) + np.array([-half, half]))
    return r, p, Interval(float(low), float(high), "fisher, over rows and columns")


def _pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The correlation of each row of x (n, cells) with y (cells,), where both are known: (n,)."""
    both = np.isfinite(x) & np.isfinite(y)
    count = both.sum(axis=1)
    first, second = np.where(both, x, 0.0), np.where(both, y, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        first = np.where(both, first - (first.sum(axis=1) / count)[:, None], 0.0)
        second = np.where(both, second - (second.sum(axis=1) / count)[:, None], 0.0)
        return np.asarray(
            (first * second).sum(axis=1) / np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
        )
