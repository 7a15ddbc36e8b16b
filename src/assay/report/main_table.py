"""The table that goes into a paper: who was asked what, success without and with changes, and the difference."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import polars as pl

from assay.episodes import CONTROL, Change
from assay.measures.result import MeasureError
from assay.measures.run_data import RunData
from assay.measures.success.drops import Drop, drops
from assay.measures.views.table import Column, Table, Value
from assay.runs.description import lateness
from assay.runs.store import Store

ALL = "all"
"""The row of all suites of tasks."""


def main_table(runs: Mapping[str, Path], called: Callable[[str], str] = lambda name: name) -> Table:
    """One row for each run, or for each of its suites where it has several: control, perturbed, difference.

    ``called`` gives policies, experiments and suites their names. What is the same in all rows is in the note.
    """
    rows: list[tuple[str, str, str, Drop]] = []
    for name, path in runs.items():
        with Store.reading(path) as store:
            meta, frame, stopped = store.meta, _own(RunData(store).plausible), store.stopped
        own = str(meta.get("label") or meta.get("policy", path.stem))
        own = ", ".join(filter(None, (own, lateness(meta))))
        policy = own if name in (path.stem, str(path)) else name.removesuffix(f", {meta.get('experiment')}")
        experiment = str(meta.get("experiment", "")).partition("?")[0]
        try:
            rows += [(policy, experiment, suite, drop) for suite, drop in _by_suite(frame, stopped)]
        except MeasureError:  # nothing is changed, or it has no controls
            continue
    names = ("policy", "experiment", "tasks")
    shown = [place for place in range(3) if len({row[place] for row in rows}) > 1] or [0]
    left = [place for place in range(3) if place not in shown] if rows else []
    same = ", ".join(called(str(rows[0][place])) for place in left)
    cells: list[tuple[Value, ...]] = [
        (
            *(called(str(row[place])) for place in shown),
            row[3].control,
            row[3].perturbed,
            row[3].change,
            row[3].interval,
            row[3].starts,
        )
        for row in rows
    ]
    return Table(
        "main",
        "Success without and with changes" + (f" ({same})" if same else ""),
        (
            *(Column(names[place]) for place in shown),
            Column("control", "share", bare=True),
            Column("perturbed", "share", bare=True),
            Column("diff.", "change", bare=True),
            Column("95 % interval", "change", bare=True),
            Column("starts", "count"),
        ),
        tuple(cells),
        "Success in per cent, of the controls and of the changed episodes in which success is expected, pair by pair; "
        "difference in percentage points with its 95 % interval over starts. Requests for another task are left out.",
        narrow=True,
    )


def _own(frame: pl.DataFrame) -> pl.DataFrame:
    """What is asked for the task itself: requests for another have that one's controls, not their scene's."""
    if "change" not in frame.columns:
        return frame
    return frame.filter(pl.col("change").ne_missing(str(Change.TASK)) | (pl.col("condition") == CONTROL))


def _by_suite(frame: pl.DataFrame, stopped: Collection[str]) -> list[tuple[str, Drop]]:
    """The drop of all changes together, after those of each suite where there are several."""
    told = frame.with_columns(suite=pl.col("task").str.split("/").list.first(), every=pl.lit(ALL))
    suites = drops(told, ("suite",), resampling=False, stopped=stopped)
    every = drops(told, ("every",), resampling=False, stopped=stopped)
    if len(suites) == 1:
        return [(str(suites[0].group["suite"]), every[0])]
    return [*((str(suite.group["suite"]), suite) for suite in suites), (ALL, every[0])]
