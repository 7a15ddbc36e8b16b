"""Variances, intervals and effective sample sizes for episodes that share starts or variants.

Tasks are fixed. Starts (a task and an initial state) and variants (a task, its condition and its instruction) are
sampled, and every variant is run from every start. The variance of a sum follows Cameron, Gelbach and Miller for two
crossed levels of clustering: the variance between starts plus that between variants, minus the part counted in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from assay.measures.frames import START, Codes, group_rows, number_clusters, with_starts
from assay.support.stats.intervals import (
    Difference,
    Interval,
    Z,
    bernoulli_variance,
    icc,
    median_interval,
    newcombe,
    small_sample_factor,
    wilson_interval,
)

UNIT = pl.col("task").is_not_null().cast(pl.Float64)
"""Weights for rows that all count equally."""
_PRIOR_STARTS = 2.0
"""Weight, in starts, of the variance over all tasks as a prior for the variance of one task."""
FEWEST_VARIANTS = 4
"""Minimum number of variants, beyond the first of each task and condition, for variants to count as sampled.

If there are fewer, they are treated as fixed, like tasks: a single degree of freedom would swamp the information
from the starts.
"""
UNVARIED = "one start per task: the variation between starts is unknown"
"""Suffix of the method of an interval that holds for the observed starts only."""


def variances(rows: pl.DataFrame, *off: pl.Expr, given: Sequence[str] = ("task",)) -> list[float]:
    """Return the variance of the sum of each expression over all rows.

    The values of an expression are the deviations of the episodes from a mean. Variants are sampled within the columns
    ``given``, if there are enough of them. The result is at least the variance of independent episodes, and is inflated
    as in Student's distribution if there are few clusters. It is 0 for expressions that are 0 in all rows.
    """
    rows = with_starts(rows)
    _, task, start, stratum, variant = _cluster_codes(rows, (), given)
    starts, variants = number_clusters(task, start), number_clusters(stratum, variant)
    result = []
    for deviations in rows.select(off).to_numpy().T:
        by_start, start_free = _between_sums(deviations, task, starts)
        by_variant, variant_free = _between_sums(deviations, stratum, variants)
        within_variants, _ = _between_sums(deviations, stratum, None)
        several = (variant_free > 0) & (variant_free.sum() >= FEWEST_VARIANTS)
        spread = by_start.sum() + (by_variant - within_variants)[several].sum()
        alone = float(deviations @ deviations)
        single = _between_sums(deviations, task, None)[0].sum()  # exceeds that if each start has one episode
        if spread <= max(alone, single) * (1 + 1e-9):
            result.append(alone)
            continue
        freedom = min(free for free in (start_free.sum(), variant_free[several].sum()) if free > 0)
        result.append(float(spread / small_sample_factor(freedom + 1)))
    return result


Nest = tuple[np.ndarray, np.ndarray]
"""Index of each row's cluster (n,), and the stratum of each cluster, as returned by `number_clusters`."""


def _between_sums(
    off: np.ndarray, strata: np.ndarray, clusters: Nest | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared sums of clusters, or of episodes, about the mean of their stratum.

    Also return the degrees of freedom of each stratum.
    """
    count = np.bincount(strata)
    centred = off - (np.bincount(strata, off) / np.maximum(count, 1))[strata]
    squares, many = _squared_sums(centred, strata, clusters)
    few = np.where(many > 1, many / np.maximum(many - 1, 1), 0.0)
    return squares * few, np.maximum(many - 1, 0)


def _squared_sums(
    values: np.ndarray, strata: np.ndarray, clusters: Nest | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared sums of the clusters, or of the episodes, in each stratum, and their number."""
    if clusters is None:
        return np.bincount(strata, values**2), np.bincount(strata)
    where, belongs = clusters
    many = strata.max() + 1
    return np.bincount(belongs, np.bincount(where, values) ** 2, many), np.bincount(belongs, minlength=many)


def shares(
    rows: pl.DataFrame,
    hit: str,
    by: Sequence[str] = (),
    weight: str | None = None,
    given: Sequence[str] = ("task",),
) -> dict[tuple[Any, ...], tuple[float, Interval]]:
    """Return the effective sample size and Wilson interval of the rate of ``hit`` (0 or 1) in each group.

    The rows of a group have the same values in the columns ``by``. If no task has a second start, the interval holds
    for the observed starts only, as its method states.
    """
    return Clusters(rows, by, given).shares(rows[hit], rows[weight] if weight else None)


@dataclass(frozen=True, slots=True)
class GroupShare:
    """Fraction of the rows of one group that have a property."""

    group: dict[str, Any]
    """Columns that define the group, and their values."""
    rows: pl.DataFrame
    hits: int
    share: float
    interval: Interval
    """Wilson interval over starts and variants."""


def group_shares(rows: pl.DataFrame, hit: str, by: Sequence[str] = ()) -> list[GroupShare]:
    """Return the rate of ``hit`` (0 or 1) in each group defined by the columns ``by``, in order of appearance.

    The result is empty if there are no rows.
    """
    estimates = shares(rows, hit, by)
    result = []
    for key, group in group_rows(rows, by) if len(rows) else ():
        hits, names = int(group[hit].sum()), dict(zip(by, key, strict=True))
        result.append(GroupShare(names, group, hits, hits / len(group), estimates[key][1]))
    return result


class Clusters:
    """Groups, tasks, starts and variants of a set of rows, computed once for several estimates."""

    def __init__(self, rows: pl.DataFrame, by: Sequence[str] = (), given: Sequence[str] = ("task",)) -> None:
        self.rows = with_starts(rows)
        if self.rows.is_empty():
            return
        group, task, start, stratum, variant = _cluster_codes(self.rows, by, given)
        self._group, (self._task, self._tasks_group) = group, number_clusters(group, task)
        self._starts = _Correlation(group, (self._task, self._tasks_group), start)
        self._variants = _Correlation(group, number_clusters(group, stratum), variant)
        _, first = np.unique(group, return_index=True)
        self._keys = {
            int(at): self.rows.select(by).row(int(first[at])) if by else () for at in np.argsort(first)
        }

    def shares(
        self, hit: pl.Series, weight: pl.Series | None = None
    ) -> dict[tuple[Any, ...], tuple[float, Interval]]:
        """Return the effective sample size and Wilson interval of each group, like the function `shares`."""
        if self.rows.is_empty():
            return {}
        hits = hit.cast(pl.Float64).to_numpy()
        weights = np.ones(len(hits)) if weight is None else weight.cast(pl.Float64).to_numpy()
        group = self._group
        total, squared = np.bincount(group, weights), np.bincount(group, weights**2)
        share = np.bincount(group, weights * hits) / total
        off = weights * (hits - share[group])
        clusterings = [kind.estimate(hits, weights, off) for kind in (self._starts, self._variants)]
        # Fraction of an episode's variance within tasks. The variance of a task is shrunk towards that of all tasks;
        # the fewer starts it has, the more it is shrunk.
        where, of = self._task, self._tasks_group
        here = np.bincount(where, weights * hits) / np.bincount(where, weights)
        many = np.bincount(self._starts.clusters[1])
        own = here * (1 - here) * many / np.maximum(many - 1, 1)
        whole = share * (1 - share)
        shrunk = (_PRIOR_STARTS * whole[of] + many * own) / (_PRIOR_STARTS + many)
        squares = np.bincount(where, weights**2)
        mean = np.bincount(of, squares * np.where(many > 1, shrunk, whole[of])) / np.bincount(of, squares)
        left = np.where(whole > 0, np.clip(mean / np.where(whole > 0, whole, 1.0), 0.0, 1.0), 1.0)
        result = {}
        for at, key in self._keys.items():
            most, unit = total[at] ** 2 / squared[at], squared[at] / total[at]
            spread, excess, largest = bernoulli_variance(share[at], most), 0.0, 0.0
            for cross, pairs, free, rare in (estimates[at] for estimates in clusterings):
                correlation = icc(cross / unit**2, spread * pairs / unit**2, free, rare)
                excess, largest = excess + correlation * pairs / unit**2, max(largest, pairs / unit**2)
            # Starts and variants overlap, so the larger excess bounds their sum; tasks are fixed and add no variance.
            count = float(most**2 / (most * left[at] + min(excess, largest)))
            interval = wilson_interval(share[at], count)
            if not clusterings[0][at, 2]:
                interval = replace(interval, method=f"{interval.method}, {UNVARIED}", one_start=True)
            result[key] = count, interval
        return result

    def median(self, values: pl.Series) -> Interval | None:
        """Return the interval of the median of all rows, like the function `medians`."""
        count, _ = self.shares(values <= values.median())[()]
        return median_interval(values.to_numpy().astype(float), count)


class _Correlation:
    """Correlation of rows that share a start or a variant, within the strata of a group."""

    def __init__(self, group: np.ndarray, strata: Nest, clusters: np.ndarray) -> None:
        self._stratum, self._of = strata
        self._groups = group.max() + 1
        self.clusters = number_clusters(self._stratum, clusters)
        self._in_group = number_clusters(group, clusters)

    def estimate(self, hits: np.ndarray, weights: np.ndarray, off: np.ndarray) -> np.ndarray:
        """Return the terms of the intra-cluster correlation of each group: (groups, 4).

        These are the sum of products of pairs of rows in the same cluster, the sum of the products of their weights,
        the degrees of freedom, and the number of clusters with the rarer outcome. All but the last include only strata
        with several clusters.
        """
        stratum, clusters, groups = self._stratum, self.clusters, self._groups
        squares, free = _between_sums(off, stratum, clusters)
        several = free > 0
        cross = squares - _between_sums(off, stratum, None)[0]
        pairs = _squared_sums(weights, stratum, clusters)[0] - _squared_sums(weights, stratum, None)[0]
        where, belongs = self._in_group
        won, lost = (np.bincount(where, outcome) > 0 for outcome in (hits > 0, hits < 1))
        rare = np.minimum(np.bincount(belongs, won, groups), np.bincount(belongs, lost, groups))
        sums = (np.bincount(self._of, np.where(several, term, 0), groups) for term in (cross, pairs, free))
        return np.column_stack([*sums, rare])


def difference(
    rows: pl.DataFrame, first: str, second: str, weights: tuple[str, str] | None = None
) -> tuple[Difference, float]:
    """Return the Newcombe interval for the difference between two rates in the same rows, and its standard error.

    Both are columns of 0 or 1. Tasks and conditions are fixed; starts and wordings are sampled. ``weights`` are
    columns of 0 or 1 that select the rows of each rate; all rows by default.
    """
    given, names = ("task", "condition"), (first, second)
    heavy = [UNIT if weights is None else pl.col(column).cast(pl.Float64) for column in weights or names]
    usual, off = [], []
    for name, weight in zip(names, heavy, strict=True):
        total, hits = rows.select(weight=weight, hit=weight * pl.col(name)).sum().row(0)
        usual.append(hits / total)
        off.append(weight * (pl.col(name) - usual[-1]) / total)
    one, other, apart = variances(
        rows, *(value.alias(str(at)) for at, value in enumerate((*off, off[1] - off[0]))), given=given
    )
    together = (one + other - apart) / (2 * (one * other) ** 0.5) if one * other > 0 else 0.0
    counts = [
        shares(rows.filter(weight > 0) if weights else rows, name, given=given)[()][0]
        for name, weight in zip(names, heavy, strict=True)
    ]
    return newcombe((usual[0], usual[1]), (counts[0], counts[1]), min(max(together, -1.0), 1.0)), apart**0.5


def linear(rows: pl.DataFrame, off: pl.Expr) -> float:
    """Return the half-width of the interval of a statistic whose linearised error is the sum of ``off``."""
    return float(Z * variances(rows, off)[0] ** 0.5)


def mean(rows: pl.DataFrame, column: str) -> Interval | None:
    """Return the Student interval of a mean; None for fewer than two distinct values."""
    middle = float(rows[column].mean())  # type: ignore[arg-type]
    if rows[column].n_unique() < 2:
        return None
    half = linear(rows, (pl.col(column) - middle) / len(rows))
    return Interval(middle - half, middle + half, "student, over starts and variants")


def medians(
    rows: pl.DataFrame, column: str, by: Sequence[str] = ()
) -> dict[tuple[Any, ...], Interval | None]:
    """Return the interval of the median of each group defined by ``by``, from order statistics (Woodruff).

    Uses the effective sample size for the fraction below the median. The interval is None if that size is below six.
    """
    middle = pl.col(column).median().over(by) if by else pl.col(column).median()
    below = rows.select(pl.col(column) <= middle)[column]
    counts = Clusters(rows, by).shares(below)
    return {
        key: median_interval(group[column].to_numpy().astype(float), counts[key][0])
        for key, group in group_rows(rows, by)
    }


def _cluster_codes(rows: pl.DataFrame, by: Sequence[str], given: Sequence[str]) -> list[np.ndarray]:
    """Return the codes of each row's group ``by``, task, start, stratum of variants, and variant: (rows,) each.

    A variant of a task is a condition and an instruction, without labels, which may belong to a start. Variants are
    sampled within the columns ``given``. With held starts, seeds repeat a variant of a task from its only start; the
    agreement between repetitions is then visible only between tasks.
    """
    of = Codes(rows)
    starts = of(START)
    if len(starts) and of((*START, "seed")).max() > starts.max():
        given = [name for name in given if name != "task"]
    variant = ["task", *sorted({"condition", "instruction"} & set(rows.columns))]
    return [of(by), of(["task"]), starts, of(given), of(variant)]
