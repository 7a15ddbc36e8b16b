"""Partial progress towards the goal.

A goal is a conjunction of atoms, and an atom has stages: reached, touched, grasped, lifted, carried, placed, released
(`assay.episodes.conduct`). The *progress* of an episode is the mean progress of its atoms, 0 to 1, as recorded by the
world. Worlds without stages provide the share of atoms that hold at the end, and the largest share that held
simultaneously. Both are 1 for a success.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl

from assay.episodes.spec import Label
from assay.measures.clustering import shares
from assay.measures.frames import valid_rows
from assay.measures.measure import Measure, Panel, ReportedRun
from assay.measures.result import Result
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import methods
from assay.support.stats.intervals import Interval

HIDDEN = "Beyond success"
"""Section of the report with measures beyond success."""
NO_ATOMS = "{}"
"""Recorded stages of a cancelled instruction, which has no atoms: its failures are not assigned to a stage."""


@dataclass(frozen=True, slots=True)
class GoalProgress(Result):
    """Progress of a group of episodes."""

    group: Annotated[dict[str, Label], Column("condition")]
    """Columns that define the group, and their values."""
    count: Annotated[int, Column("n", "count")]
    """Number of episodes with recorded stages, or with a goal of several atoms."""
    success: Annotated[float, Column("success", "share")]
    """Success rate of these episodes."""
    score: Annotated[float | None, Column("progress", "share")]
    """Mean progress by stages, 0 to 1; None if no stages were recorded."""
    score_interval: Annotated[Interval | None, Column("its 95 % interval", "share")]
    """Wilson interval of ``score`` over starts and variants; conservative for a mean of values from 0 to 1."""
    several: Annotated[int, Column("n with several atoms", "count")]
    """Number of episodes whose goal has several atoms."""
    at_end: Annotated[float | None, Column("atoms at the end", "share")]
    """Mean share of the goal's atoms that held at the end."""
    at_end_interval: Annotated[Interval | None, Column("its 95 % interval", "share")]
    """Wilson interval of ``at_end`` over starts and variants."""
    best: Annotated[float | None, Column("most atoms at once", "share")]
    """Mean of the largest share of the goal's atoms that held simultaneously."""
    best_interval: Annotated[Interval | None, Column("its 95 % interval", "share")]


def progress(frame: pl.DataFrame, by: Sequence[str] = ("condition",)) -> tuple[GoalProgress, ...]:
    """Return the progress of each group of episodes with recorded stages or goals of several atoms."""
    rows = valid_rows(frame).drop_nulls(by)
    shares_of_atoms = [
        _atom_shares(truth, steps, success)
        for truth, steps, success in rows.select("truth", "steps", "success").iter_rows()
    ]
    if "stages" in rows.columns:  # a cancelled instruction has no atoms
        cancelled = (rows["stages"] == NO_ATOMS).fill_null(value=False)
        shares_of_atoms = [
            (0, 0.0, 0.0) if is_cancelled else values
            for is_cancelled, values in zip(cancelled, shares_of_atoms, strict=True)
        ]
    atoms, at_end, best = zip(*shares_of_atoms, strict=True)
    score = pl.col("progress") if "progress" in rows.columns else pl.lit(None, pl.Float64)
    rows = rows.with_columns(
        _atoms=pl.Series(atoms, dtype=pl.Int64),
        _at_end=pl.Series(at_end, dtype=pl.Float64),
        _best=pl.Series(best, dtype=pl.Float64),
        _score=score,
    ).filter((pl.col("_atoms") > 1) | pl.col("_score").is_not_null())
    if not len(rows):
        return ()
    staged, several = rows.drop_nulls("_score"), rows.filter(pl.col("_atoms") > 1)
    means = {
        column: _means(part, column, by)
        for part, column in ((staged, "_score"), (several, "_at_end"), (several, "_best"))
    }
    nothing: tuple[float | None, Interval | None] = (None, None)
    return tuple(
        GoalProgress(
            dict(zip(by, key, strict=True)),
            len(group),
            float(group["success"].mean()),  # type: ignore[arg-type]
            *means["_score"].get(key, nothing),
            int((group["_atoms"] > 1).sum()),
            *means["_at_end"].get(key, nothing),
            *means["_best"].get(key, nothing),
        )
        for key, group in rows.group_by(by, maintain_order=True)
    )


def _means(
    rows: pl.DataFrame, column: str, by: Sequence[str]
) -> dict[tuple[Label, ...], tuple[float | None, Interval | None]]:
    """Return the mean of a column (0 to 1) in each group, and its interval."""
    if not len(rows):
        return {}
    estimates = shares(rows, column, by)
    return {
        key: (float(group[column].mean()), estimates[key][1])  # type: ignore[arg-type]
        for key, group in rows.group_by(by, maintain_order=True)
    }


def _atom_shares(truth: str, steps: int, success: int) -> tuple[int, float, float]:
    """Return the number of atoms of a goal, the share that held at the end, and the largest simultaneous share.

    Atoms that held before the first step, such as a stove that is already on, are left out of the shares.
    """
    atoms = json.loads(truth)
    spans = [atom for atom in atoms.values() if not any(first == 0 for first, _ in atom)]
    if not spans or success:
        return len(atoms), float(success), float(success)
    held = np.zeros((len(spans), steps + 1), dtype=bool)  # from before the first step on
    for row, intervals in zip(held, spans, strict=True):
        for first, last in intervals:
            row[first:last] = True
    reached = held.mean(axis=0)
    return len(atoms), float(reached[-1]), float(reached.max())


def progress_table(groups: Sequence[GoalProgress], report: ReportedRun) -> Table | None:
    """Table of the progress in each condition."""
    if not groups:
        return None
    columns, note = ["group", "count", "success"], ""
    staged = any(group.score is not None for group in groups)
    if staged:
        columns += ["score", "score_interval"]
        note += "Progress: mean progress of the goal's atoms by stages; 100 % for a success. "
    if any(group.several for group in groups):
        columns += ["several", "at_end", "at_end_interval", "best", "best_interval"]
        note += (
            "Atoms: for goals with several atoms, the mean share that holds at the end, and the mean of the largest "
            "share that held at one moment. "
        )
    intervals = [group.score_interval if staged else group.at_end_interval for group in groups]
    note += f"95 % intervals: {methods(intervals)}."
    return Table.of("progress", "Progress towards the goal", groups, *columns, note=note)


PROGRESS = Measure(
    "progress",
    "Mean progress by stages, and share of the goal's atoms that hold, by condition.",
    lambda run: progress(run.frame),
    needs=("truth",),
    panels=(Panel(HIDDEN, (progress_table,)),),
)
