"""Failures near to the path of success (execution) and far from it (planning): LIBERO-Para's algorithm 1.

For each task and goal the successful paths, as 50 points, are averaged to a reference. A failure is cut at
the length of the longest success, and is near where its distance from the reference (dynamic time warping) is
at most that of the farthest success, or a centimetre; 99, 95 and 90 % of the successes give stricter
thresholds. Only episodes whose world is unchanged can be compared with each other, so those that perturb the
world are left out; so are those in which a good policy should not succeed. Who touched and moved nothing did
not follow another plan, and is counted among the far ones apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from assay.measures.clustering import shares
from assay.measures.dtw import distances
from assay.measures.measure import Measure, Panel
from assay.measures.paths import Paths
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.measures.table import START, goal, in_another_world, judged, plausible, sums
from assay.stats.intervals import Interval
from assay.stats.significance import mostly

QUANTILES = {"max": 1.0, "p99": 0.99, "p95": 0.95, "p90": 0.9}
FLOOR = 0.01
"""The least threshold, metres: successes that are even more alike say nothing about failures."""
FEWEST = 5
"""Successes of a task without which its failures cannot be judged."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskFailures(Result):
    """The failures of one task, with one goal."""

    task: str
    goal: str
    successes: int
    failures: int
    thresholds: dict[str, float]
    """Metres."""
    near: dict[str, int]
    """By threshold; the others are far."""
    reference: np.ndarray = field(repr=False, metadata=FOR_DRAWING)
    """The mean successful path, metres, (50, 3)."""


@dataclass(frozen=True, slots=True, eq=False)
class Failures(Result):
    """The failures of a run."""

    successes: int
    failures: int
    """Those that could be judged."""
    unjudged: int
    """Failures of tasks and goals with fewer than five successes, or without a path."""
    elsewhere: int
    """Episodes left out because their world is another one."""
    near: dict[str, int]
    far: dict[str, int]
    idle: int
    """Of the far ones, with the widest threshold: those that touched nothing and moved nothing."""
    far_share: float | None
    """Of the failures, with the widest threshold; None where there is no failure."""
    interval: Interval | None
    close: int
    """Failures that are near, with the widest threshold."""
    close_p: float | None
    """Exact, over starts: that in more than half of them most failures are close; None without a failure."""
    tasks: tuple[TaskFailures, ...]
    episodes: pl.DataFrame = field(repr=False, metadata=FOR_DRAWING)
    """id, task, seed, start, goal, success, distance (metres), threshold (the widest), near (null for a success)."""


def failures(frame: pl.DataFrame, paths: Paths) -> Failures:
    """Tell near failures from far ones."""
    axis = {"axis"} & set(frame.columns)
    still = (pl.col("touched").is_null() & pl.col("moved").is_null()).alias("still")
    rows = judged(plausible(frame)).select(
        *("id", "task", "seed", "start"), goal().alias("goal"), "success", still, *axis
    )
    here = rows.filter(~in_another_world()) if "axis" in rows.columns else rows
    known = here.filter(pl.Series(paths.has(here["id"].to_numpy())))
    if not len(known):
        raise MeasureError("no episode in an unchanged world has a path")
    found: list[TaskFailures] = []
    episodes: list[pl.DataFrame] = []
    for (task, aim), group in known.group_by("task", "goal", maintain_order=True):
        if group["success"].sum() >= FEWEST:
            one, table = _of_task(str(task), str(aim), group, paths)
            found.append(one)
            episodes.append(table)
    if not found:
        raise MeasureError(f"no task has {FEWEST} successes to compare with")
    total = sum(each.failures for each in found)
    near = {name: sum(each.near[name] for each in found) for name in QUANTILES}
    share = (total - near["max"]) / total if total else None
    table = pl.concat(episodes)
    lost = table.filter(~pl.col("success"))
    idle = lost.filter(~pl.col("near")).join(known.filter("still"), on="id", how="semi")
    hits, counts = sums(lost, START, close=pl.col("near"), count=pl.col("id").is_not_null()).T
    return Failures(
        successes=sum(each.successes for each in found),
        failures=total,
        unjudged=int((here["success"] == 0).sum()) - total,
        elsewhere=len(rows) - len(here),
        near=near,
        far={name: total - count for name, count in near.items()},
        idle=len(idle),
        far_share=share,
        interval=None if share is None else shares(lost.with_columns(_far=~pl.col("near")), "_far")[()][1],
        close=int(hits.sum()),
        close_p=mostly(hits, counts, 0.5) if total else None,
        tasks=tuple(found),
        episodes=table,
    )


def _of_task(task: str, aim: str, group: pl.DataFrame, paths: Paths) -> tuple[TaskFailures, pl.DataFrame]:
    won, lost = (group.filter(pl.col("success") == value)["id"].to_numpy() for value in (1, 0))
    successful = paths.resampled(won)
    reference = successful.mean(axis=0)
    longest = np.full(len(lost), paths.lengths(won).max())
    off = [
        distances(each, reference[None], np.zeros(len(each), int))
        for each in (successful, paths.resampled(lost, longest))
    ]
    thresholds = {name: max(FLOOR, float(np.quantile(off[0], each))) for name, each in QUANTILES.items()}
    near = {name: int((off[1] <= value).sum()) for name, value in thresholds.items()}
    table = pl.concat([group.filter(pl.col("success") == value) for value in (1, 0)]).select(
        *("id", "task", "seed", "start", "goal"),
        pl.col("success") == 1,
        distance=pl.Series(np.concatenate(off)),
        threshold=pl.lit(thresholds["max"]),
    )
    near_one = pl.when(~pl.col("success")).then(pl.col("distance") <= pl.col("threshold"))
    table = table.with_columns(near=near_one)
    return TaskFailures(task, aim, len(won), len(lost), thresholds, near, reference), table


FAILURES = Measure(
    "failures",
    "Failures close to the successful trajectory (execution) and far from it (planning).",
    lambda run: failures(run.frame, run.paths),
    continuous=True,
    panels=(
        Panel(
            "How it fails",
            tables=("assay.report.tables:failures_table",),
            figures=(
                "assay.report.figures.paths:paths_3d_figure",
                "assay.report.figures.paths:paths_top_figure",
            ),
            runs="assay.report.figures.paths:near_far_figure",
        ),
    ),
    sentences="assay.report.summary:failures_sentences",
    numbers="assay.report.summary:failures_numbers",
)
