"""Partial progress: how much of the goal is reached, where success alone says all or nothing.

A goal is a conjunction of atoms. An episode's progress is the share of them that holds when it ends; the best that it
reached is the largest share that held at one moment. A success has all of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.episodes.spec import Label
from assay.measures.clustering import shares
from assay.measures.measure import Measure, Panel
from assay.measures.rates import SUCCESS
from assay.measures.result import Result
from assay.measures.table import judged
from assay.stats.intervals import Interval


@dataclass(frozen=True, slots=True)
class Progress(Result):
    """How much of their goals a group of episodes reached."""

    group: dict[str, Label]
    """What they have in common: column -> value."""
    count: int
    """Episodes of goals with several atoms."""
    success: float
    """The share of them that succeeded."""
    at_end: float
    """The mean share of the goal's atoms that held at the end."""
    at_end_interval: Interval
    """Wilson's, over starts and variants: no narrower than a mean of shares needs."""
    best: float
    """The mean of the largest share that held at one moment."""
    best_interval: Interval


def progress(frame: pl.DataFrame, by: Sequence[str] = ("condition",)) -> tuple[Progress, ...]:
    """The progress of each group of episodes whose goals have several atoms; others have all or nothing."""
    rows = judged(frame).drop_nulls(by)
    made = [
        _shares(truth, steps, success)
        for truth, steps, success in rows.select("truth", "steps", "success").iter_rows()
    ]
    rows = rows.with_columns(
        _atoms=pl.Series([each[0] for each in made], dtype=pl.Int64),
        _at_end=pl.Series([each[1] for each in made], dtype=pl.Float64),
        _best=pl.Series([each[2] for each in made], dtype=pl.Float64),
    ).filter(pl.col("_atoms") > 1)
    if not len(rows):
        return ()
    end, best = shares(rows, "_at_end", by), shares(rows, "_best", by)
    return tuple(
        Progress(
            group=dict(zip(by, key, strict=True)),
            count=len(group),
            success=float(group["success"].mean()),  # type: ignore[arg-type]
            at_end=float(group["_at_end"].mean()),  # type: ignore[arg-type]
            at_end_interval=end[key][1],
            best=float(group["_best"].mean()),  # type: ignore[arg-type]
            best_interval=best[key][1],
        )
        for key, group in rows.group_by(by, maintain_order=True)
    )


def _shares(truth: str, steps: int, success: int) -> tuple[int, float, float]:
    """How many atoms a goal has; the share of them that held at the end, and the most that held at once.

    Atoms that held before the first step, such as a stove's that is on, are nobody's achievement: the shares leave
    them out.
    """
    atoms = json.loads(truth)
    spans = [found for found in atoms.values() if not any(first == 0 for first, _ in found)]
    if not spans or success:
        return len(atoms), float(success), float(success)
    held = np.zeros((len(spans), steps + 1), dtype=bool)  # from before the first step on
    for row, found in zip(held, spans, strict=True):
        for first, last in found:
            row[first:last] = True
    reached = held.mean(axis=0)
    return len(atoms), float(reached[-1]), float(reached.max())


PROGRESS = Measure(
    "progress",
    "The share of the goal's atoms that hold at the end, and the most that did at once, by condition.",
    lambda run: progress(run.frame),
    needs=("truth",),
    panels=(Panel(SUCCESS, tables=("assay.report.tables:progress_table",)),),
)
