"""Resampling: the cluster bootstrap, and permutation tests of labels and tables.

The bootstrap provides intervals for statistics of sums for which there is no closed-form interval. Clusters are
drawn with all their episodes, so that repeated seeds are not counted as independent. With few clusters the
percentiles are taken further out than 2.5 %, to the extent that Student's distribution is wider than the normal
one (Hesterberg's expanded percentile interval). Permutation tests are exact if there are few permutations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np

from assay.support.stats.intervals import LEVEL, Interval, Z
from assay.support.stats.significance import normal_below, t_quantile
from assay.support.streams import stream

DRAWS = 2_000
FEWEST = 5
"""Minimum number of clusters for which a measure has an interval."""
ENOUGH = 20
"""Minimum number of clusters for bootstrap intervals; for ratios, 5 give 83 % coverage, and 12 give 91 %."""
_AT_ONCE = 2_000_000
"""Maximum number of array elements in memory at a time."""


def bootstrap(sums: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray]) -> Interval | None:
    """Return the interval of ``statistic``, a function of the totals of ``sums`` (clusters, k).

    The statistic maps totals (draws, k) to values (draws,); draws in which it is not finite are omitted. Returns None
    for fewer than twenty clusters, or if the statistic is finite in too few draws.
    """
    if len(sums) < ENOUGH:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        return percentiles(statistic(resample(sums)), len(sums))


def percentiles(values: np.ndarray, clusters: int) -> Interval | None:
    """Return the interval of a statistic from its values over the draws (draws,)."""
    values = values[np.isfinite(values)]
    if len(values) < DRAWS / 2:
        return None
    wider = np.sqrt(clusters / (clusters - 1)) * t_quantile((1 - LEVEL) / 2, clusters - 1)
    tail = float(normal_below(wider))
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(float(low), float(high), "cluster bootstrap")


def resample(sums: np.ndarray) -> np.ndarray:
    """Return the totals (draws, k) of ``sums`` (clusters, k) over resampled clusters."""
    sums, clusters = np.ascontiguousarray(sums, float), len(sums)
    if clusters * DRAWS <= _AT_ONCE:
        return np.asarray(_times_drawn(clusters) @ sums)
    rng, rows = stream("bootstrap", clusters), max(1, _AT_ONCE // clusters)
    parts = [min(rows, DRAWS - first) for first in range(0, DRAWS, rows)]
    return np.concatenate([rng.multinomial(clusters, _even(clusters), part) @ sums for part in parts])


@lru_cache(maxsize=2)
def _times_drawn(clusters: int) -> np.ndarray:
    """Return the number of times each cluster is drawn, shape (draws, clusters)."""
    drawn = stream("bootstrap", clusters).multinomial(clusters, _even(clusters), DRAWS)
    return drawn.astype(float)


def _even(clusters: int) -> np.ndarray:
    return np.full(clusters, 1 / clusters)


_PERMUTATIONS = 10_000
"""Maximum number of permutations to enumerate; if there are more, this many are sampled."""


def labels_behind(hits: np.ndarray, counts: np.ndarray, mine: np.ndarray) -> float:
    """Return the one-sided p value for a lower success rate in clusters with a label than in the other clusters.

    ``hits`` and ``counts`` (clusters,) are the successes and episodes of each cluster; ``mine`` (clusters,) is the
    mask of clusters with the label. The p value is the fraction of label permutations in which labelled clusters
    succeed less by at least the observed difference; it is 1 if all clusters have the label, or none.
    """
    many, of = int(mine.sum()), len(hits)
    if many in (0, of):
        return 1.0
    dealt, added = _permute_labels(of, many)
    with_it, among = dealt @ hits, dealt @ counts
    behind = with_it / among - (hits.sum() - with_it) / (counts.sum() - among)
    seen = hits[mine].sum() / counts[mine].sum() - hits[~mine].sum() / counts[~mine].sum()
    return float(((behind <= seen + 1e-6).sum() + added) / (len(dealt) + added))


@lru_cache(maxsize=64)
def _permute_labels(of: int, many: int) -> tuple[np.ndarray, int]:
    """Return permutations (n, clusters) of ``many`` labels over ``of`` clusters, and 1 if sampled or 0 if all."""
    if comb(of, many) > _PERMUTATIONS:
        order = stream("labels", of, many).random((_PERMUTATIONS, of)).argsort(axis=1)
        return (order < many).astype(np.float32), 1
    dealt = np.zeros((comb(of, many), of), np.float32)
    for row, chosen in enumerate(combinations(range(of), many)):
        dealt[row, list(chosen)] = 1
    return dealt, 0


def table_correlation(x: np.ndarray, y: np.ndarray) -> tuple[float, float, Interval]:
    """Return Pearson's correlation of two tables (rows, columns), its two-sided p value and its interval.

    Missing cells are nan. Cells in the same row or column are not independent, so entire rows and columns of x are
    permuted. The interval is Fisher's, with the spread of the correlations under permutation.
    """
    rng = stream("table", *x.shape)
    rows = rng.random((_PERMUTATIONS, x.shape[0])).argsort(axis=1)
    columns = rng.random((_PERMUTATIONS, x.shape[1])).argsort(axis=1)
    dealt = x[rows[:, :, None], columns[:, None, :]].reshape(_PERMUTATIONS, -1)
    r, by_chance = float(_pearson(x.reshape(1, -1), y.ravel())[0]), _pearson(dealt, y.ravel())
    by_chance = by_chance[np.isfinite(by_chance)]
    p = float(((np.abs(by_chance) >= abs(r) - 1e-12).sum() + 1) / (len(by_chance) + 1))
    limit = 1 - 1e-12
    cells = int((np.isfinite(x) & np.isfinite(y)).sum())
    spread = float(np.std(np.arctanh(np.clip(by_chance, -limit, limit))))
    half = Z * max(spread, 1 / max(cells - 3, 1) ** 0.5)
    low, high = np.tanh(np.arctanh(np.clip(r, -limit, limit)) + np.array([-half, half]))
    return r, p, Interval(float(low), float(high), "fisher, over rows and columns")


def _pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the correlations (n,) of each row of x (n, cells) with y (cells,), over cells known in both."""
    both = np.isfinite(x) & np.isfinite(y)
    count = both.sum(axis=1)
    first, second = np.where(both, x, 0.0), np.where(both, y, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        first = np.where(both, first - (first.sum(axis=1) / count)[:, None], 0.0)
        second = np.where(both, second - (second.sum(axis=1) / count)[:, None], 0.0)
        return np.asarray(
            (first * second).sum(axis=1) / np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
        )
