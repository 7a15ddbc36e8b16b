"""Failures near the successful trajectory (execution) and far from it (planning): Algorithm 1 of LIBERO-Para.

For each task and goal, the successful trajectories, resampled to 50 points, are averaged into a reference. A failure is
truncated to the length of the longest success, and is near if its distance from the reference (dynamic time warping)
is at most that of the farthest success; stricter thresholds cover 99, 95 and 90 % of the successes. A `NearFarRule`
defines the remaining choices: by default, a failure within a centimetre is never far, and tasks with few successes are
not judged; the paper's rule makes neither exception. Episodes in a perturbed world are left out, because only unchanged
worlds are comparable, and so are episodes in which success is not expected. Far failures in which nothing was touched
or moved are counted separately.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from assay.episodes.spec import CONTROL
from assay.errors import did_you_mean
from assay.measures.clustering import shares
from assay.measures.frames import (
    ACTIONS,
    IN_ANOTHER_WORLD,
    NONE,
    OBJECTS,
    START,
    goal,
    plausible,
    sums,
    valid_rows,
)
from assay.measures.memory.paths import AnyPaths, distances
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.support.addresses import call_with_fields
from assay.support.stats.intervals import Interval
from assay.support.stats.significance import binomial_at_least

QUANTILES = {"max": 1.0, "p99": 0.99, "p95": 0.95, "p90": 0.9}
"""Name of a threshold -> fraction of a task's successes within it."""
WIDEST = "max"
"""Name of the default threshold, used in Table 4 of LIBERO-Para."""
NEAR = {name: "near" if name == WIDEST else f"near_{name}" for name in QUANTILES}
"""Name of a threshold -> column that marks the failures that are near at that threshold."""


@dataclass(frozen=True, slots=True)
class NearFarRule(Result):
    """Rule that separates near from far failures."""

    floor: float = 0.01
    """Smallest threshold in metres."""
    least_successes: int = 5
    """Minimum number of successes (at least one) in a task for its failures to be judged."""
    with_controls: bool = True
    """Whether controls are included, among both the successes and the failures."""

    def __post_init__(self) -> None:
        if not (0 <= self.floor <= 1 and self.least_successes >= 1):
            values = f"floor={self.floor:g}, least_successes={self.least_successes}"
            raise MeasureError(f"{values}: expected a floor from 0 to 1 m, and at least one success")


OURS = NearFarRule()
"""Default rule of reports."""
PAPER = NearFarRule(floor=0.0, least_successes=1, with_controls=False)
"""Rule of LIBERO-Para: paraphrases only; a task needs a single success to be judged."""
RULES = {"ours": OURS, "paper": PAPER}


def near_far_rule(text: str) -> NearFarRule:
    """Parse the name of a rule, or the fields that differ from the default rule: ``floor=0&with_controls=false``.

    Raises MeasureError, which lists the valid values.
    """
    if text in RULES:
        return RULES[text]
    if "=" not in text:
        raise MeasureError(f"unknown rule '{text}' for near failures: {did_you_mean(text, RULES)}")
    rule: NearFarRule = call_with_fields(NearFarRule, text, text, MeasureError)
    return rule


@dataclass(frozen=True, slots=True, eq=False)
class TaskFailures(Result):
    """Failures in one task with one goal."""

    task: str
    goal: str
    successes: int
    failures: int
    thresholds: dict[str, float]
    """Name of a threshold -> distance in metres."""
    near: dict[str, int]
    """Name of a threshold -> number of near failures; the remaining failures are far."""
    reference: np.ndarray = field(repr=False, metadata=FOR_DRAWING)
    """Mean successful trajectory in metres, (50, 3)."""


@dataclass(frozen=True, slots=True)
class NearFar(Result):
    """Numbers of successes, near failures and far failures in a group of episodes, excluding errors."""

    group: str
    """Name of the group: a task, a way of naming objects, a phrasing of the action, or ``all``."""
    episodes: int
    """Number of episodes: successes, near and far failures, and failures that were not judged."""
    successes: int
    near: dict[str, int]
    """Number of near failures, by threshold."""
    far: dict[str, int]
    """Number of far failures, by threshold."""
    unjudged: int
    """Number of failures not judged: without a trajectory, or in a task with too few successes."""

    def success_rate(self) -> float:
        """Return the fraction of episodes that succeed."""
        return self.successes / self.episodes

    def near_share(self, threshold: str = WIDEST) -> float:
        """Return the fraction of episodes that are near failures."""
        return self.near[threshold] / self.episodes

    def far_share(self, threshold: str = WIDEST) -> float:
        """Return the fraction of episodes that are far failures."""
        return self.far[threshold] / self.episodes

    def far_of_failures(self, threshold: str = WIDEST) -> float | None:
        """Return the fraction of judged failures that are far; None if no failure was judged."""
        judged = self.near[threshold] + self.far[threshold]
        return self.far[threshold] / judged if judged else None


@dataclass(frozen=True, slots=True, eq=False)
class NearFarFailures(Result):
    """Near and far failures of a run."""

    rule: NearFarRule
    successes: int
    failures: int
    """Number of judged failures."""
    unjudged: int
    """Number of failures not judged: without a trajectory, or with too few successes in the same task and goal."""
    elsewhere: int
    """Number of episodes left out because their world is perturbed."""
    near: dict[str, int]
    far: dict[str, int]
    idle: int | None
    """Number of far failures (widest threshold) in which no object was touched or moved; None if not recorded."""
    far_share: float | None
    """Fraction of failures that are far at the widest threshold; None without a failure."""
    interval: Interval | None
    close: int
    """Number of near failures at the widest threshold."""
    close_p: float | None
    """Exact p value of a test of whether most failures are near in more than half of the starts.

    None without a failure.
    """
    tasks: tuple[TaskFailures, ...]
    overall: NearFar
    """Counts over all episodes in an unchanged world, as in Tables 4 and 16 of LIBERO-Para."""
    by_task: tuple[NearFar, ...]
    by_object: tuple[NearFar, ...]
    """Counts for each way of naming objects (Figure 19, left); controls count as ``none``."""
    by_action: tuple[NearFar, ...]
    """Counts for each phrasing of the action (Figure 19, right); controls count as ``none``."""
    episodes: pl.DataFrame = field(repr=False, metadata=FOR_DRAWING)
    """Judged episodes, one row each.

    Columns: id, task, seed, start, goal, success, distance (metres), threshold (the widest), near (null for a
    success), near_p99, near_p95, near_p90.
    """


def failures(frame: pl.DataFrame, paths: AnyPaths, rule: NearFarRule = OURS) -> NearFarFailures:
    """Separate near from far failures. Raises MeasureError if there are no trajectories or too few successes."""
    labels = {"axis", "object", "action"} & set(frame.columns)
    still = (pl.col("touched").is_null() & pl.col("moved").is_null()).alias("still")
    rows = valid_rows(plausible(frame)).select(
        *("id", "task", "seed", "start", "condition"), goal().alias("goal"), "success", still, *sorted(labels)
    )
    contacts = not rows["still"].all()
    rows = rows if rule.with_controls else rows.filter(pl.col("condition") != CONTROL)
    here = rows.filter(~IN_ANOTHER_WORLD) if "axis" in rows.columns else rows
    traced = here.filter(pl.Series(paths.has(here["id"].to_numpy()), dtype=pl.Boolean))
    if not len(traced):
        what = "episode" if rule.with_controls else "perturbed episode"
        raise MeasureError(f"no {what} in an unchanged world has a trajectory")
    tasks: list[TaskFailures] = []
    episodes: list[pl.DataFrame] = []
    for (task, aim), group in traced.group_by("task", "goal", maintain_order=True):
        won, lost = (group.filter(pl.col("success") == value) for value in (1, 0))
        if len(won) < rule.least_successes:
            continue
        ids, lost_ids = won["id"].to_numpy(), lost["id"].to_numpy()
        successful = paths.resample(ids)
        reference = successful.mean(axis=0)
        cut = paths.resample(lost_ids, np.full(len(lost_ids), paths.lengths(ids).max()))
        off, lost_off = (
            distances(points, reference[None], np.zeros(len(points), int)) for points in (successful, cut)
        )
        thresholds = {
            name: max(rule.floor, float(np.quantile(off, share))) for name, share in QUANTILES.items()
        }
        near = {name: int((lost_off <= value).sum()) for name, value in thresholds.items()}
        counts = len(won), len(lost)
        tasks.append(TaskFailures(str(task), str(aim), *counts, thresholds, near, reference))
        judged = pl.concat([won, lost]).select(
            *("id", "task", "seed", "start", "goal"),
            pl.col("success") == 1,
            distance=pl.Series(np.concatenate([off, lost_off])),
            threshold=pl.lit(thresholds[WIDEST]),
        )
        is_near = {NEAR[name]: pl.col("distance") <= value for name, value in thresholds.items()}
        episodes.append(
            judged.with_columns(
                pl.when(~pl.col("success")).then(near).alias(column) for column, near in is_near.items()
            )
        )
    if not tasks:
        raise MeasureError(f"no task has the {rule.least_successes} successes required for a comparison")
    total = sum(task.failures for task in tasks)
    near = {name: sum(task.near[name] for task in tasks) for name in QUANTILES}
    share = (total - near[WIDEST]) / total if total else None
    table = pl.concat(episodes)
    lost = table.filter(~pl.col("success"))
    idle = lost.filter(~pl.col("near")).join(traced.filter("still"), on="id", how="semi")
    hits, counts = sums(lost, START, close=pl.col("near"), count=pl.col("id").is_not_null()).T
    ended = here.join(table.select("id", *NEAR.values()), on="id", how="left", maintain_order="left")
    return NearFarFailures(
        rule=rule,
        successes=sum(task.successes for task in tasks),
        failures=total,
        unjudged=int((here["success"] == 0).sum()) - total,
        elsewhere=len(rows) - len(here),
        near=near,
        far={name: total - count for name, count in near.items()},
        idle=len(idle) if contacts else None,
        far_share=share,
        interval=None if share is None else shares(lost.with_columns(_far=~pl.col("near")), "_far")[()][1],
        close=int(hits.sum()),
        close_p=binomial_at_least(int((2 * hits > counts).sum()), len(hits), 0.5) if total else None,
        tasks=tuple(tasks),
        overall=_count_groups(ended, pl.lit("all"))[0],
        by_task=_count_groups(ended, pl.col("task")),
        by_object=_by_type(ended, "object", OBJECTS),
        by_action=_by_type(ended, "action", ACTIONS),
        episodes=table,
    )


def _by_type(ended: pl.DataFrame, label: str, order: tuple[str, ...]) -> tuple[NearFar, ...]:
    """Count successes and failures by type of paraphrase; empty for runs without paraphrases."""
    if label not in ended.columns:
        return ()
    kind = pl.when(pl.col("condition") == CONTROL).then(pl.lit(NONE)).otherwise(pl.col(label))
    groups = {result.group: result for result in _count_groups(ended.filter(kind.is_not_null()), kind)}
    return tuple(groups[name] for name in order if name in groups)


def _count_groups(ended: pl.DataFrame, by: pl.Expr) -> tuple[NearFar, ...]:
    """Count the successes, near failures and far failures of each group, in order of appearance."""
    lost = pl.col("success") == 0
    counts = ended.group_by(by.alias("group"), maintain_order=True).agg(
        episodes=pl.len(),
        successes=pl.col("success").sum(),
        unjudged=(lost & pl.col("near").is_null()).sum(),
        **{f"near {name}": pl.col(column).sum() for name, column in NEAR.items()},
        **{f"far {name}": (~pl.col(column)).sum() for name, column in NEAR.items()},
    )
    return tuple(
        NearFar(
            group=row["group"],
            episodes=row["episodes"],
            successes=row["successes"],
            near={name: row[f"near {name}"] for name in QUANTILES},
            far={name: row[f"far {name}"] for name in QUANTILES},
            unjudged=row["unjudged"],
        )
        for row in counts.iter_rows(named=True)
    )
