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

from assay.measures.table import START, held, with_starts
from assay.stats.intervals import (
    Difference,
    Interval,
    bernoulli_variance,
    icc,
    median_interval,
    newcombe,
    small_sample_factor,
    wilson_interval,
)
from assay.stats.intervals import Z as _Z

_OFF = "_off"
"""The column of what each episode adds to a sum."""
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
    task, start, within, variant = (
        _codes(rows, names) for names in (("task",), START, _given(rows, given), _variant(rows))
    )
    return [_variance(each, task, start, within, variant) for each in rows.select(off).to_numpy().T]


def _variance(
    off: np.ndarray, task: np.ndarray, start: np.ndarray, given: np.ndarray, variant: np.ndarray
) -> float:
    """From what each episode is off (n,), and the numbers of its task, start, stratum and variant (n,) each."""
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
    off: np.ndarray, strata: np.ndarray, clusters: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Squared sums of clusters, or of episodes, about their stratum's mean, corrected for few; how many are free."""
    count = np.bincount(strata)
    centred = off - (np.bincount(strata, off) / np.maximum(count, 1))[strata]
    if clusters is None:
        squares, many = np.bincount(strata, centred**2), count
    else:
        pair, where = np.unique(strata * (clusters.max() + 1) + clusters, return_inverse=True)
        belongs = pair // (clusters.max() + 1)
        squares = np.bincount(belongs, np.bincount(where, centred) ** 2, len(count))
        many = np.bincount(belongs, minlength=len(count))
    few = np.where(many > 1, many / np.maximum(many - 1, 1), 0.0)
    return squares * few, np.maximum(many - 1, 0)


def _codes(rows: pl.DataFrame, names: Sequence[str]) -> np.ndarray:
    """The number of each row's combination of values: (rows,)."""
    if not names:
        return np.zeros(len(rows), np.int64)
    return rows.select(pl.struct(names).rank("dense").cast(pl.Int64) - 1).to_series().to_numpy()


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
    rows = with_starts(rows)
    given = _given(rows, given)
    each, heavy = pl.col(hit).cast(pl.Float64), pl.col(weight) if weight else pl.lit(1.0)
    weighed = rows.with_columns(_hit=each, _weight=heavy)
    totals = _grouped(
        weighed,
        by,
        ((pl.col("_hit") * pl.col("_weight")).sum() / pl.col("_weight").sum()).alias("_share"),
        pl.col("_weight").sum().alias("_sum"),
        pl.col("_weight").pow(2).sum().alias("_squared"),
    )
    usual = totals["_share"][0] if not by else pl.col("_share")
    weighed = weighed.join(totals, on=list(by), maintain_order="left") if by else weighed
    weighed = weighed.with_columns((pl.col("_weight") * (pl.col("_hit") - usual)).alias(_OFF))
    table = totals
    for kind, within, clusters in (("start", ("task",), START), ("variant", given, _variant(rows))):
        shared, alone = (_between(weighed, by, within, each) for each in (clusters, None))
        pairs = shared.select(
            *by,
            "_free",
            _cross=pl.when(pl.col("_free") > 0).then(pl.col("_squares") - alone["_squares"]),
            _pairs=pl.when(pl.col("_free") > 0).then(pl.col("_weights") - alone["_weights"]),
        )
        sums = [pl.col(name).sum().alias(f"_{kind}{name}") for name in ("_cross", "_pairs", "_free")]
        table = _beside(table, _grouped(pairs, by, *sums), by)
        table = _beside(table, _rarer(weighed, by, clusters).rename({"_rare": f"_{kind}_rare"}), by)
    table = _beside(table, _within_tasks(weighed, by, usual), by)
    found = {}
    for row in table.iter_rows(named=True):
        share, most, unit = row["_share"], row["_sum"] ** 2 / row["_squared"], row["_squared"] / row["_sum"]
        spread, excess, largest = bernoulli_variance(share, most), 0.0, 0.0
        for kind in ("start", "variant"):
            cross, pairs = row[f"_{kind}_cross"] / unit**2, row[f"_{kind}_pairs"] / unit**2
            alike = icc(cross, spread * pairs, row[f"_{kind}_free"], row[f"_{kind}_rare"])
            excess, largest = excess + alike * pairs, max(largest, pairs)
        # What starts and variants have in common is one at most; what tasks differ by is none of chance's doing.
        count = most**2 / (most * row["_within"] + min(excess, largest))
        interval = wilson_interval(share, count)
        if not row["_start_free"]:
            interval = replace(interval, method=f"{interval.method}, {UNVARIED}", one_start=True)
        found[tuple(row[name] for name in by)] = count, interval
    return found


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
    counts = shares(rows.with_columns(_below=pl.col(column) <= middle), "_below", by)
    groups = rows.group_by(by) if by else [((), rows)]
    return {
        key: median_interval(group[column].to_numpy().astype(float), counts[key][0]) for key, group in groups
    }


def _given(rows: pl.DataFrame, given: Sequence[str]) -> Sequence[str]:
    """Within what variants are drawn. With held starts, seeds repeat a variant of a task from its one start.

    How much the repetitions agree then shows only between tasks, where each task has one variant.
    """
    return [name for name in given if name != "task"] if held(rows) else given


def _variant(rows: pl.DataFrame) -> list[str]:
    """What tells a variant of a task: its condition and its words. Labels may be a start's own."""
    return ["task", *sorted({"condition", "instruction"} & set(rows.columns))]


def _between(
    rows: pl.DataFrame, by: Sequence[str], given: Sequence[str], clusters: Sequence[str] | None
) -> pl.DataFrame:
    """Of each group and each of what is ``given``, in a stable order: ``_squares``, ``_weights``, ``_free``.

    The squared sums of its clusters, or of its rows, about their mean, corrected for having few of them; the
    squared sums of their weights, where there are any; and how many of them are free.
    """
    strata = list(dict.fromkeys([*by, *given]))
    weight = pl.col("_weight") if "_weight" in rows.columns else pl.lit(1.0)
    usual = pl.col(_OFF).mean().over(strata) if strata else pl.col(_OFF).mean()
    rows = rows.with_columns(pl.col(_OFF) - usual, _weight=weight)
    if clusters is not None:
        rows = _grouped(rows, list(dict.fromkeys([*strata, *clusters])), pl.col(_OFF, "_weight").sum())
    few_here = pl.when(pl.len() > 1).then(pl.len() / (pl.len() - 1)).otherwise(0.0)
    squares = (pl.col(_OFF).pow(2).sum() * few_here).alias("_squares")
    weights = pl.col("_weight").pow(2).sum().alias("_weights")
    return _grouped(rows, strata, squares, weights, (pl.len() - 1).cast(pl.Int64).alias("_free"))


def _within_tasks(rows: pl.DataFrame, by: Sequence[str], usual: float | pl.Expr) -> pl.DataFrame:
    """Of each group: ``_within``, what share of the variance of an episode is left within tasks, at most 1.

    That of each task is estimated from its starts, with as much trust as they deserve: with few it is near that of all.
    """
    share = pl.col("_share") if by else pl.lit(usual)
    strata = _grouped(
        rows,
        list(dict.fromkeys([*by, "task"])),
        ((pl.col("_hit") * pl.col("_weight")).sum() / pl.col("_weight").sum()).alias("_here"),
        pl.col("_weight").pow(2).sum().alias("_squares"),
        pl.struct(START).n_unique().cast(pl.Float64).alias("_many"),
        share.first().alias("_all"),
    )
    here, every, many = pl.col("_here"), pl.col("_all"), pl.col("_many")
    own = here * (1 - here) * many / (many - 1)
    alike = every * (1 - every)
    variance = pl.when(many > 1).then((_TRUST * alike + many * own) / (_TRUST + many)).otherwise(alike)
    strata = strata.with_columns(_variance=variance)
    part = (pl.col("_squares") * pl.col("_variance")).sum() / pl.col("_squares").sum() / alike.first()
    return _grouped(
        strata, by, pl.when(alike.first() > 0).then(part.clip(0.0, 1.0)).otherwise(1.0).alias("_within")
    )


def _rarer(rows: pl.DataFrame, by: Sequence[str], clusters: Sequence[str]) -> pl.DataFrame:
    """Of each group: ``_rare``, how many of its clusters have the rarer outcome."""
    each = _grouped(
        rows,
        list(dict.fromkeys([*by, *clusters])),
        (pl.col("_hit") > 0).any().alias("_won"),
        (pl.col("_hit") < 1).any().alias("_lost"),
    )
    return _grouped(each, by, pl.min_horizontal(pl.col("_won").sum(), pl.col("_lost").sum()).alias("_rare"))


def _grouped(rows: pl.DataFrame, by: Sequence[str], *values: pl.Expr) -> pl.DataFrame:
    return rows.group_by(by, maintain_order=True).agg(*values) if by else rows.select(*values)


def _beside(one: pl.DataFrame, other: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    return one.join(other, on=list(by), how="left", maintain_order="left") if by else one.hstack(other)
