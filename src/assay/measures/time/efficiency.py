"""Cost of a run: episodes saved by early stopping, decisions per episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from assay.measures.clustering import mean
from assay.measures.frames import valid_rows
from assay.measures.measure import Measure
from assay.measures.result import MeasureError, Result
from assay.support.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class ConditionCost(Result):
    """Cost of one condition."""

    condition: str
    planned: int
    used: int
    """Episodes until it was stopped, or all that were done."""
    saved: int
    """Planned episodes that were not needed."""
    rule: str | None
    """The rule that stopped it; None if it was not stopped."""


@dataclass(frozen=True, slots=True)
class Efficiency(Result):
    """Cost of a run."""

    planned: int
    used: int
    saved: int
    share: float
    """saved / planned"""
    conditions: tuple[ConditionCost, ...]
    decisions: float
    """Mean number of decisions of the policy per episode."""
    decisions_interval: Interval | None
    episodes: int
    """Episodes of that mean."""


def efficiency(
    frame: pl.DataFrame, counts: pl.DataFrame, stopped: Mapping[str, Mapping[str, Any]]
) -> Efficiency:
    """Cost of a run, from its frame, ``Store.counts`` and ``Store.stopped``."""
    rows = valid_rows(frame)
    costs = []
    for condition, planned, done in counts.select("condition", "planned", "done").iter_rows():
        used, rule = done, None
        if condition in stopped:
            used, rule = int(stopped[condition]["episodes"]), str(stopped[condition]["rule"])
        costs.append(ConditionCost(condition, planned, used, planned - used if rule else 0, rule))
    planned, used = sum(cost.planned for cost in costs), sum(cost.used for cost in costs)
    if not planned:
        raise MeasureError("the run has no plan")
    saved = sum(cost.saved for cost in costs)
    return Efficiency(
        planned,
        used,
        saved,
        saved / planned,
        tuple(costs),
        float(rows["decisions"].to_numpy().mean()),
        mean(rows, "decisions"),
        len(rows),
    )


EFFICIENCY = Measure(
    "efficiency",
    "Cost of the run: episodes saved by early stopping, decisions of the policy.",
    lambda run: efficiency(run.frame, run.counts, run.stopped),
)
