"""Variances, intervals and effective sample sizes for episodes that share starts or variants.

Tasks are fixed. Starts (a task and an initial state) and variants (a task, its condition and its instruction) are
sampled, and every variant is run from every start. The variance of a sum follows Cameron, Gelbach and Miller (2011) for
two crossed levels of clustering: the variance between starts plus that between variants, minus the part in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from assay.measures.frames import START, group_rows
from assay.support.stats import intervals
from assay.support.stats.intervals import Difference, Interval

UNIT = pl.col("task").is_not_null().cast(pl.Float64)
"""Weight 1 for every row."""
_PRIOR_STARTS = 2.0
"""Weight, as a number of starts, of the variance over all tasks when it serves as a prior for one task."""
_FIXED = ("task", "condition")
"""Columns within which variants are sampled if rates or differences over several conditions are compared."""
FEWEST_VARIANTS = 4
"""Minimum number of variants, beyond the first of each task and condition, for variants to count as sampled.

If there are fewer, they are treated as fixed, like tasks: with a single degree of freedom, their variance would
dominate the information from the starts.
"""
UNVARIED = "one start per task: the variation between starts is unknown"
"""Note added to the method of an interval that holds only for the observed starts."""


def variances(rows: pl.DataFrame, *off: pl.Expr, given: Sequence[str] = ("task",)) -> list[float]:
    """Return the variance of the sum over all rows, for each expression ``off`` (deviation from a mean).

    Variants count as sampled within the columns ``given`` if there are enough of them. The result is at least the
    variance of independent episodes, and is inflated as in Student's distribution if there are few clusters.
    """
    _, task, start, stratum, variant = _cluster_codes(rows, (), given)
    starts, variants = _number_clusters(task, start), _number_clusters(stratum, variant)
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
        result.append(float(spread / intervals.small_sample_factor(freedom + 1)))
    return result


Nest = tuple[np.ndarray, np.ndarray]
"""Index of each row's cluster (n,), and the stratum of each cluster, as returned by `_number_clusters`."""


def _between_sums(
    off: np.ndarray, strata: np.ndarray, clusters: Nest | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of squares between clusters (or episodes) and the degrees of freedom, for each stratum."""
    count = np.bincount(strata)
    centred = off - (np.bincount(strata, off) / np.maximum(count, 1))[strata]
    squares, many = _squared_sums(centred, strata, clusters)
    few = np.where(many > 1, many / np.maximum(many - 1, 1), 0.0)
    return squares * few, np.maximum(many - 1, 0)


def _squared_sums(
    values: np.ndarray, strata: np.ndarray, clusters: Nest | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each stratum, the sum of the squared totals of its clusters (or episodes), and their number."""
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
    """Return the effective sample size and Wilson interval of the rate of ``hit`` (0 or 1) in each group ``by``.

    If no task has a second start, the interval holds only for the observed starts, and its method says so.
    """
    if rows.is_empty():
        return {}
    group, task, start, stratum, variant = _cluster_codes(rows, by, given)
    task, tasks_group = nest = _number_clusters(group, task)
    hits = rows[hit].cast(pl.Float64).to_numpy()
    weights = np.ones(len(hits)) if weight is None else rows[weight].cast(pl.Float64).to_numpy()
    total, squared = np.bincount(group, weights), np.bincount(group, weights**2)
    share = np.bincount(group, weights * hits) / total
    off = weights * (hits - share[group])
    clusterings = [
        _correlation(group, strata, clusters, hits, weights, off)
        for strata, clusters in ((nest, start), (_number_clusters(group, stratum), variant))
    ]
    # Fraction of an episode's variance that is within tasks. The variance of a task is shrunk towards that of all
    # tasks; the fewer starts it has, the more it is shrunk.
    here = np.bincount(task, weights * hits) / np.bincount(task, weights)
    many = np.bincount(_number_clusters(task, start)[1])
    own = here * (1 - here) * many / np.maximum(many - 1, 1)
    whole = share * (1 - share)
    shrunk = (_PRIOR_STARTS * whole[tasks_group] + many * own) / (_PRIOR_STARTS + many)
    squares = np.bincount(task, weights**2)
    parts = squares * np.where(many > 1, shrunk, whole[tasks_group])
    within = np.bincount(tasks_group, parts) / np.bincount(tasks_group, squares)
    left = np.where(whole > 0, np.clip(within / np.where(whole > 0, whole, 1.0), 0.0, 1.0), 1.0)
    result = {}
    _, first = np.unique(group, return_index=True)
    for at in np.argsort(first):
        most, unit = total[at] ** 2 / squared[at], squared[at] / total[at]
        spread, excess, largest = intervals.bernoulli_variance(share[at], most), 0.0, 0.0
        for cross, pairs, free, rare in (estimates[at] for estimates in clusterings):
            correlation = intervals.icc(cross / unit**2, spread * pairs / unit**2, free, rare)
            excess, largest = excess + correlation * pairs / unit**2, max(largest, pairs / unit**2)
        # Starts and variants overlap, so the larger excess bounds their sum; tasks are fixed and add no variance.
        count = float(most**2 / (most * left[at] + min(excess, largest)))
        interval = intervals.wilson_interval(share[at], count)
        if not clusterings[0][at, 2]:
            interval = replace(interval, method=f"{interval.method}, {UNVARIED}", one_start=True)
        result[rows.select(by).row(int(first[at])) if by else ()] = count, interval
    return result


def _correlation(
    group: np.ndarray,
    strata: Nest,
    clusters: np.ndarray,
    hits: np.ndarray,
    weights: np.ndarray,
    off: np.ndarray,
) -> np.ndarray:
    """Return the terms of the correlation within clusters (starts or variants) for each group: (groups, 4).

    The columns are the sum, over pairs of rows in the same cluster, of the products of their deviations, the same
    sum for their weights, the degrees of freedom, and the number of clusters with the rarer outcome. All but the
    last include only strata with several clusters.
    """
    (stratum, of), groups = strata, group.max() + 1
    nest = _number_clusters(stratum, clusters)
    squares, free = _between_sums(off, stratum, nest)
    cross = squares - _between_sums(off, stratum, None)[0]
    pairs = _squared_sums(weights, stratum, nest)[0] - _squared_sums(weights, stratum, None)[0]
    where, belongs = _number_clusters(group, clusters)
    won, lost = (np.bincount(where, outcome) > 0 for outcome in (hits > 0, hits < 1))
    rare = np.minimum(np.bincount(belongs, won, groups), np.bincount(belongs, lost, groups))
    sums = (np.bincount(of, np.where(free > 0, term, 0), groups) for term in (cross, pairs, free))
    return np.column_stack([*sums, rare])


@dataclass(frozen=True, slots=True)
class GroupShare:
    """Fraction of the rows in one group that have a property."""

    group: dict[str, Any]
    """Columns that define the group, and their values."""
    rows: pl.DataFrame
    hits: int
    """Number of rows with the property."""
    share: float
    interval: Interval
    """Wilson interval of ``share``, clustered by start and variant."""


def group_shares(rows: pl.DataFrame, hit: str, by: Sequence[str] = ()) -> list[GroupShare]:
    """Return the rate of ``hit`` (0 or 1) in each group ``by``, in order of appearance; empty without rows."""
    estimates = shares(rows, hit, by)
    result = []
    for key, group in group_rows(rows, by) if len(rows) else ():
        hits, names = int(group[hit].sum()), dict(zip(by, key, strict=True))
        result.append(GroupShare(names, group, hits, hits / len(group), estimates[key][1]))
    return result


@dataclass(frozen=True, slots=True)
class Ratio:
    """A rate relative to another one from the same rows, for example the success that a policy retains."""

    value: float
    interval: Interval
    off: pl.Expr
    """Contribution of a row to the error of ``value``; its sum over all rows is 0."""


def difference(rows: pl.DataFrame, first: str, second: str) -> tuple[Difference, float]:
    """Return the difference between the rates of two columns of 0 and 1, with its Newcombe interval and standard error.

    Tasks and conditions are fixed; starts and wordings are sampled.
    """
    rates, counts, (one, other, apart) = _rates_of(rows, first, second)
    return intervals.newcombe(rates, counts, correlation_of(one, other, apart)), apart**0.5


def ratio(rows: pl.DataFrame, first: str, second: str) -> Ratio | None:
    """Return the rate of ``second`` divided by that of ``first``, with its interval; None if ``first`` is always 0.

    Values are from 0 to 1. Tasks and conditions are fixed; starts and wordings are sampled.
    """
    if not len(rows) or not rows[first].sum():
        return None
    rates, counts, (one, other, apart) = _rates_of(rows, first, second)
    interval = intervals.ratio_interval(rates, counts, correlation_of(one, other, apart))
    assert interval is not None
    value = rates[1] / rates[0]
    off = (pl.col(second) - value * pl.col(first)) / (rates[0] * len(rows))
    return Ratio(value, interval, off)


def correlation_of(one: float, other: float, apart: float) -> float:
    """Return the correlation of two quantities from their variances and the variance of their difference."""
    if one * other <= 0:
        return 0.0
    return float(min(max((one + other - apart) / (2 * (one * other) ** 0.5), -1.0), 1.0))


def _rates_of(
    rows: pl.DataFrame, first: str, second: str
) -> tuple[tuple[float, float], tuple[float, float], list[float]]:
    """Return the rates of two columns, their effective sample sizes, and the variances of both and of their gap."""
    rates: tuple[float, float] = rows.select(pl.col(first).mean(), pl.col(second).mean()).row(0)
    off = [(pl.col(name) - rate) / len(rows) for name, rate in zip((first, second), rates, strict=True)]
    spread = variances(
        rows, *(value.alias(str(at)) for at, value in enumerate((*off, off[1] - off[0]))), given=_FIXED
    )
    counts = (
        shares(rows, first, given=_FIXED)[()][0],
        shares(rows, second, given=_FIXED)[()][0],
    )
    return rates, counts, spread


def mean(rows: pl.DataFrame, column: str) -> Interval | None:
    """Return the Student interval of a mean; None for fewer than two distinct values."""
    middle = float(rows[column].mean())  # type: ignore[arg-type]
    if rows[column].n_unique() < 2:
        return None
    (variance,) = variances(rows, (pl.col(column) - middle) / len(rows))
    half = intervals.Z * variance**0.5
    return Interval(middle - half, middle + half, "student, over starts and variants")


def medians(
    rows: pl.DataFrame, column: str, by: Sequence[str] = ()
) -> dict[tuple[Any, ...], Interval | None]:
    """Return the interval of the median of each group ``by``, from order statistics (Woodruff).

    Uses the effective sample size of the fraction below the median. The interval is None if that size is below six.
    """
    middle = pl.col(column).median().over(by) if by else pl.col(column).median()
    counts = shares(rows.with_columns(_below=pl.col(column) <= middle), "_below", by)
    return {
        key: intervals.median_interval(group[column].to_numpy().astype(float), counts[key][0])
        for key, group in group_rows(rows, by)
    }


def _cluster_codes(rows: pl.DataFrame, by: Sequence[str], given: Sequence[str]) -> list[np.ndarray]:
    """Return integer codes of each row's group ``by``, task, start, stratum of variants, and variant: (rows,) each.

    A variant of a task is a condition and an instruction. Labels are ignored because they may describe the start.
    Variants are sampled within the columns ``given``.
    """
    columns: dict[str, np.ndarray] = {}

    def number_combinations(names: Sequence[str]) -> np.ndarray:
        codes = np.zeros(len(rows), np.int64)
        for place, name in enumerate(names):
            if name not in columns:
                column = rows[name]
                if column.dtype == pl.String:  # for a few thousand rows this is faster than a categorical
                    texts = column.to_list()
                    index = {text: at for at, text in enumerate(dict.fromkeys(texts))}
                    columns[name] = np.fromiter(map(index.__getitem__, texts), np.int64, len(texts))
                else:
                    columns[name] = np.unique(column.to_numpy(), return_inverse=True)[1]
            codes = _number_clusters(codes, columns[name])[0] if place and len(rows) else columns[name]
        return codes

    starts = number_combinations(START)
    is_held = len(starts) and number_combinations(["task"]).max() == starts.max()
    if is_held and number_combinations((*START, "seed")).max() > starts.max():
        # All seeds of a task share one start and repeat a variant from it. How well repetitions agree is visible only
        # between tasks.
        given = [name for name in given if name != "task"]
    variant = ["task", *sorted({"condition", "instruction"} & set(rows.columns))]
    return [
        starts if names is START else number_combinations(names)
        for names in (by, ["task"], START, given, variant)
    ]


def _number_clusters(strata: np.ndarray, clusters: np.ndarray) -> Nest:
    """Return the index of each row's cluster within its stratum (n,), and the stratum of each cluster."""
    width = clusters.max() + 1
    pairs, where = np.unique(strata * width + clusters, return_inverse=True)
    return where, pairs // width
