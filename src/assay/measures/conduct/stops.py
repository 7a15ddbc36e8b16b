"""Final stages of failures: the furthest stage of the atom that an episode was working on when it ended."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl

from assay.episodes.conduct import UNTOUCHED, atom_progress, furthest
from assay.episodes.spec import Label
from assay.measures.clustering import group_shares
from assay.measures.conduct.progress import HIDDEN, NO_ATOMS
from assay.measures.frames import valid_rows
from assay.measures.measure import Measure, Panel, ReportedRun
from assay.measures.result import MeasureError, Result
from assay.measures.views.style import WIDTH, Drawing, percent_axis
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import group_name, methods, plural
from assay.support.stats.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL = "all episodes"
MOST_BARS = 24
"""Maximum number of conditions in a readable figure."""
ORDER = (
    UNTOUCHED,
    "reached",
    "touched",
    "moved",
    "grasped",
    "lifted",
    "carried",
    "placed",
    "released",
    "done",
)
"""Stages of objects, drawers, doors and knobs, in the order of reports.

`placed`, `released` and `done` mean here that the goal atom held and was lost.
"""


@dataclass(frozen=True, slots=True)
class StageFailures(Result):
    """Failures of a group of episodes that stop at one stage."""

    group: Annotated[dict[str, Label], Column("condition")]
    """Columns that define the group, and their values; empty for all episodes."""
    stage: Annotated[str, Column("furthest stage")]
    failures: Annotated[int, Column("failures there", "count")]
    """Number of failures that stop at the stage."""
    of_failures: Annotated[int, Column("failures", "count")]
    """Number of failures with recorded stages."""
    count: Annotated[int, Column("episodes", "count")]
    """Number of episodes with recorded stages, successes included."""
    share: Annotated[float, Column("share of failures", "share")]
    """Share of the failures that stop at the stage: ``failures / of_failures``."""
    interval: Annotated[Interval, Column("95 % interval", "share")]
    """Wilson interval of the share, over starts and variants."""

    @property
    def name(self) -> str:
        """Name of the group in reports."""
        return group_name(self.group) if self.group else ALL


def stops(frame: pl.DataFrame) -> tuple[StageFailures, ...]:
    """Count failures by final stage: all episodes, then each condition.

    Raises MeasureError without recorded stages.
    """
    if "stages" not in frame.columns or frame["stages"].null_count() == len(frame):
        raise MeasureError("the run does not record the stages of goal atoms")
    rows = valid_rows(frame).filter(pl.col("stages") != NO_ATOMS)
    failed = rows.filter(pl.col("success") == 0)
    if not len(failed):
        return ()
    at = pl.struct("stages", "truth", "steps").map_elements(
        lambda row: final_stage(row["stages"], row["truth"], row["steps"]), return_dtype=pl.String
    )
    failed = failed.with_columns(_stage=at)
    result = _count_stages({}, failed, len(rows))
    conditions = rows["condition"].unique(maintain_order=True).to_list()
    for condition in conditions if len(conditions) > 1 else ():
        mine = failed.filter(pl.col("condition") == condition)
        if len(mine):
            result += _count_stages(
                {"condition": condition}, mine, int((rows["condition"] == condition).sum())
            )
    return tuple(result)


def _count_stages(group: dict[str, Label], failed: pl.DataFrame, count: int) -> list[StageFailures]:
    result = []
    for stage in ORDER:
        here = failed.with_columns(_here=(pl.col("_stage") == stage).cast(pl.Int64))
        (part,) = group_shares(here, "_here")
        if part.hits:
            counts = part.hits, len(failed), count
            result.append(StageFailures(group, stage, *counts, part.share, part.interval))
    return result


@lru_cache(maxsize=65_536)
def final_stage(stages: str, truth: str, steps: int) -> str:
    """Return the furthest stage of the most advanced atom that does not hold at the end."""
    held = json.loads(truth)
    open_atoms = [
        reached
        for atom, reached in json.loads(stages).items()
        if not any(last > steps for _, last in held.get(atom, ()))
    ]
    return furthest(max(open_atoms, key=atom_progress)) if open_atoms else UNTOUCHED


def stops_table(stops: Sequence[StageFailures], report: ReportedRun) -> Table | None:
    """Table of the stages at which failures stop."""
    if not stops:
        return None
    return Table.of(
        "stops",
        "Where failures stop",
        stops,
        Column("condition", value=lambda stop: stop.name),
        *("stage", "failures", "of_failures", "count", "share", "interval"),
        note="Furthest stage of the most advanced goal atom that does not hold at the end. Placed, released or done: "
        f"the atom held and was lost. 95 % intervals: {methods(stop.interval for stop in stops)}.",
    )


def stops_figure(stops: Sequence[StageFailures], report: ReportedRun) -> Drawing | None:
    """Figure of the failures by final stage and condition."""
    if not stops:
        return None
    names = list(dict.fromkeys(stop.name for stop in stops))[:MOST_BARS]
    shares = {(stop.name, stop.stage): stop.failures / stop.count for stop in stops}
    stages = [stage for stage in ORDER if any(stop.stage == stage for stop in stops)]

    def paint(figure: Figure) -> None:
        from matplotlib import colormaps

        axes = figure.subplots()
        left = np.zeros(len(names))
        for stage in stages:
            widths = np.array([shares.get((name, stage), 0.0) for name in names])
            colour = colormaps["viridis"](0.08 + 0.86 * ORDER.index(stage) / (len(ORDER) - 1))
            axes.barh(names, widths, left=left, color=colour, label=stage, height=0.7)
            left = left + widths
        axes.invert_yaxis()
        axes.set_xlim(0, max(0.05, left.max()) * 1.02)
        axes.set_xlabel("share of episodes that fail with this as their furthest stage")
        percent_axis(axes.xaxis)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside upper center", ncols=5)

    caption = (
        f"{plural(stops[0].of_failures, 'failure')} of {plural(stops[0].count, 'episode')}. The length of a bar is the "
        "share of episodes that fail; its colours are the furthest stages. Shares with 95 % intervals "
        f"({methods(stop.interval for stop in stops)}) are in the table."
    )
    size = (WIDTH, 1.1 + 0.24 * len(names))
    return Drawing("stops", "Where failures stop", caption, size, paint, in_a_column=False)


STOPS = Measure(
    "stops",
    "Where failures stop: the furthest stage of the goal atom in progress.",
    lambda run: stops(run.plausible),
    needs=("stages",),
    panels=(Panel(HIDDEN, (stops_table,), (stops_figure,)),),
)
