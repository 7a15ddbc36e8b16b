"""Episodes that share a start or a variant are alike: how much less they know than as many strangers.

The tasks are the experiment's and given; what is drawn are starts (a task and an initial state) and variants (a
task, its condition and its words), every variant with every start. The variance of a sum is that of Cameron,
Gelbach and Miller for two crossed kinds of clusters: between starts, and between variants, less what both
count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from assay.measures.frames import START, Codes, held, nested, with_starts
from assay.support.stats.intervals import (
    Difference,
    Interval,
    bernoulli_variance,
    icc,
    median_interval,
    newcombe,
    small_sample_factor,
    wilson_interval,
)
from assay.support.stats.intervals import Z as _Z

UNIT = pl.col("task").is_not_null().cast(pl.Float64)
"""The weight of every row, where all count the same."""
_TRUST = 2.0
"""The starts that the variance of all tasks together is worth, as a guess at that of one."""
FEWEST_VARIANTS = 4
"""Variants, besides the first of each task and condition, below which they are given, as tasks are: two wordings
cannot tell what others would do, and one degree of freedom would drown what starts do tell."""
UNVARIED = "one start for each task: how much starts matter is unknown"
"""How the method of an interval ends that is about the very starts that were seen."""


def variances(rows: pl.DataFrame, *off: pl.Expr, given: Sequence[str] = ("task",)) -> list[float]:
    """The variance of the sum of each expression over all rows: what each episode is off a mean.

    Variants are drawn within what is ``given``, if there are enough of them. At least the variance of independent
    episodes; widened as far as Student's distribution is wider than the normal one where there are few clusters. Of
    what is 0 throughout nothing shows of any correlation, and the variance is 0.
    """
    rows = with_starts(rows)
    of = Codes(rows)
    task, start, stratum, variant = (
        of(names) for names in (("task",), START, _given(of, given), _variant(rows))
    )
    starts, variants = (task, nested(task, start)), (stratum, nested(stratum, variant))
    return [_variance(each, starts, variants) for each in rows.select(off).to_numpy().T]


Nest = tuple[np.ndarray, np.ndarray]
"""As `nested` has it: the number of each row's cluster (n,), and the stratum of each cluster."""


def _variance(off: np.ndarray, starts: tuple[np.ndarray, Nest], variants: tuple[np.ndarray, Nest]) -> float:
    """From what each episode is off (n,), and its task's number and start, its stratum's and variant."""
    (task, start), (given, variant) = starts, variants
    by_start, start_free = _between_sums(off, task, start)
    by_variant, variant_free = _between_sums(off, given, variant)
    alone_here, _ = _between_sums(off, given, None)
    known = variant_free.sum() >= FEWEST_VARIANTS
    several = (variant_free > 0) & known
    spread = by_start.sum() + (by_variant - alone_here)[several].sum()
    alone = float(off @ off)
    single = _between_sums(off, task, None)[0].sum()  # more than that where each start has one episode
    if spread <= max(alone, single) * (1 + 1e-9):
        return alone
    freedom = min(free for free in (start_free.sum(), variant_free[several].sum()) if free > 0)
    return float(spread / small_sample_factor(freedom + 1))


def _between_sums(
    off: np.ndarray, strata: np.ndarray, clusters: Nest | None
) -> tuple[np.ndarray, np.ndarray]:
    """Squared sums of clusters, or of episodes, about their stratum's mean, corrected for few; how many are free."""
    count = np.bincount(strata)
    centred = off - (np.bincount(strata, off) / np.maximum(count, 1))[strata]
    squares, many = _squared_sums(centred, strata, clusters)
    few = np.where(many > 1, many / np.maximum(many - 1, 1), 0.0)
    return squares * few, np.maximum(many - 1, 0)


def _squared_sums(
    values: np.ndarray, strata: np.ndarray, clusters: Nest | None
) -> tuple[np.ndarray, np.ndarray]:
    """Of each stratum: the squared sums of its clusters, or of its episodes, and how many there are."""
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
    """As many independent episodes as know as much, and Wilson's interval, for the share of ``hit`` (0 or 1).

    Of every group that shares the columns ``by``. Where no task has a second start nothing shows of what
    starts vary: the interval is about these starts, and its method says so.
    """
    return Clusters(rows, by, given).shares(rows[hit], rows[weight] if weight else None)


class Clusters:
    """Which rows share a group, a task, a start, a variant: for several questions about the same rows."""

    def __init__(self, rows: pl.DataFrame, by: Sequence[str] = (), given: Sequence[str] = ("task",)) -> None:
        self.rows = with_starts(rows)
        if self.rows.is_empty():
            return
        of = Codes(self.rows)
        group, task, start, stratum, variant = (
            of(names) for names in (by, ("task",), START, _given(of, given), _variant(self.rows))
        )
        self._group, (self._task, self._tasks_group) = group, nested(group, task)
        self._starts = _Alike(group, (self._task, self._tasks_group), start)
        self._variants = _Alike(group, nested(group, stratum), variant)
        _, first = np.unique(group, return_index=True)
        self._keys = {
            int(at): self.rows.select(by).row(int(first[at])) if by else () for at in np.argsort(first)
        }

    def shares(
        self, hit: pl.Series, weight: pl.Series | None = None
    ) -> dict[tuple[Any, ...], tuple[float, Interval]]:
        """As the function `shares` has it."""
        if self.rows.is_empty():
            return {}
        hits = hit.cast(pl.Float64).to_numpy()
        weights = np.ones(len(hits)) if weight is None else weight.cast(pl.Float64).to_numpy()
        group = self._group
        total, squared = np.bincount(group, weights), np.bincount(group, weights**2)
        share = np.bincount(group, weights * hits) / total
        off = weights * (hits - share[group])
        alike = [each.shown(hits, weights, off) for each in (self._starts, self._variants)]
        left = self._left_within_tasks(hits, weights, share)
        found = {}
        for at, key in self._keys.items():
            most, unit = total[at] ** 2 / squared[at], squared[at] / total[at]
            spread, excess, largest = bernoulli_variance(share[at], most), 0.0, 0.0
            for cross, pairs, free, rare in (each[at] for each in alike):
                correlation = icc(cross / unit**2, spread * pairs / unit**2, free, rare)
                excess, largest = excess + correlation * pairs / unit**2, max(largest, pairs / unit**2)
            # What starts and variants have in common is one at most; what tasks differ by is none of chance's doing.
            count = float(most**2 / (most * left[at] + min(excess, largest)))
            interval = wilson_interval(share[at], count)
            if not alike[0][at, 2]:
                interval = replace(interval, method=f"{interval.method}, {UNVARIED}", one_start=True)
            found[key] = count, interval
        return found

    def median(self, values: pl.Series) -> Interval | None:
        """As the function `medians` has it, of all rows."""
        count, _ = self.shares(values <= values.median())[()]
        return median_interval(values.to_numpy().astype(float), count)

    def _left_within_tasks(self, hits: np.ndarray, weights: np.ndarray, share: np.ndarray) -> np.ndarray:
        """What share of the variance of an episode is left within tasks, at most 1, of each group: (groups,).

        That of each task is estimated from its starts, with as much trust as they deserve: with few it is near that of
        all.
        """
        where, of = self._task, self._tasks_group
        here = np.bincount(where, weights * hits) / np.bincount(where, weights)
        many = np.bincount(self._starts.clusters[1])
        own = here * (1 - here) * many / np.maximum(many - 1, 1)
        every = (share * (1 - share))[of]
        variance = np.where(many > 1, (_TRUST * every + many * own) / (_TRUST + many), every)
        squares = np.bincount(where, weights**2)
        alike = share * (1 - share)
        part = (
            np.bincount(of, squares * variance) / np.bincount(of, squares) / np.where(alike > 0, alike, 1.0)
        )
        return np.where(alike > 0, np.clip(part, 0.0, 1.0), 1.0)


class _Alike:
    """Which rows share a start or a variant, within the strata of a group."""

    def __init__(self, group: np.ndarray, strata: Nest, clusters: np.ndarray) -> None:
        self._stratum, self._of = strata
        self._groups = group.max() + 1
        self.clusters = nested(self._stratum, clusters)
        self._in_group = nested(group, clusters)

    def shown(self, hits: np.ndarray, weights: np.ndarray, off: np.ndarray) -> np.ndarray:
        """What shows of the correlation within clusters, of each group: (groups, 4).

        The sum of products of pairs of rows in one cluster, the sum of their weights' products, how many clusters are
        free, and how many have the rarer outcome. All but the last of strata that have several clusters.
        """
        stratum, clusters, groups = self._stratum, self.clusters, self._groups
        squares, free = _between_sums(off, stratum, clusters)
        several = free > 0
        cross = squares - _between_sums(off, stratum, None)[0]
        pairs = _squared_sums(weights, stratum, clusters)[0] - _squared_sums(weights, stratum, None)[0]
        where, belongs = self._in_group
        won, lost = (np.bincount(where, outcome) > 0 for outcome in (hits > 0, hits < 1))
        rare = np.minimum(np.bincount(belongs, won, groups), np.bincount(belongs, lost, groups))
        sums = (np.bincount(self._of, np.where(several, each, 0), groups) for each in (cross, pairs, free))
        return np.column_stack([*sums, rare])


def difference(
    rows: pl.DataFrame, first: str, second: str, weights: tuple[str, str] | None = None
) -> tuple[Difference, float]:
    """Newcombe's interval for the difference of two shares (0 or 1 each) of the same rows, and its error.

    Tasks and conditions are given; what is drawn are starts and wordings. ``weights`` (0 or 1 each) are columns that
    say which rows each of the shares is of; all, if there are none.
    """
    given, names = ("task", "condition"), (first, second)
    heavy = [UNIT if weights is None else pl.col(each).cast(pl.Float64) for each in weights or names]
    usual, off = [], []
    for name, weight in zip(names, heavy, strict=True):
        total, hits = rows.select(weight=weight, hit=weight * pl.col(name)).sum().row(0)
        usual.append(hits / total)
        off.append(weight * (pl.col(name) - usual[-1]) / total)
    one, other, apart = variances(
        rows, *(each.alias(str(at)) for at, each in enumerate((*off, off[1] - off[0]))), given=given
    )
    together = (one + other - apart) / (2 * (one * other) ** 0.5) if one * other > 0 else 0.0
    counts = [
        shares(rows.filter(weight > 0) if weights else rows, name, given=given)[()][0]
        for name, weight in zip(names, heavy, strict=True)
    ]
    return newcombe((usual[0], usual[1]), (counts[0], counts[1]), min(max(together, -1.0), 1.0)), apart**0.5


def linear(rows: pl.DataFrame, off: pl.Expr) -> float:
    """Half the width of the interval of what is the sum of ``off`` off its true value."""
    return float(_Z * variances(rows, off)[0] ** 0.5)


def mean(rows: pl.DataFrame, column: str) -> Interval | None:
    """Student's interval for a mean; None where there are fewer than two rows, or all are the same."""
    middle = float(rows[column].mean())  # type: ignore[arg-type]
    if rows[column].n_unique() < 2:
        return None
    half = linear(rows, (pl.col(column) - middle) / len(rows))
    return Interval(middle - half, middle + half, "student, over starts and variants")


def medians(
    rows: pl.DataFrame, column: str, by: Sequence[str] = ()
) -> dict[tuple[Any, ...], Interval | None]:
    """The interval of the median of each group that shares the columns ``by``, from order statistics.

    Woodruff's: as many values count as know as much about what share is below the median. None below six.
    """
    middle = pl.col(column).median().over(by) if by else pl.col(column).median()
    below = rows.select(pl.col(column) <= middle)[column]
    counts = Clusters(rows, by).shares(below)
    groups = rows.group_by(by) if by else [((), rows)]
    return {
        key: median_interval(group[column].to_numpy().astype(float), counts[key][0]) for key, group in groups
    }


def _given(rows: Codes, given: Sequence[str]) -> Sequence[str]:
    """Within what variants are drawn. With held starts, seeds repeat a variant of a task from its one start.

    How much the repetitions agree then shows only between tasks, where each task has one variant.
    """
    return [name for name in given if name != "task"] if held(rows) else given


def _variant(rows: pl.DataFrame) -> list[str]:
    """What tells a variant of a task: its condition and its words. Labels may be a start's own."""
    return ["task", *sorted({"condition", "instruction"} & set(rows.columns))]
