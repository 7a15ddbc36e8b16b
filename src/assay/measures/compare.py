"""Compare: several runs on the same episodes, pair by pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import polars as pl

from assay.measures.clustering import difference
from assay.measures.result import MeasureError, Result
from assay.measures.table import PAIR, START, judged, sums
from assay.stats.distributions import normal_below
from assay.stats.intervals import Interval, tested
from assay.stats.significance import holm, sign_flip

COLUMNS = ("key", "condition", "task", "seed", "start", "instruction", "outcome")
"""What a frame must have to be compared; ``plausible`` counts too, where there is such a label."""


@dataclass(frozen=True, slots=True)
class Contrast(Result):
    """Two runs on the same episodes."""

    first: str
    second: str
    condition: str | None
    """None for all together in which success is expected; of all, if there is none of these."""
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
    """Newcombe's, over starts and wordings; reaches to 0 where the test cannot exclude that."""
    p: float
    """The larger of an exact test over starts, McNemar's where each has one episode, and Student's over both."""
    p_holm: float
    """Adjusted for all pairs of runs, and for all conditions where it is about one of them."""


@dataclass(frozen=True, slots=True)
class Comparison(Result):
    """Two or more runs on the same episodes."""

    runs: dict[str, int]
    """Episodes of each that are no errors."""
    shared: int
    """Specs that all did; the others do not count."""
    overall: tuple[Contrast, ...]
    conditions: tuple[Contrast, ...]
    """Those in which success is expected."""
    implausible: tuple[Contrast, ...]
    """The other conditions: success is not expected there, and enters nothing else."""


def compare(frames: Mapping[str, pl.DataFrame]) -> Comparison:
    """Compare runs by name, on the episodes that all of them did without an error.

    Raises MeasureError where there are fewer than two runs, or no episode is shared.
    """
    if len(frames) < 2:
        raise MeasureError(f"compare: {len(frames)} run; needs two at least")
    tables = {name: _judged(name, frame) for name, frame in frames.items()}
    first = next(iter(tables.values()))
    sensible = pl.col("plausible").fill_null(True) if "plausible" in first.columns else pl.lit(True)
    shared = first.select("key", "condition", *PAIR, "start", "instruction", plausible=sensible)
    for number, table in enumerate(tables.values()):
        shared = shared.join(
            table.select("key", pl.col("success").alias(f"_{number}")), on="key", maintain_order="left"
        )
    counts = {name: len(table) for name, table in tables.items()}
    if not len(shared):
        said = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise MeasureError(
            f"compare: the runs share no episode ({said}): other tasks, seeds, experiments, assets, "
            "or settings such as --steps"
        )
    twos = list(combinations(enumerate(tables), 2))
    fair, nonsense = shared.filter("plausible"), shared.filter(~pl.col("plausible"))
    overall = [_contrast(fair if len(fair) else shared, one, other, None) for one, other in twos]
    conditions, implausible = (
        [
            _contrast(group, one, other, str(condition))
            for one, other in twos
            for (condition,), group in part.group_by("condition", maintain_order=True)
        ]
        for part in (fair, nonsense)
    )
    return Comparison(counts, len(shared), *map(_adjusted, (overall, conditions, implausible)))


def _judged(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    try:
        return judged(frame)
    except MeasureError as error:
        raise MeasureError(f"compare: {name}: {error}") from None


def _contrast(
    rows: pl.DataFrame, first: tuple[int, str], second: tuple[int, str], condition: str | None
) -> Contrast:
    one, other = f"_{first[0]}", f"_{second[0]}"
    found, error = difference(rows, one, other)
    mine, theirs = (rows[name].to_numpy().astype(bool) for name in (one, other))
    both, only_first, only_second = (
        int(each.sum()) for each in (mine & theirs, mine & ~theirs, theirs & ~mine)
    )
    exact = sign_flip(sums(rows, START, apart=pl.col(other) - pl.col(one))[:, 0])
    approximate = float(2 * normal_below(-abs(found.difference) / error)) if error > 0 else 0.0
    p = max(exact, approximate)
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
        interval=tested(found.interval, p),
        p=p,
        p_holm=1.0,
    )


def _adjusted(contrasts: list[Contrast]) -> tuple[Contrast, ...]:
    values = holm([each.p for each in contrasts])
    return tuple(replace(each, p_holm=value) for each, value in zip(contrasts, values, strict=True))
