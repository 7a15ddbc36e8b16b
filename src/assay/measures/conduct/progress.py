"""Partial progress towards the goal, and the stage at which failures stop.

A goal is a conjunction of atoms, and an atom has stages: reached, touched, grasped, lifted, carried, placed, released
(`assay.episodes.episode`). The *progress* of an episode is the mean progress of its atoms, 0 to 1, as recorded by the
world. Worlds without stages provide the fraction of atoms that hold at the end, and the largest fraction that held
simultaneously. Both are 1 for a success.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from assay.episodes.episode import UNTOUCHED, atom_progress, furthest
from assay.episodes.spec import Label
from assay.measures.clustering import group_shares, shares
from assay.measures.frames import CLUSTER, group_rows, narrow, valid_rows
from assay.measures.measure import Measure, Panel, ReportedRun
from assay.measures.result import MeasureError, Result
from assay.measures.views.style import WIDTH, Drawing, Figure, stacked_bars
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import group_name, methods, plural
from assay.support.stats.intervals import Interval

HIDDEN = "Beyond success"
"""Title of the report section on measures beyond success."""
NO_ATOMS = "{}"
"""Stages recorded once an instruction is cancelled; its goal then has no atoms, and failures have no stage."""


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
    """Mean progress through the stages, from 0 to 1; None if no stages were recorded."""
    score_interval: Annotated[Interval | None, Column("its 95 % interval", "share")]
    """Wilson interval of ``score`` over starts and variants; conservative for a mean of values between 0 and 1."""
    several: Annotated[int, Column("n with several atoms", "count")]
    """Number of episodes whose goal has several atoms."""
    at_end: Annotated[float | None, Column("atoms at the end", "share")]
    """Fraction of the goal's atoms that held at the end, averaged over episodes."""
    at_end_interval: Annotated[Interval | None, Column("its 95 % interval", "share")]
    """Wilson interval of ``at_end`` over starts and variants."""
    best: Annotated[float | None, Column("most atoms at once", "share")]
    """Largest fraction of the goal's atoms that held simultaneously, averaged over episodes."""
    best_interval: Annotated[Interval | None, Column("its 95 % interval", "share")]


def progress(frame: pl.DataFrame, by: Sequence[str] = ("condition",)) -> tuple[GoalProgress, ...]:
    """Return the progress of each group of episodes with recorded stages or goals of several atoms."""
    recorded = narrow(frame, *CLUSTER, *by, "outcome", "truth", "steps", "stages", "progress")
    rows = valid_rows(recorded).drop_nulls(by)
    stages = pl.col("stages") if "stages" in rows.columns else pl.lit(None, pl.String).alias("stages")
    measured: list[tuple[int, float, float]] = []  # number of atoms, fraction at the end, largest fraction
    for truth, steps, success, reached in rows.select("truth", "steps", "success", stages).iter_rows():
        atoms = {} if reached == NO_ATOMS else json.loads(truth)  # a cancelled instruction has no atoms
        # Atoms that held before the first step, such as a stove that is already on, are left out of the fractions.
        spans = [atom for atom in atoms.values() if not any(first == 0 for first, _ in atom)]
        held = np.full((max(len(spans), 1), steps + 1), bool(success))  # from before the first step on
        for row, intervals in zip(held, () if success else spans, strict=False):
            for first, last in intervals:
                row[first:last] = True
        fractions = held.mean(axis=0)
        measured.append((len(atoms), float(fractions[-1]), float(fractions.max())))
    schema = {"_atoms": pl.Int64, "_at_end": pl.Float64, "_best": pl.Float64}
    score = pl.col("progress") if "progress" in rows.columns else pl.lit(None, pl.Float64)
    several = pl.col("_atoms") > 1
    rows = pl.concat([rows, pl.DataFrame(measured, schema, orient="row")], how="horizontal")
    rows = rows.with_columns(pl.when(several).then(pl.col("_at_end", "_best")), _score=score)
    rows = rows.filter(several | pl.col("_score").is_not_null())
    if not len(rows):
        return ()
    columns = ("_score", "_at_end", "_best")
    estimates = {column: shares(rows.drop_nulls(column), column, by) for column in columns}
    result = []
    for key, group in rows.group_by(by, maintain_order=True):
        means: dict[str, tuple[Any, Any]] = dict.fromkeys(columns, (None, None))
        for column, intervals in estimates.items():
            if key in intervals:
                means[column] = group[column].drop_nulls().mean(), intervals[key][1]
        result.append(
            GoalProgress(
                dict(zip(by, key, strict=True)),
                len(group),
                float(group["success"].mean()),  # type: ignore[arg-type]
                *means["_score"],
                int((group["_atoms"] > 1).sum()),
                *means["_at_end"],
                *means["_best"],
            )
        )
    return tuple(result)


def progress_table(groups: Sequence[GoalProgress], report: ReportedRun) -> Table:
    """Return a table of the progress in each condition."""
    columns, note = ["group", "count", "success"], ""
    staged = any(group.score is not None for group in groups)
    if staged:
        columns += ["score", "score_interval"]
        note += "Progress: mean progress of the goal's atoms through their stages; 100 % for a success. "
    if any(group.several for group in groups):
        columns += ["several", "at_end", "at_end_interval", "best", "best_interval"]
        note += (
            "Atoms: for goals with several atoms, the mean fraction that held at the end, and the mean of the largest "
            "fraction that held simultaneously. "
        )
    intervals = [group.score_interval if staged else group.at_end_interval for group in groups]
    note += f"95 % intervals: {methods(intervals)}."
    return Table.of("progress", "Progress towards the goal", groups, *columns, note=note)


PROGRESS = Measure(
    "progress",
    "Mean progress through the stages, and fraction of the goal's atoms that hold, by condition.",
    lambda run: progress(run.frame),
    needs=("truth",),
    panels=(Panel(HIDDEN, (progress_table,)),),
)


ALL = "all episodes"
MOST_BARS = 24
"""Maximum number of conditions in a legible figure."""
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
"""Stages of objects, drawers, doors and knobs, in reporting order.

Here `placed`, `released` and `done` mean that the goal atom held, but not at the end.
"""


@dataclass(frozen=True, slots=True)
class StageFailures(Result):
    """Failures with the same final stage in a group of episodes."""

    group: Annotated[dict[str, Label], Column("condition")]
    """Columns that define the group, and their values; empty for all episodes."""
    stage: Annotated[str, Column("furthest stage")]
    failures: Annotated[int, Column("failures there", "count")]
    """Number of failures with this final stage."""
    of_failures: Annotated[int, Column("failures", "count")]
    """Number of failures with recorded stages."""
    count: Annotated[int, Column("episodes", "count")]
    """Number of episodes with recorded stages, successes included."""
    share: Annotated[float, Column("share of failures", "share")]
    """Fraction of failures with this final stage: ``failures / of_failures``."""
    interval: Annotated[Interval, Column("95 % interval", "share")]
    """Wilson interval of ``share``, over starts and variants."""

    @property
    def name(self) -> str:
        """Name of the group in reports."""
        return group_name(self.group) if self.group else ALL


def stops(frame: pl.DataFrame) -> tuple[StageFailures, ...]:
    """Count failures by final stage, over all episodes and then for each condition.

    The final stage is the furthest stage of the most advanced atom that does not hold at the end. Raises MeasureError
    if no stages are recorded.
    """
    if "stages" not in frame.columns or frame["stages"].null_count() == len(frame):
        raise MeasureError("the run does not record the stages of goal atoms")
    recorded = narrow(frame, *CLUSTER, "outcome", "truth", "steps", "stages")
    rows = valid_rows(recorded).filter(pl.col("stages") != NO_ATOMS)
    failed = rows.filter(pl.col("success") == 0)
    if not len(failed):
        return ()
    final = []
    for stages, truth, steps in failed.select("stages", "truth", "steps").iter_rows():
        held = json.loads(truth)
        open_atoms = [
            reached
            for atom, reached in json.loads(stages).items()
            if not any(last > steps for _, last in held.get(atom, ()))
        ]
        final.append(furthest(max(open_atoms, key=atom_progress)) if open_atoms else UNTOUCHED)
    failed = narrow(failed, *CLUSTER).with_columns(_stage=pl.Series(final))
    result = []
    for by in ((), ("condition",)) if rows["condition"].n_unique() > 1 else ((),):
        at_stage = {
            (*part.group.values(), stage): part
            for stage in ORDER
            for part in group_shares(failed.with_columns(_here=pl.col("_stage") == stage), "_here", by)
        }
        for key, group in group_rows(rows, by):
            for stage in ORDER:
                part = at_stage.get((*key, stage))
                if part is not None and part.hits:
                    counts = part.hits, len(part.rows), len(group)
                    names = dict(zip(by, key, strict=True))
                    result.append(StageFailures(names, stage, *counts, part.share, part.interval))
    return tuple(result)


def stops_table(stops: Sequence[StageFailures], report: ReportedRun) -> Table:
    """Return a table of the stages at which failures stop."""
    return Table.of(
        "stops",
        "Where failures stop",
        stops,
        Column("condition", value=lambda stop: stop.name),
        *("stage", "failures", "of_failures", "count", "share", "interval"),
        note="Furthest stage of the most advanced goal atom that does not hold at the end. In the stages "
        "placed, released and done, the atom held before, but not at the end. "
        f"95 % intervals: {methods(stop.interval for stop in stops)}.",
    )


def stops_figure(stops: Sequence[StageFailures], report: ReportedRun) -> Drawing | None:
    """Plot the failures by final stage and condition."""
    if not stops:
        return None
    names = list(dict.fromkeys(stop.name for stop in stops))[:MOST_BARS]
    shares = {(stop.name, stop.stage): stop.failures / stop.count for stop in stops}
    stages = [stage for stage in ORDER if any(stop.stage == stage for stop in stops)]

    def paint(figure: Figure) -> None:
        from matplotlib import colormaps

        axes = figure.subplots()
        colours = colormaps["viridis"](0.08 + 0.86 * np.linspace(0, 1, len(ORDER)))
        lengths = {stage: np.array([shares.get((name, stage), 0.0) for name in names]) for stage in stages}
        parts = ((lengths[stage], {"color": colours[ORDER.index(stage)], "label": stage}) for stage in stages)
        stacked_bars(axes, names, parts)
        axes.set_xlim(0, max(0.05, np.sum(list(lengths.values()), axis=0).max()) * 1.02)
        axes.set_xlabel("fraction of episodes that fail, by furthest stage reached")
        figure.legend(loc="outside upper center", ncols=5)

    caption = (
        f"{plural(stops[0].of_failures, 'failure')} of {plural(stops[0].count, 'episode')}. The length of a bar is the "
        "fraction of episodes that fail; its colours show the furthest stages. Fractions with 95 % intervals "
        f"({methods(stop.interval for stop in stops)}) are in the table."
    )
    size = (WIDTH, 1.1 + 0.24 * len(names))
    return Drawing("stops", "Where failures stop", caption, size, paint, in_a_column=False)


STOPS = Measure(
    "stops",
    "Where failures stop: the furthest stage of the most advanced goal atom that does not hold at the end.",
    lambda run: stops(run.plausible),
    needs=("stages",),
    panels=(Panel(HIDDEN, (stops_table,), (stops_figure,)),),
)
