"""Episodes that share a start or a variant are alike: how much less they know than as many strangers.

The tasks are the experiment's and given; what is drawn are starts (a task and an initial state) and variants (a
task, its condition, words and labels), every variant with every start. The variance of a sum is that of Cameron,
Gelbach and Miller for two crossed kinds of clusters: between starts, and between variants, less what both
count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from assay.measures.table import START, held, labels, with_starts
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

OFF = "_off"
"""The column of what each episode adds to a sum; columns that begin with _ are no labels."""
UNVARIED = "one start for each task: how much starts matter is unknown"
"""How the method of an interval ends that is about the very starts that were seen."""


def spreads(rows: pl.DataFrame, by: Sequence[str] = (), given: Sequence[str] = ("task",)) -> pl.DataFrame:
    """The variance of the sum of the column ``_off`` in each group that shares the columns ``by``.

    Columns ``by``, ``_variance`` and ``_starts`` (as many of equal weight). Variants are drawn within what is
    ``given``. At least the variance of independent episodes; widened as far as Student's distribution is
    wider than the normal one where there are few clusters. Where ``_off`` is 0 throughout nothing shows of
    any correlation, and the variance is 0.
    """
    rows = with_starts(rows)
    given = _given(rows, given)
    starts = _between(rows, by, ("task",), START)
    variants = _between(rows, by, given, _variant(rows))
    both = _between(rows, by, given, None)
    several = pl.col("_free") > 0
    crossed = variants.with_columns(both["_squares"].alias("_both")).select(
        *by, "_free", pl.when(several).then(pl.col("_squares") - pl.col("_both")).otherwise(0.0)
    )
    found = _grouped(rows, by, pl.col(OFF).pow(2).sum().alias("_alone"))
    single = _between(rows, by, ("task",), None)
    for name, table in (("start", starts), ("variant", crossed), ("single", single)):
        sums = [pl.col(each).sum().alias(f"_{name}{each}") for each in ("_squares", "_free")]
        found = _beside(found, _grouped(table, by, *sums), by)
    sizes = _grouped(rows, list(dict.fromkeys([*by, *START])), pl.len().alias("_count"))
    equal = pl.col("_count").sum().pow(2) / pl.col("_count").pow(2).sum()
    found = _beside(found, _grouped(sizes, by, equal.alias("_starts")), by)
    freedom = pl.min_horizontal(
        pl.when(pl.col(name) > 0).then(pl.col(name)) for name in ("_start_free", "_variant_free")
    )
    wider = freedom.map_elements(lambda free: 1 / small_sample_factor(free + 1), return_dtype=pl.Float64)
    spread = pl.col("_start_squares") + pl.col("_variant_squares")
    least = pl.max_horizontal("_alone", "_single_squares")  # the latter where each start has one episode
    variance = pl.when(spread > least * (1 + 1e-9)).then(spread * wider).otherwise("_alone")
    return found.select(*by, "_starts", _variance=variance)


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
    weighed = weighed.with_columns((pl.col("_weight") * (pl.col("_hit") - usual)).alias(OFF))
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
    found = {}
    for row in table.iter_rows(named=True):
        share, most, unit = row["_share"], row["_sum"] ** 2 / row["_squared"], row["_squared"] / row["_sum"]
        spread, excess = bernoulli_variance(share, most), 0.0
        for kind in ("start", "variant"):
            cross, pairs = row[f"_{kind}_cross"] / unit**2, row[f"_{kind}_pairs"] / unit**2
            excess += icc(cross, spread * pairs, row[f"_{kind}_free"]) * pairs
        count = most**2 / (most + excess)
        interval = wilson_interval(share, count)
        if not row["_start_free"]:
            interval = replace(interval, method=f"{interval.method}, {UNVARIED}", one_start=True)
        found[tuple(row[name] for name in by)] = count, interval
    return found


def difference(rows: pl.DataFrame, first: str, second: str) -> tuple[Difference, float]:
    """Newcombe's interval for the difference of two shares (0 or 1 each) of the same rows, and its error.

    Tasks and conditions are given; what is drawn are starts and wordings.
    """
    count = len(rows)
    usual = [float(rows[name].mean() or 0.0) for name in (first, second)]  # type: ignore[arg-type]
    off = [pl.col(name).cast(pl.Float64) - share for name, share in zip((first, second), usual, strict=True)]
    tables = [
        spreads(rows.with_columns(each.alias(OFF)), (), ("task", "condition")).row(0, named=True)
        for each in (*off, off[1] - off[0])
    ]
    one, other, apart = (table["_variance"] / count**2 for table in tables)
    together = (one + other - apart) / (2 * (one * other) ** 0.5) if one * other > 0 else 0.0
    counts = [shares(rows, name, given=("task", "condition"))[()][0] for name in (first, second)]
    return newcombe((usual[0], usual[1]), (counts[0], counts[1]), min(max(together, -1.0), 1.0)), apart**0.5


def linear(rows: pl.DataFrame, by: Sequence[str] = ()) -> float:
    """Half the width of the interval of what is the sum of ``_off`` off its true value."""
    return float(_Z * spreads(rows, by)["_variance"][0] ** 0.5)


def mean(rows: pl.DataFrame, column: str) -> Interval | None:
    """Student's interval for a mean; None where there are fewer than two rows, or all are the same."""
    middle = float(rows[column].mean())  # type: ignore[arg-type]
    if rows[column].n_unique() < 2:
        return None
    half = linear(rows.with_columns(((pl.col(column) - middle) / len(rows)).alias(OFF)))
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
    said = {"condition", "instruction"} & set(rows.columns)
    return ["task", *sorted(said), *(name for name in labels(rows) if not name.startswith("_"))]


def _between(
    rows: pl.DataFrame, by: Sequence[str], given: Sequence[str], clusters: Sequence[str] | None
) -> pl.DataFrame:
    """Of each group and each of what is ``given``, in a stable order: ``_squares``, ``_weights``, ``_free``.

    The squared sums of its clusters, or of its rows, about their mean, corrected for having few of them; the
    squared sums of their weights, where there are any; and how many of them are free.
    """
    strata = list(dict.fromkeys([*by, *given]))
    weight = pl.col("_weight") if "_weight" in rows.columns else pl.lit(1.0)
    usual = pl.col(OFF).mean().over(strata) if strata else pl.col(OFF).mean()
    rows = rows.with_columns(pl.col(OFF) - usual, _weight=weight)
    if clusters is not None:
        rows = _grouped(rows, list(dict.fromkeys([*strata, *clusters])), pl.col(OFF, "_weight").sum())
    few_here = pl.when(pl.len() > 1).then(pl.len() / (pl.len() - 1)).otherwise(0.0)
    squares = (pl.col(OFF).pow(2).sum() * few_here).alias("_squares")
    weights = pl.col("_weight").pow(2).sum().alias("_weights")
    return _grouped(rows, strata, squares, weights, (pl.len() - 1).cast(pl.Int64).alias("_free"))


def _grouped(rows: pl.DataFrame, by: Sequence[str], *values: pl.Expr) -> pl.DataFrame:
    return rows.group_by(by, maintain_order=True).agg(*values) if by else rows.select(*values)


def _beside(one: pl.DataFrame, other: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    return one.join(other, on=list(by), how="left", maintain_order="left") if by else one.hstack(other)
