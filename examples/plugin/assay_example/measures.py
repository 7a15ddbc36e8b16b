"""A measure with its table and its figure: how long a policy goes on before it fails."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
from matplotlib.figure import Figure

import assay
from assay.measures import Measure, MeasureError, Panel, Result, RunData
from assay.measures.views.style import Drawing
from assay.measures.views.table import Column, Table
from assay.report.run_report import RunReport


@dataclass(frozen=True, slots=True)
class Patience(Result):
    """Steps of the episodes that fail."""

    episodes: int
    mean_steps: float


def patience(run: RunData) -> Patience:
    """Measure a run. Raises MeasureError where nothing fails."""
    failed = run.frame.filter(pl.col("outcome") == "failure")
    if failed.is_empty():
        raise MeasureError("patience: nothing fails")
    return Patience(len(failed), float(failed["steps"].to_numpy().mean()))


def table(found: Patience, report: RunReport) -> Table:
    """One row."""
    columns = (Column("failures", "count"), Column("mean steps", "number"))
    return Table("patience", "Patience", columns, ((found.episodes, found.mean_steps),))


def figure(found: Patience, report: RunReport) -> Drawing:
    """One bar."""

    def paint(canvas: Figure) -> None:
        canvas.add_subplot().barh(["failures"], [found.mean_steps])

    return Drawing("patience", "Patience", f"Mean steps of {found.episodes} failures.", (3.0, 1.2), paint)


assay.register("measure", "patience")(
    Measure(
        "patience",
        "How many steps a policy goes on before it fails.",
        patience,
        panels=(Panel("Patience", tables=(table,), figures=(figure,)),),
    )
)
