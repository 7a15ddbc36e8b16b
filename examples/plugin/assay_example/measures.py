"""A measure with its table and figure: the duration of failed episodes."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
from matplotlib.figure import Figure

from assay.plugin import Column, Drawing, Measure, MeasureError, Panel, Result, RunData, Table, register
from assay.report.run_report import RunReport


@dataclass(frozen=True, slots=True)
class Patience(Result):
    """Number of steps of failed episodes."""

    episodes: int
    mean_steps: float


def patience(run: RunData) -> Patience:
    """Measure the steps of the failed episodes in a run. Raises MeasureError if no episode failed."""
    failed = run.frame.filter(pl.col("outcome") == "failure")
    if failed.is_empty():
        raise MeasureError("no episode failed")
    return Patience(len(failed), float(failed["steps"].to_numpy().mean()))


def table(result: Patience, report: RunReport) -> Table:
    """Return a table with one row."""
    columns = (Column("failures", "count"), Column("mean steps", "number"))
    return Table("patience", "Patience", columns, ((result.episodes, result.mean_steps),))


def figure(result: Patience, report: RunReport) -> Drawing:
    """Draw one bar."""

    def paint(canvas: Figure) -> None:
        canvas.add_subplot().barh(["failures"], [result.mean_steps])

    return Drawing("patience", "Patience", f"Mean steps of {result.episodes} failures.", (3.0, 1.2), paint)


register("measure", "patience")(
    Measure(
        "patience",
        "Mean number of steps of failed episodes.",
        patience,
        panels=(Panel("Patience", tables=(table,), figures=(figure,)),),
    )
)
