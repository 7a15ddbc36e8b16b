"""Asked for another task of the same scene: success against the control of the task that was asked for.

A policy that is bad at a task is bad at it wherever it is asked for it; that is no flaw of its listening. So an
episode that asks for a known task (the label ``asked_from``) goes with that task's control, and one that asks for
two tasks at once with both: it should succeed where both do. Goals that nobody was trained on have no control, and
are as different from the task's own as tasks are: they are compared task by task, against half of what the policy
does otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from assay.episodes.perturbation import Change
from assay.episodes.spec import CONTROL
from assay.measures.frames import atoms, controls, judged, pairs, plausible
from assay.measures.measure import Measure
from assay.measures.result import FOR_DRAWING, Result, attempt
from assay.measures.run_data import RunData
from assay.measures.success.drops import Drop, drops
from assay.measures.success.task_changes import ROWS, with_paths
from assay.support.stats.intervals import LEVEL, Interval, tested
from assay.support.stats.significance import sign_flip, t_quantile

FAIR = 0.5
"""The share of its usual success without which a policy does not do what is new: new goals may be harder."""
_ROWS = (
    *("id", "experiment", "task", "seed", "start", "condition", "outcome", "success", "axis", "change"),
    "initial_positions",
)


@dataclass(frozen=True, slots=True)
class NewGoals(Result):
    """Goals that no task has, against the controls of the tasks in whose scenes they are asked for."""

    successes: int
    count: int
    tasks: int
    control: float
    """Success in the controls of the same tasks, each task counted once."""
    rate: float
    """Success with new goals, likewise."""
    change: float
    """rate - control"""
    interval: Interval | None
    """Student's, over tasks; None for a single task."""
    p: float
    """One-sided, exact over tasks: that it is less than half of the control's."""


@dataclass(frozen=True, slots=True)
class OtherTasks(Result):
    """What comes of asking for another task."""

    asked: tuple[Drop, ...]
    """Each condition against the controls of what was asked for. Last all that ask for one task; or for two, if none
    does: both would use the same controls twice, and what these have by luck would count as so many witnesses."""
    new: NewGoals | None
    unmatched: int
    """Episodes that ask for a known task whose control the run has not."""
    rows: pl.DataFrame = field(repr=False, compare=False, metadata=FOR_DRAWING)
    """As `TaskChanges` has them: of requests for another task, beside the control of what was asked for."""

    @property
    def conditions(self) -> set[str]:
        """Those that ask for another task."""
        return set(self.rows["condition"])


def other_tasks(run: RunData) -> OtherTasks:
    """Success at other tasks; empty where none is asked for."""
    rows = judged(run.frame)
    known = pl.col("asked_from") if "asked_from" in rows.columns else pl.lit(None, pl.String)
    change = pl.col("change") if "change" in rows.columns else pl.lit(None, pl.String)
    asked = plausible(rows).filter((change == Change.TASK) & (pl.col("condition") != CONTROL))
    usual = controls(rows)
    goals = {
        str(task): atoms(truth) for task, truth in usual.select("task", "truth").unique("task").iter_rows()
    }
    partner = pl.struct("task", "truth").map_elements(
        lambda row: _partner(row["task"], atoms(row["truth"]), goals), return_dtype=pl.String
    )
    asked = asked.with_columns(known.cast(pl.String).alias("_known"), partner.alias("_partner"))
    single = asked.filter(pl.col("_known").is_not_null()).with_columns(task=pl.col("_known"))
    double = asked.filter(pl.col("_known").is_null() & pl.col("_partner").is_not_null())
    new = asked.filter(pl.col("_known").is_null() & pl.col("_partner").is_null())
    table = _with_controls(single, double, usual)
    once = _with_controls(single, double.clear(), usual) if len(single) else table
    parts = [
        attempt(drops, rows_of, (by,), resampling=False, stopped=run.stopped)
        for rows_of, by in ((table, "condition"), (once, "change"))
    ]
    found = [drop for part in parts if isinstance(part, tuple) for drop in part]
    unmatched = len(single.filter(~pl.col("task").is_in(usual["task"].implode())))
    return OtherTasks(tuple(found), _new_goals(new, usual), unmatched, _rows(run, table, new, usual))


def _rows(run: RunData, table: pl.DataFrame, new: pl.DataFrame, usual: pl.DataFrame) -> pl.DataFrame:
    """All requests for another task beside a control: that of what was asked for, or the task's own."""
    own = pl.concat([usual, new], how="diagonal_relaxed")
    return pl.concat(
        with_paths(run, pairs(each, "id", "initial_positions"))
        .with_columns(change=pl.lit(str(Change.TASK)))
        .select(ROWS)
        for each in (table, own)
    )


def _partner(task: str, goal: frozenset[str], goals: dict[str, frozenset[str]]) -> str | None:
    """The task that makes up the rest of a goal, where that is the episode's own task and another one."""
    own = goals.get(task)
    if own is None or not own < goal:
        return None
    rest = goal - own
    return next((other for other, theirs in goals.items() if theirs in (rest, goal)), None)


def _with_controls(single: pl.DataFrame, double: pl.DataFrame, usual: pl.DataFrame) -> pl.DataFrame:
    """Episodes under the names of the tasks that they ask for, and the controls of these."""
    name = (pl.col("task") + " and " + pl.col("_partner")).alias("task")
    second = usual.select(pl.col("task").alias("_partner"), "seed", (pl.col("success") == 1).alias("_other"))
    wanted = double.select(pl.col("task"), "_partner").unique(maintain_order=True)
    both = (
        usual.join(wanted, on="task", how="inner")
        .join(second, on=("_partner", "seed"), how="inner")
        .with_columns(
            name,
            outcome=pl.when((pl.col("success") == 1) & pl.col("_other"))
            .then(pl.lit("success"))
            .otherwise(pl.lit("failure")),
        )
    )
    everything = (usual, both, single, double.with_columns(name))
    axis = pl.col("axis") if "axis" in usual.columns else pl.lit("words")
    return pl.concat(
        each.with_columns(
            axis.cast(pl.String).alias("axis"), pl.lit(str(Change.TASK)).alias("change")
        ).select(_ROWS)
        for each in everything
    )


def fair(found: Sequence[Drop], other: OtherTasks | None) -> tuple[Drop, ...]:
    """What conditions, or changes, cost; with those that ask for another task against what was asked for.

    Goals that no task has are left as they are, without a test: p is 1.
    """
    if other is None:
        return tuple(found)
    right = {tuple(drop.group.values()): drop for drop in other.asked}
    conditions = {*other.conditions, str(Change.TASK)}
    return tuple(
        drop
        if (key := tuple(drop.group.values()))[0] not in conditions
        else replace(right[key], family=drop.family)
        if key in right
        else replace(drop, p=1.0, p_holm=1.0, interval=tested(drop.interval, 1.0))
        for drop in found
    )


def _new_goals(asked: pl.DataFrame, usual: pl.DataFrame) -> NewGoals | None:
    if not len(asked):
        return None
    rate = pl.col("success").mean()
    table = asked.group_by("task", maintain_order=True).agg(
        rate.alias("rate"), pl.col("success").sum().alias("hits"), pl.len().alias("count")
    )
    table = table.join(usual.group_by("task").agg(rate.alias("control")), on="task", maintain_order="left")
    if not len(table):
        return None
    now, before = (table[name].to_numpy().astype(float) for name in ("rate", "control"))
    off = now - FAIR * before
    p = sign_flip(off) / 2 if off.sum() < 0 else 1.0
    change, interval = now - before, None
    if len(table) > 1:
        free = len(table) - 1
        half = t_quantile((1 + LEVEL) / 2, free) * float(change.std(ddof=1)) / len(table) ** 0.5
        middle = float(change.mean())
        interval = Interval(max(-1.0, middle - half), min(1.0, middle + half), "student, over tasks")
    return NewGoals(
        successes=int(table["hits"].sum()),
        count=int(table["count"].sum()),
        tasks=len(table),
        control=float(before.mean()),
        rate=float(now.mean()),
        change=float(change.mean()),
        interval=interval,
        p=float(np.clip(p, 0.0, 1.0)),
    )


OTHER_TASKS = Measure(
    "other_tasks",
    "Other tasks of the scene, against the controls of the tasks that were asked for.",
    other_tasks,
    needs=("change", "truth"),
    tests="assay.measures.hypotheses:asked_otherwise",
)
