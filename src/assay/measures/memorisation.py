"""Memory: does the hand go where it went in the control, although the change calls for another path?

A change calls for another path where it is implausible (words that mean nothing or something else, a target
that is gone), where the goal is another one in the same world, or where a thing that the task is about stands
far enough from where it stood in the control. (Runs record where things stand at the start; those that do not have
the label ``distance``, and what they say of memory rests on that.) Then

    D = distance from the path to the nearest successful control of the same task, own seed or other,
        each time over that control's duration (dynamic time warping over 50 points, metres)

is compared with the natural spread of the task: the same distance for each successful control, to the nearest
of the *others*. (The nearest, because a policy may know several ways; the mean of two ways is none.) The path
is *the control's own* where D is within 95 % of that spread, or a centimetre, where controls are even more
alike. The index is the share of such paths: 0 for a policy that takes notice, near 1 for one that plays back
what it has learnt.

What is not judged, and counted apart:

- episodes whose control failed or broke: there is nothing well learnt to fall back on;
- episodes whose control is less than twice the spread away from standing still: whoever waits in both cases,
  or acts so erratically that anything is within the spread, is not remembering;
- displacements below ten centimetres or four times the spread, which a path may well follow unnoticed;
- displacements where the end effector starts elsewhere, too, as in a room where the robot stands elsewhere.

Assumptions: seeds vary the layout less than the change does; what the hand does tells what the policy has in
mind. A policy that never listens scores 1 on words, whether it remembers or is told the goal by other means.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from assay.measures.dtw import distances
from assay.measures.measure import Measure, Panel
from assay.measures.paths import Paths
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.measures.table import START, controls, goal, in_another_world, judged, pairs, sums
from assay.stats.intervals import Interval, share_interval
from assay.stats.significance import mostly

QUANTILE = 0.95
FLOOR = 0.01
"""The least spread that is assumed, and the least displacement, metres."""
FAR = 0.1
"""How far a target must be moved to call for another path, metres."""
TIMES = 4
"""... and how many times the spread."""
RESOLVED = 2
"""How many times the spread a control must be away from standing still."""
ELSEWHERE = 0.02
"""From how far apart on two paths begin elsewhere, metres."""
MOST_CONTROLS = 20
"""Controls of a task that paths are compared with, besides their own."""


@dataclass(frozen=True, slots=True)
class Index(Result):
    """How often the path is the control's own."""

    group: str
    """The axis or the condition; empty for all."""
    index: float
    interval: Interval
    """Wilson's, over starts."""
    alike: int
    """Episodes whose path is the control's own."""
    count: int
    """Episodes that were judged."""
    starts: int
    p: float
    """Exact: that in so many starts most paths are the control's own, were that so in 5 % by chance."""


@dataclass(frozen=True, slots=True, eq=False)
class Memorisation(Result):
    """The memorisation index of a run."""

    overall: Index
    axes: tuple[Index, ...]
    conditions: tuple[Index, ...]
    by_label: int
    """Episodes judged because the target was moved that have that from a label: the run does not record it."""
    unjudged: dict[str, int]
    """Why episodes with such a change were not judged, and how many."""
    spread: dict[str, float]
    """What counts as the control's own path, metres: task -> distance."""
    episodes: pl.DataFrame = field(repr=False, metadata=FOR_DRAWING)
    """id, task, seed, start, condition, axis, distance (metres), spread, alike."""


def memorisation(frame: pl.DataFrame, paths: Paths) -> Memorisation:
    """How much of what a policy does is memory."""
    rows = judged(frame)
    changed = _prepared(pairs(rows, "id", "truth", "initial_positions"))
    changed = changed.filter(pl.col("other") | (pl.col("moved_by") > 0))
    if not len(changed):
        raise MeasureError("no episode with a control has a change that calls for another path")
    known = controls(rows).filter(pl.col("success") == 1)
    known = known.filter(pl.Series(paths.has(known["id"].to_numpy())))
    spread = _spread(known, paths)
    unjudged: Counter[str] = Counter()

    def keep(table: pl.DataFrame, which: np.ndarray | pl.Series, why: str) -> pl.DataFrame:
        kept = table.filter(pl.Series(which))
        unjudged[why] += len(table) - len(kept)
        return kept

    changed = keep(changed, changed["control_success"] == 1, "the control failed")
    has = paths.has(changed["id"].to_numpy()) & paths.has(changed["control_id"].to_numpy())
    changed = keep(changed, has, "no path")
    within = np.array([spread.get(task, spread[""]) for task in changed["task"]])
    changed = changed.with_columns(spread=within)
    far = (pl.col("moved_by") >= FAR) & (pl.col("moved_by") >= TIMES * pl.col("spread"))
    changed = keep(
        changed,
        changed.select(pl.col("other") | far).to_series(),
        "moved too little, for how much controls differ",
    )
    elsewhere = _starting_elsewhere(changed, paths) & ~changed["other"].to_numpy()
    changed = keep(changed, ~elsewhere, "the end effector starts elsewhere")
    changed = keep(
        changed, ~_standing_still(changed, paths), "the control cannot be told from standing still"
    )
    if not len(changed):
        said = ", ".join(f"{count} x {why}" for why, count in unjudged.items() if count)
        raise MeasureError(f"no episode can be judged: {said}")
    changed = pl.concat(
        group.with_columns(
            distance=_nearest(group, known.filter(pl.col("task") == task)["id"].to_numpy(), paths)
        )
        for (task,), group in changed.group_by("task", maintain_order=True)
    ).with_columns(alike=pl.col("distance") <= pl.col("spread"))
    return Memorisation(
        overall=_index("", changed),
        axes=along(changed),
        conditions=_by("condition", changed),
        by_label=int((~changed["other"] & ~changed["measured"]).sum()),
        unjudged={why: count for why, count in unjudged.items() if count},
        spread={task: value for task, value in spread.items() if task},
        episodes=changed.select(
            "id", "task", "seed", "start", "condition", "axis", "distance", "spread", "alike"
        ),
    )


def along(episodes: pl.DataFrame) -> tuple[Index, ...]:
    """The index of each axis, from judged episodes of one run or of several."""
    return _by("axis", episodes)


def _prepared(rows: pl.DataFrame) -> pl.DataFrame:
    """The axis, how far the target was moved, and whether something else calls for another path.

    Where nothing else does, the axis is the world: it is what tells, whatever was said besides.
    """
    have = {name: pl.col(name) for name in rows.columns}
    now, usual = goal(), goal("control_truth")
    measured = pl.struct("initial_positions", "control_initial_positions").map_elements(
        lambda both: displacement(*both.values()), return_dtype=pl.Float64
    )
    label = have.get("distance", pl.lit(0.0)).cast(pl.Float64).fill_null(0.0)
    return (
        rows.with_columns(axis=have.get("axis", pl.lit(None, pl.String)), _measured=measured)
        .with_columns(
            measured=pl.col("_measured").is_not_null(),
            moved_by=pl.coalesce("_measured", label),
            other=~have.get("plausible", pl.lit(True)).fill_null(True)
            | (~in_another_world() & (now != usual) & (now != "") & (usual != "")),
        )
        .with_columns(axis=pl.when("other").then("axis").otherwise(pl.lit("world")))
    )


def displacement(now: str | None, usual: str | None) -> float | None:
    """How far that of a task's things which was moved farthest stands from where it stood in the control, metres.

    From what both episodes record of the start (JSON); None where one of them does not. Less than a centimetre
    counts as none: things settle differently.
    """
    if now is None or usual is None:
        return None
    here, there = json.loads(now), json.loads(usual)
    apart = [math.dist(here[name], there[name]) for name in here.keys() & there.keys()]
    farthest = max(apart, default=0.0)
    return farthest if farthest >= FLOOR else 0.0


def _spread(known: pl.DataFrame, paths: Paths) -> dict[str, float]:
    """What counts as the same path for each task; under "" what counts for those with a single control."""
    found: dict[str, np.ndarray] = {}
    for (task,), group in known.group_by("task", maintain_order=True):
        ids = group["id"].to_numpy()[:MOST_CONTROLS]
        if len(ids) > 1:
            apart = np.stack([_distance(ids, each, paths) for each in ids])  # (from, to)
            np.fill_diagonal(apart, np.inf)
            found[str(task)] = apart.min(axis=0)
    if not found:
        raise MeasureError("needs a task with two successful controls, to know their natural spread")
    found[""] = np.concatenate(list(found.values()))
    return {task: max(FLOOR, float(np.quantile(each, QUANTILE))) for task, each in found.items()}


def _nearest(rows: pl.DataFrame, usual: np.ndarray, paths: Paths) -> np.ndarray:
    """Distance of each row's path from the nearest control of its task, its own among them: (rows,)."""
    ids, own = rows["id"].to_numpy(), rows["control_id"].to_numpy()
    apart = distances(paths.resampled(ids, paths.lengths(own)), paths.resampled(own))
    for each in usual[:MOST_CONTROLS]:
        apart = np.minimum(apart, _distance(ids, each, paths))
    return apart


def _distance(ids: np.ndarray, control: int, paths: Paths) -> np.ndarray:
    """Distance of paths from one control, over its duration: (ids,)."""
    reference = np.array([control])
    cut = paths.resampled(ids, np.repeat(paths.lengths(reference), len(ids)))
    return distances(cut, paths.resampled(reference), np.zeros(len(ids), int))


def _starting_elsewhere(rows: pl.DataFrame, paths: Paths) -> np.ndarray:
    """Whose path begins elsewhere than the control's: (rows,)."""
    begin, usual = (paths.first(rows[name].to_numpy()) for name in ("id", "control_id"))
    return np.asarray(np.linalg.norm(begin - usual, axis=1) > ELSEWHERE)


def _standing_still(rows: pl.DataFrame, paths: Paths) -> np.ndarray:
    """Whose control is hardly away from a hand that never leaves its start: (rows,)."""
    control = paths.resampled(rows["control_id"].to_numpy())
    still = np.repeat(control[:, :1], control.shape[1], axis=1)
    return np.asarray(distances(still, control) < RESOLVED * rows["spread"].to_numpy())


def _by(column: str, rows: pl.DataFrame) -> tuple[Index, ...]:
    return tuple(
        _index(str(name), group)
        for (name,), group in rows.drop_nulls(column).group_by(column, maintain_order=True)
    )


def _index(group: str, rows: pl.DataFrame) -> Index:
    hits, counts = sums(rows, START, alike=pl.col("alike"), count=pl.col("alike").is_not_null()).T
    return Index(
        group=group,
        index=float(hits.sum() / len(rows)),
        interval=share_interval(hits, counts, len(rows)),
        alike=int(hits.sum()),
        count=len(rows),
        starts=len(hits),
        p=mostly(hits, counts, 1 - QUANTILE),
    )


MEMORISATION = Measure(
    "memorisation",
    "How often the trajectory is the control's although the change calls for another.",
    lambda run: memorisation(run.frame, run.paths),
    continuous=True,
    panels=(
        Panel(
            "Memory",
            tables=("assay.report.tables:memorisation_table",),
            runs="assay.report.figures.memory:memorisation_figure",
        ),
    ),
    sentences="assay.report.summary:memorisation_sentences",
    numbers="assay.report.summary:memorisation_numbers",
    tests="assay.measures.hypotheses:memory",
)
