"""Compare: several runs on the same specs, pair by pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl

from assay.measures.intervals import Interval, paired_difference
from assay.measures.result import MeasureError, Result
from assay.measures.significance import holm, sign_flip
from assay.measures.table import judged


@dataclass(frozen=True, slots=True)
class Contrast(Result):
    """Two runs on the same specs."""

    first: str
    second: str
    condition: str | None
    """None for all conditions together."""
    count: int
    """Specs that both did."""
    both: int
    only_first: int
    only_second: int
    neither: int
    first_rate: float
    second_rate: float
    change: float
    """second - first"""
    interval: Interval
    """Newcombe's, over specs."""
    p: float
    """McNemar's exact test."""
    p_holm: float
    """Adjusted for all pairs of runs, and for all conditions where it is about one of them."""


@dataclass(frozen=True, slots=True)
class Comparison(Result):
    """Two or more runs on the same specs."""

    runs: dict[str, int]
    """Episodes of each that are no errors."""
    shared: int
    """Specs that all did; the others do not count."""
    overall: tuple[Contrast, ...]
    conditions: tuple[Contrast, ...]


def compare(frames: Mapping[str, pl.DataFrame]) -> Comparison:
    """Compare runs by name, on the specs that all of them did without an error.

    Raises MeasureError where there are fewer than two runs, or no spec is shared.
    """
    if len(frames) < 2:
        raise MeasureError(f"compare: {len(frames)} run; needs two at least")
    tables = {name: judged(frame, f"compare: {name}") for name, frame in frames.items()}
    shared = next(iter(tables.values())).select("key", "condition")
    for number, table in enumerate(tables.values()):
        shared = shared.join(
            table.select("key", pl.col("success").alias(f"{number}")), on="key", maintain_order="left"
        )
    counts = {name: len(table) for name, table in tables.items()}
    if not len(shared):
        said = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise MeasureError(f"compare: the runs share no spec ({said}): other tasks, seeds, suites or assets")
    twos = list(combinations(enumerate(tables), 2))
    overall = [_contrast(shared, one, other, None) for one, other in twos]
    conditions = [
        _contrast(group, one, other, str(condition))
        for one, other in twos
        for (condition,), group in shared.group_by("condition", maintain_order=True)
    ]
    return Comparison(counts, len(shared), _adjusted(overall), _adjusted(conditions))


def _contrast(
    rows: pl.DataFrame, first: tuple[int, str], second: tuple[int, str], condition: str | None
) -> Contrast:
    one, other = (rows[f"{number}"].to_numpy().astype(float) for number, _ in (first, second))
    ones = np.ones(len(rows))
    found = paired_difference((one, other), (ones, ones), (len(rows), len(rows)))
    both, only_first, only_second = (
        int(each.sum()) for each in (one * other, one * (1 - other), other * (1 - one))
    )
    return Contrast(
        first=first[1],
        second=second[1],
        condition=condition,
        count=len(rows),
        both=both,
        only_first=only_first,
        only_second=only_second,
        neither=len(rows) - both - only_first - only_second,
        first_rate=found.first,
        second_rate=found.second,
        change=found.difference,
        interval=found.interval,
        p=sign_flip(other - one),
        p_holm=1.0,
    )


def _adjusted(contrasts: list[Contrast]) -> tuple[Contrast, ...]:
    values = holm([each.p for each in contrasts])
    return tuple(replace(each, p_holm=value) for each, value in zip(contrasts, values, strict=True))
