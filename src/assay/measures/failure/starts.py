"""What comes of each start (task and seed) with nothing changed."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from assay.measures.failure.nearness import FAILURES, Failures
from assay.measures.frames import PAIR, controls, judged
from assay.measures.measure import Measure
from assay.measures.result import FOR_DRAWING, MeasureError, Missing, Result
from assay.measures.run_data import RunData


@dataclass(frozen=True, slots=True, eq=False)
class Starts(Result):
    """The controls, one for each task and seed."""

    count: int
    failures: int
    near: int
    """Failures close to the successful trajectory, as far as that can be judged."""
    rows: pl.DataFrame = field(repr=False, metadata=FOR_DRAWING)
    """task, seed, start, success, near (of a failure: to the successful trajectory; null if not judged)."""


def starts(run: RunData) -> Starts:
    """What came of each start with nothing changed."""
    rows = controls(judged(run.frame)).select("id", *PAIR, "start", pl.col("success") == 1)
    if not len(rows):
        raise MeasureError("the run has no control")
    failures: Failures | Missing = Missing("trajectories are no paths through space")
    if FAILURES.applies(run):
        failures = run.attempt(FAILURES)
    if isinstance(failures, Missing):
        rows = rows.with_columns(near=pl.lit(None, pl.Boolean))
    else:
        near = failures.episodes.select("id", "near")
        rows = rows.join(near, on="id", how="left", maintain_order="left")
    return Starts(len(rows), int((~rows["success"]).sum()), int(rows["near"].sum() or 0), rows.drop("id"))


STARTS = Measure(
    "starts",
    "How often the policy fails with nothing changed, and how close to success.",
    starts,
    tests="assay.measures.hypotheses:unchanged",
)
