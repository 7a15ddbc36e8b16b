"""How often it succeeds: counts, rates and Wilson's intervals, errors apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from assay.measures.intervals import Interval, few, wilson_interval
from assay.measures.result import MeasureError, Result
from assay.measures.table import START, judged, labels
from assay.suites.spec import Label


@dataclass(frozen=True, slots=True)
class Rate(Result):
    """How often a group of episodes succeeded."""

    group: dict[str, Label]
    """What they have in common: column -> value; empty for all."""
    successes: int
    count: int
    """Episodes that count: successes and failures."""
    errors: int
    """Episodes that broke; they count for nothing."""
    rate: float | None
    """None where all broke."""
    effective: float | None
    """As many independent episodes know as much."""
    interval: Interval | None


def success_rate(frame: pl.DataFrame, what: str = "success rate") -> Rate:
    """The success rate of all episodes. Raises MeasureError, about ``what``, where none counts."""
    judged(frame, what)
    return rates(frame, ())[0]


def rates(frame: pl.DataFrame, by: Sequence[str] = ("condition",)) -> tuple[Rate, ...]:
    """Success rates of the groups that share the columns ``by``, in the order in which they are met.

    Episodes without a value in one of the columns belong to no group. The tasks are the suite's and given;
    what is drawn are starts and variants. Where a group has several episodes of one start, or of one variant,
    its interval is as wide as their likeness demands.
    """
    for name in by:
        if name not in frame.columns:
            raise MeasureError(f"success rates: the run has no column {name}")
    rows = frame.drop_nulls(by).with_columns(
        success=pl.when(pl.col("outcome") != "error").then((pl.col("outcome") == "success").cast(pl.Int64))
    )
    counts = _grouped(
        rows, by, pl.col("success").sum(), pl.col("success").count().alias("count"), pl.len().alias("all")
    )
    likeness = _design_effects(rows.drop_nulls("success"), by)
    found = (
        counts.join(likeness, on=list(by), how="left", maintain_order="left")
        if by
        else counts.hstack(likeness)
    )
    return tuple(
        _rate({name: row[name] for name in by}, row["success"], row["count"], row["all"], row["effect"])
        for row in found.iter_rows(named=True)
    )


def _rate(group: dict[str, Label], successes: int, count: int, total: int, effect: float | None) -> Rate:
    if not count:
        return Rate(group, 0, 0, total, None, None, None)
    effective = count / (effect or 1.0)
    interval = wilson_interval(successes / count, effective)
    return Rate(group, successes, count, total - count, successes / count, effective, interval)


def _design_effects(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """By how much the variance of each group's rate exceeds that of independent episodes; at least 1.

    Cameron, Gelbach and Miller's variance for two crossed kinds of clusters, starts and variants, within
    tasks. Where all succeed or all fail nothing shows of any likeness, and they pass for independent.
    """
    centred = rows.with_columns(off=pl.col("success") - pl.col("success").mean().over([*by, "task"]))
    rate = pl.col("success").mean()
    found = _grouped(rows, by, (pl.len() * rate * (1 - rate)).alias("alone"))
    said = {"instruction"} & set(rows.columns)
    variant = ("task", "condition", *said, *labels(rows))
    for name, clusters in (("starts", START), ("variants", variant), ("episodes", ("id",))):
        table = _between(centred, by, clusters, name)
        found = found.join(table, on=list(by), how="left") if by else found.hstack(table)
    spread = (pl.col("starts") + pl.col("variants") - pl.col("episodes")) / pl.col("alone")
    freedom = pl.min_horizontal(
        pl.when(pl.col(name) > 0).then(pl.col(name)) for name in ("starts_free", "variants_free")
    )
    wider = freedom.map_elements(lambda free: 1 / few(free + 1), return_dtype=pl.Float64)
    effect = pl.when((pl.col("alone") > 0) & (spread > 1)).then(spread * wider).otherwise(1.0)
    return found.select(*by, effect=effect)


def _between(rows: pl.DataFrame, by: Sequence[str], clusters: Sequence[str], name: str) -> pl.DataFrame:
    """The squared sums of clusters, corrected within tasks for having few of them, and how many are free."""
    tasks = list(dict.fromkeys([*by, "task"]))
    totals = rows.group_by(list(dict.fromkeys([*tasks, *clusters]))).agg(pl.col("off").sum())
    few_here = pl.when(pl.len() > 1).then(pl.len() / (pl.len() - 1)).otherwise(0.0)
    within = totals.group_by(tasks).agg(
        (pl.col("off").pow(2).sum() * few_here).alias(name), (pl.len() - 1).alias(f"{name}_free")
    )
    return _grouped(within, by, pl.col(name).sum(), pl.col(f"{name}_free").sum())


def _grouped(rows: pl.DataFrame, by: Sequence[str], *values: pl.Expr) -> pl.DataFrame:
    return rows.group_by(by, maintain_order=True).agg(*values) if by else rows.select(*values)
