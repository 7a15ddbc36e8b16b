"""Requests for another task of the same scene: success compared with the control of the requested task.

A policy that is bad at a task is bad at it wherever it is requested, which does not show that it ignores the
instruction. An episode that requests a known task (label ``asked_from``) is therefore paired with the control of
that task, and an episode that requests two tasks at once with the controls of both. New goals have no control;
they are compared task by task with half of the controls' success.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import polars as pl

from assay.episodes.perturbation import Change
from assay.episodes.spec import CONTROL
from assay.measures.findings import Evidence, FlawTest, Profiles, Untested, select_results
from assay.measures.flaws import Flaw
from assay.measures.frames import atoms, controls, pairs, plausible, valid_rows
from assay.measures.measure import Measure, RunData
from assay.measures.result import FOR_DRAWING, MeasureError, Result
from assay.measures.sample_size import least_one_sided
from assay.measures.success.drops import Drop, drops, loss_test, pool_drops
from assay.measures.success.task_changes import ROWS, with_paths
from assay.measures.views.wording import negate
from assay.support.stats.intervals import Interval, student_over_tasks
from assay.support.stats.significance import sign_flip

FAIR = 0.5
"""Fraction of the controls' success below which a policy counts as failing at new goals, which may be harder."""
_ROWS = ("id", "experiment", "task", "seed", "start", "condition", "outcome", "success", "initial_positions")


@dataclass(frozen=True, slots=True)
class NewGoals(Result):
    """Success on new goals, compared with the controls of the tasks in whose scenes they are requested."""

    successes: int
    count: int
    tasks: int
    control: float
    """Mean success rate of the controls of the same tasks."""
    rate: float
    """Mean success rate on new goals, over tasks."""
    change: float
    """Difference ``rate - control``."""
    interval: Interval | None
    """Student interval over tasks; None for a single task."""
    p: float
    """Exact one-sided p value, over tasks, for success below half of the controls'."""


@dataclass(frozen=True, slots=True)
class OtherTasks(Result):
    """Success on other tasks that the instruction requests."""

    asked: tuple[Drop, ...]
    """Drop in each condition relative to the controls of the requested task.

    The last drop pools all requests for one task or, without such requests, all requests for two tasks; pooling
    both kinds would use the same controls twice.
    """
    new: NewGoals | None
    unmatched: int
    """Number of episodes that request a known task for which the run has no control."""
    rows: pl.DataFrame = field(repr=False, compare=False, metadata=FOR_DRAWING)
    """Requests for another task, paired with the control of that task; columns as in `TaskChanges.rows`."""


def other_tasks(run: RunData) -> OtherTasks:
    """Measure success on other tasks; empty if none is requested."""
    rows = valid_rows(run.frame)
    source = pl.col("asked_from") if "asked_from" in rows.columns else pl.lit(None, pl.String)
    change = pl.col("change") if "change" in rows.columns else pl.lit(None, pl.String)
    requests = plausible(rows.filter((change == Change.TASK) & (pl.col("condition") != CONTROL)))
    usual = controls(rows)
    first = usual.select("task", "truth").unique("task")
    goals = {str(task): atoms(truth) for task, truth in first.iter_rows()}

    def find_partner(row: dict[str, str]) -> str | None:
        """Return the other task in a goal that combines it with the episode's own task."""
        own, goal = goals.get(row["task"]), atoms(row["truth"])
        if own is None or not own < goal:
            return None
        return next((other for other, theirs in goals.items() if theirs in (goal - own, goal)), None)

    partner = pl.struct("task", "truth").map_elements(find_partner, return_dtype=pl.String)
    requests = requests.with_columns(source.cast(pl.String).alias("_known"), partner.alias("_partner"))
    single = requests.filter(pl.col("_known").is_not_null()).with_columns(task=pl.col("_known"))
    double = requests.filter(pl.col("_known").is_null() & pl.col("_partner").is_not_null())
    new = requests.filter(pl.col("_known").is_null() & pl.col("_partner").is_null())
    matched = _with_controls(single, double, usual)
    once = _with_controls(single, double.clear(), usual) if len(single) else matched
    asked_drops: list[Drop] = []
    for part, by in ((matched, "condition"), (once, "change")):
        with suppress(MeasureError):
            asked_drops += drops(part, (by,), resampling=False, stopped=run.stopped)
    unmatched = len(single.filter(~pl.col("task").is_in(usual["task"].implode())))
    own = pl.concat([usual, new], how="diagonal_relaxed")  # new goals with the task's own control
    paired = pl.concat(
        with_paths(run, pairs(part, "id", "initial_positions"))
        .with_columns(change=pl.lit(str(Change.TASK)))
        .select(ROWS)
        for part in (matched, own)
    )
    hits, rate = pl.col("success").sum(), pl.col("success").mean()
    table = new.group_by("task", maintain_order=True).agg(rate=rate, hits=hits, count=pl.len())
    table = table.join(usual.group_by("task").agg(control=rate), on="task", maintain_order="left")
    new_goals = None
    if len(table):
        now, before = (table[name].to_numpy().astype(float) for name in ("rate", "control"))
        off, change, interval = now - FAIR * before, now - before, None
        if len(table) > 1:
            error = float(change.std(ddof=1)) / len(table) ** 0.5
            interval = student_over_tasks(float(change.mean()), error, len(table) - 1)
        new_goals = NewGoals(
            successes=int(table["hits"].sum()),
            count=int(table["count"].sum()),
            tasks=len(table),
            control=float(before.mean()),
            rate=float(now.mean()),
            change=float(change.mean()),
            interval=interval,
            p=sign_flip(off) / 2 if off.sum() < 0 else 1.0,
        )
    return OtherTasks(tuple(asked_drops), new_goals, unmatched, paired)


def _with_controls(single: pl.DataFrame, double: pl.DataFrame, usual: pl.DataFrame) -> pl.DataFrame:
    """Return the requests, with the requested task in the column task, and the controls of the requested tasks."""
    name = (pl.col("task") + " and " + pl.col("_partner")).alias("task")
    second = usual.select(pl.col("task").alias("_partner"), "seed", (pl.col("success") == 1).alias("_other"))
    wanted = double.select("task", "_partner").unique(maintain_order=True)
    won = (pl.col("success") == 1) & pl.col("_other")
    both = (
        usual.join(wanted, on="task", how="inner")
        .join(second, on=("_partner", "seed"), how="inner")
        .with_columns(name, outcome=pl.when(won).then(pl.lit("success")).otherwise(pl.lit("failure")))
    )
    parts = (usual, both, single, double.with_columns(name))
    axis = pl.col("axis") if "axis" in usual.columns else pl.lit("words")
    change = pl.lit(str(Change.TASK))
    return pl.concat(part.select(*_ROWS, axis=axis.cast(pl.String), change=change) for part in parts)


def replace_other_tasks(drops: Sequence[Drop], other: OtherTasks | None) -> tuple[Drop, ...]:
    """Return the drops of conditions or changes; requests for other tasks are compared with those tasks' controls.

    New goals, which have no control, are not tested: p is None.
    """
    if other is None:
        return tuple(drops)
    right = {tuple(drop.group.values()): drop for drop in other.asked}
    conditions = {*other.rows["condition"], str(Change.TASK)}
    return tuple(
        drop
        if (key := tuple(drop.group.values()))[0] not in conditions
        else replace(right[key], family=drop.family)
        if key in right
        else replace(drop, p=None, p_holm=None)
        for drop in drops
    )


def _test_other_tasks(profiles: Profiles) -> Iterator[FlawTest | Untested]:
    """Test requests for other tasks, each against the control of the requested task, and new goals."""
    runs, results = select_results(profiles, OTHER_TASKS)
    tests = []
    if (own := [result.asked[-1] for result in results if result.asked]) and (
        drop := pool_drops(own)
    ).control:
        tests.append(loss_test(Flaw.OTHER_TASKS, runs, OTHER_TASKS.name, "known", drop))
    for run, result in zip(runs, results, strict=True):
        new = result.new
        if new is None or not new.control or new.interval is None:
            continue
        part = (OTHER_TASKS.name, "new", new.change, new.interval, new.p, new.successes, new.count)
        evidence = Evidence(run, *part, share=new.rate, reference=new.control, same_tasks=False)
        least = least_one_sided(new.tasks)
        tests.append(FlawTest(Flaw.OTHER_TASKS, (evidence,), new.p, negate(new.interval), least_p=least))
    if tests:  # the most significant counts, adjusted for the number of tests
        best = min(tests, key=lambda test: test.p)
        rest = (evidence for test in tests if test is not best for evidence in test.evidence)
        p, least = (min(1.0, len(tests) * value) for value in (best.p, best.least_p))
        yield replace(best, evidence=(*best.evidence, *rest), p=p, least_p=least)
    yield Untested(Flaw.OTHER_TASKS, OTHER_TASKS.name)


OTHER_TASKS = Measure(
    "other_tasks",
    "Success on other tasks of the scene, compared with the controls of the requested tasks.",
    other_tasks,
    needs=("change", "truth"),
    tests=_test_other_tasks,
)
