"""The rows of a run on tables, in the order in which people read them.

A seed draws the whole scene, so what a row says besides its condition (its words, the fewest actions) goes
with its start: starts alone are what is drawn.
"""

from __future__ import annotations

import polars as pl

from assay.measures.frames import require

NEEDED = ("kind", "level", "best")


def table_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows by level and task, conditions as they are met. Raises MeasureError where these are not known."""
    require(frame, *NEEDED)
    number = pl.col("kind").str.strip_prefix("T").cast(pl.Int64, strict=False)
    order = frame.select("condition").unique(maintain_order=True).with_row_index("_met")
    rows = frame.join(order, on="condition", maintain_order="left").with_columns(_number=number)
    return rows.sort("_met", "level", "_number", "seed", maintain_order=True).drop("_met", "_number")


def flawless(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows as they are judged when no mistake is allowed: success takes the fewest actions."""
    late = (pl.col("outcome") == "success") & (pl.col("steps") > pl.col("best"))
    return frame.with_columns(outcome=pl.when(late).then(pl.lit("failure")).otherwise("outcome"))
