"""What an answer costs: episodes saved by stopping in time, decisions for each episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from assay.measures.clustering import mean
from assay.measures.frames import judged
from assay.measures.measure import Measure
from assay.measures.result import MeasureError, Result
from assay.support.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class Condition(Result):
    """What one condition cost."""

    condition: str
    planned: int
    used: int
    """Episodes that decided it, or all that were done."""
    saved: int
    """Episodes of the plan that were not needed."""
    rule: str | None
    """The rule that stopped it; None where it ran on."""


@dataclass(frozen=True, slots=True)
class Efficiency(Result):
    """What a run cost."""

    planned: int
    used: int
    saved: int
    share: float
    """saved / planned"""
    conditions: tuple[Condition, ...]
    decisions: float
    """How often the policy was asked in an episode, on average."""
    decisions_interval: Interval | None
    episodes: int
    """Episodes that were asked about."""


def efficiency(
    frame: pl.DataFrame, counts: pl.DataFrame, stopped: Mapping[str, Mapping[str, Any]]
) -> Efficiency:
    """What a run cost, from its frame, ``Store.counts`` and ``Store.stopped``."""
    rows = judged(frame)
    found = []
    for condition, planned, done in counts.select("condition", "planned", "done").iter_rows():
        used, rule = done, None
        if condition in stopped:
            used, rule = int(stopped[condition]["episodes"]), str(stopped[condition]["rule"])
        found.append(Condition(condition, planned, used, planned - used if rule else 0, rule))
    planned, used = sum(each.planned for each in found), sum(each.used for each in found)
    if not planned:
        raise MeasureError("the run has no plan")
    saved = sum(each.saved for each in found)
    return Efficiency(
        planned,
        used,
        saved,
        saved / planned,
        tuple(found),
        float(rows["decisions"].to_numpy().mean()),
        mean(rows, "decisions"),
        len(rows),
    )


EFFICIENCY = Measure(
    "efficiency",
    "What the run cost: episodes saved by stopping early, decisions of the policy.",
    lambda run: efficiency(run.frame, run.counts, run.stopped),
)
