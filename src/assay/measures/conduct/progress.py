"""Partial progress: how much of the goal is reached, where success alone says all or nothing.

A goal is a conjunction of atoms, and an atom has stages: reached, touched, grasped, lifted, carried, placed, released
(`assay.episodes.conduct`). An episode's *progress* is how far its atoms came on average, 0 to 1, as the world recorded
it. Where no stages were recorded, there is the share of the atoms that holds when it ends, and the largest share that
held at one moment. A success has all of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from assay.episodes.spec import Label
from assay.measures.clustering import shares
from assay.measures.frames import judged
from assay.measures.measure import Measure, Panel
from assay.measures.result import Result
from assay.support.stats.intervals import Interval

HIDDEN = "What success hides"
"""The section of the report."""
NO_ATOMS = "{}"
"""The stages where nothing is asked for: a request that was taken back. Its failures stop nowhere."""


@dataclass(frozen=True, slots=True)
class Progress(Result):
    """How much of their goals a group of episodes reached."""

    group: dict[str, Label]
    """What they have in common: column -> value."""
    count: int
    """Episodes of which something is known besides success: stages were recorded, or the goal has several atoms."""
    success: float
    """The share of them that succeeded."""
    score: float | None
    """Mean progress by stages, 0 to 1; None where none was recorded."""
    score_interval: Interval | None
    """Wilson's, over starts and variants: no narrower than a mean of numbers from 0 to 1 needs."""
    several: int
    """Episodes of goals with several atoms; what follows is about them, and None where there are none."""
    at_end: float | None
    """The mean share of the goal's atoms that held at the end."""
    at_end_interval: Interval | None
    """Wilson's, likewise."""
    best: float | None
    """The mean of the largest share that held at one moment."""
    best_interval: Interval | None


def progress(frame: pl.DataFrame, by: Sequence[str] = ("condition",)) -> tuple[Progress, ...]:
    """The progress of each group of episodes of which more is known than all or nothing."""
    rows = judged(frame).drop_nulls(by)
    made = [
        _shares(truth, steps, success)
        for truth, steps, success in rows.select("truth", "steps", "success").iter_rows()
    ]
    if "stages" in rows.columns:  # a request that was taken back has no atoms any more
        gone = (rows["stages"] == NO_ATOMS).fill_null(value=False)
        made = [(0, 0.0, 0.0) if back else each for back, each in zip(gone, made, strict=True)]
    score = pl.col("progress") if "progress" in rows.columns else pl.lit(None, pl.Float64)
    rows = rows.with_columns(
        _atoms=pl.Series([each[0] for each in made], dtype=pl.Int64),
        _at_end=pl.Series([each[1] for each in made], dtype=pl.Float64),
        _best=pl.Series([each[2] for each in made], dtype=pl.Float64),
        _score=score,
    ).filter((pl.col("_atoms") > 1) | pl.col("_score").is_not_null())
    if not len(rows):
        return ()
    staged, several = rows.drop_nulls("_score"), rows.filter(pl.col("_atoms") > 1)
    known = {
        column: _means(part, column, by)
        for part, column in ((staged, "_score"), (several, "_at_end"), (several, "_best"))
    }
    nothing: tuple[float | None, Interval | None] = (None, None)
    return tuple(
        Progress(
            dict(zip(by, key, strict=True)),
            len(group),
            float(group["success"].mean()),  # type: ignore[arg-type]
            *known["_score"].get(key, nothing),
            int((group["_atoms"] > 1).sum()),
            *known["_at_end"].get(key, nothing),
            *known["_best"].get(key, nothing),
        )
        for key, group in rows.group_by(by, maintain_order=True)
    )


def _means(
    rows: pl.DataFrame, column: str, by: Sequence[str]
) -> dict[tuple[Label, ...], tuple[float | None, Interval | None]]:
    """The mean of a column (0 to 1) in each group, and its interval."""
    if not len(rows):
        return {}
    found = shares(rows, column, by)
    return {
        key: (float(group[column].mean()), found[key][1])  # type: ignore[arg-type]
        for key, group in rows.group_by(by, maintain_order=True)
    }


def _shares(truth: str, steps: int, success: int) -> tuple[int, float, float]:
    """How many atoms a goal has; the share of them that held at the end, and the most that held at once.

    Atoms that held before the first step, such as a stove's that is on, are nobody's achievement: the shares leave
    them out.
    """
    atoms = json.loads(truth)
    spans = [atom for atom in atoms.values() if not any(first == 0 for first, _ in atom)]
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
    "How far episodes come: mean progress by stages, and the share of the goal's atoms that hold, by condition.",
    lambda run: progress(run.frame),
    needs=("truth",),
    panels=(Panel(HIDDEN, tables=("assay.report.hidden:progress_table",)),),
)
