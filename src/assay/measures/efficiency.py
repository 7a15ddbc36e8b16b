"""What an answer costs: episodes saved by stopping in time, decisions for each episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from assay.measures.intervals import Interval, mean_interval
from assay.measures.result import MeasureError, Result
from assay.measures.table import judged
from assay.runs.sequential import Until


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
    frame: pl.DataFrame,
    counts: pl.DataFrame,
    stopped: Mapping[str, Mapping[str, Any]],
    until: Until | None = None,
) -> Efficiency:
    """What a run cost, from its frame, ``Store.counts`` and ``Store.stopped``.

    With ``until``, what it *would* have cost under that rule: its episodes, in the order of their keys as a
    run with that rule takes them.
    """
    rows = judged(frame, "efficiency")
    found = []
    for condition, planned, done in counts.select("condition", "planned", "done").iter_rows():
        used, rule = done, None
        if until is not None:
            mine = rows.filter(pl.col("condition") == condition).sort("key")["success"].to_list()
            decided = _decided(mine, until)
            used, rule = (decided, f"{until.kind}={until.value:g}") if decided else (done, None)
        elif condition in stopped:
            used, rule = int(stopped[condition]["episodes"]), str(stopped[condition]["rule"])
        found.append(Condition(condition, planned, used, planned - used if rule else 0, rule))
    planned, used = sum(each.planned for each in found), sum(each.used for each in found)
    if not planned:
        raise MeasureError("efficiency: the run has no plan")
    saved = sum(each.saved for each in found)
    asked = rows["decisions"].to_numpy().astype(float)
    return Efficiency(
        planned,
        used,
        saved,
        saved / planned,
        tuple(found),
        float(asked.mean()),
        mean_interval(asked),
        len(asked),
    )


def _decided(outcomes: list[int], until: Until) -> int | None:
    """After how many episodes a rule is met; None if it never is."""
    successes = 0
    for count, success in enumerate(outcomes, start=1):
        successes += success
        if until.met(successes, count):
            return count
    return None
