"""Cost of each change in each task, and comparison of the changes.

*Retention* is perturbed success divided by control success, over all starts: a policy with 20 % success that retains
all of it is robust, one with 90 % that retains half of it is not. A policy without a loss has a retention of 1, even if
its failures are random.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import polars as pl
import scipy

from assay.episodes.perturbation import TOGETHER, Change
from assay.measures import frames
from assay.measures.clustering import ratio
from assay.measures.flaws import shown_by
from assay.measures.measure import Measure, Panel, Profile, ReportedRun, RunData
from assay.measures.memory.memorisation import MEMORISATION
from assay.measures.memory.paths import displacement, starting_elsewhere
from assay.measures.result import FOR_DRAWING, MeasureError, Missing, Result
from assay.measures.sample_size import loss_p
from assay.measures.success.rates import SUCCESS
from assay.measures.views import wording
from assay.measures.views.table import Column, Table
from assay.support.stats.intervals import Interval
from assay.support.stats.significance import SURE, holm, hypergeometric, t_quantile
from assay.support.streams import stream

_SHUFFLES = 400
"""Number of random permutations of starts between tasks."""
ROWS = (
    "id",
    "task",
    "seed",
    "start",
    "condition",
    "change",
    "success",
    "control_success",
    "control_rate",
    "alike",
    "elsewhere",
    "axis",
)
"""Columns of `TaskChanges.rows`, which also has ``instruction`` unless the start determines it."""


@dataclass(frozen=True, slots=True)
class TaskChange(Result):
    """Cost of a change in one task."""

    task: Annotated[str, Column("task")]
    change: Annotated[str, Column("change")]
    pairs: Annotated[int, Column("pairs", "count")]
    starts: Annotated[int, Column("starts", "count")]
    telling: Annotated[int, Column("informative starts", "count")]
    """Number of informative starts: those whose control succeeds."""
    control: Annotated[float, Column("control", "share")]
    perturbed: Annotated[float, Column("perturbed", "share")]
    p: Annotated[float, Column("p of a loss", "p")]
    """Exact one-sided p value over starts."""
    more_p: Annotated[float, Column("more than in other tasks, Holm p", "p")]
    """Exact one-sided p value for a larger fraction of lost starts than in other tasks, adjusted (Holm)."""


@dataclass(frozen=True, slots=True)
class ChangeCost(Result):
    """Retention under a change, and the change's share of the loss over all changes."""

    change: Annotated[str, Column("change")]
    count: Annotated[int, Column("pairs", "count")]
    control: Annotated[float, Column("control", "share")]
    """Success rate of the controls and their repetitions; a control counts once for each of its pairs."""
    perturbed: Annotated[float, Column("perturbed", "share")]
    retention: Annotated[float | None, Column("retention (perturbed / control)", "share")]
    """None if no control succeeds."""
    interval: Annotated[Interval | None, Column("retention, 95 % interval", "share")]
    """Interval of ``retention`` over starts and wordings (Fieller's, with Wilson's limits)."""
    of_fall: Annotated[float | None, Column("share of the loss", "share")]
    """Share of the loss over all changes, which also depends on the number of episodes with the change.

    None if there is no loss.
    """
    of_fall_interval: Annotated[Interval | None, Column("share of the loss, 95 % interval", "share")]
    """Linearised interval of ``of_fall`` over starts."""
    more: Annotated[float | None, Column("success minus other changes", "change")] = None
    """Success under this change minus success under the other changes, from the same starts with a successful control.

    None for a single change.
    """
    more_interval: Annotated[Interval | None, Column("minus others, 95 % interval", "change")] = None
    """Newcombe interval of ``more`` over starts."""
    more_p: Annotated[float | None, Column("minus others, Holm p", "p")] = None
    """Exact two-sided p value for ``more``, adjusted for all changes (Holm)."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskChanges(Result):
    """Costs of changes, by task and change."""

    cells: tuple[TaskChange, ...]
    costs: tuple[ChangeCost, ...]
    """Costs of single changes, by increasing retention."""
    alike_p: float | None
    """p value for equal costs of all changes (Mantel-Haenszel, within starts); None for fewer than two changes."""
    uneven: dict[str, float]
    """Change -> p value of a test for equal costs in all tasks, by permutation of starts between tasks."""
    rows: pl.DataFrame = field(repr=False, metadata=FOR_DRAWING)
    """Perturbed episodes with their control's outcome, one row each.

    Columns: id, task, seed, start, condition, instruction, change, axis, success, control_success, control_rate
    (success rate of the control and its repetitions), alike (repeats the control's trajectory; null if not judged),
    elsewhere (an object or the end effector starts at a different position from the control).
    """
    changes: dict[str, str] = field(default_factory=dict, repr=False, metadata=FOR_DRAWING)
    """Condition -> its change, including weaker forms of a change."""


def task_changes(run: RunData) -> TaskChanges:
    """Measure the cost of each change in each task. Raises MeasureError if no perturbed episode has a control."""
    used = frames.narrow(run.changed, *ROWS, "instruction", "outcome", "initial_positions")
    rows = frames.pairs(frames.valid_rows(used), "id", "initial_positions")
    rows = rows.filter(pl.col("change").is_not_null() & (pl.col("change") != Change.TASK))
    if not len(rows):
        raise MeasureError("no perturbed episode in which success is expected has a control")
    labels = run.frame.select("condition", "change").drop_nulls().unique()
    rows = with_paths(run, rows)
    # Without the instruction, the interval of retention would count wordings as repetitions. Where the start determines
    # it, there are none, and no such column.
    rows = rows.select(*ROWS, *({"instruction"} & {*rows.columns}))
    return replace(measure_task_changes(rows), changes=dict(labels.iter_rows()))


def with_paths(run: RunData, rows: pl.DataFrame) -> pl.DataFrame:
    """Add the columns ``alike`` and ``elsewhere`` of `TaskChanges.rows` to paired rows."""
    moved = pl.struct("initial_positions", "control_initial_positions").map_elements(
        lambda both: (displacement(*both.values()) or 0.0) > 0, return_dtype=pl.Boolean
    )
    axis = pl.col("axis") if "axis" in rows.columns else pl.lit(None, pl.String)
    rows = rows.with_columns(elsewhere=moved, axis=axis.cast(pl.String))
    memory = run.attempt(MEMORISATION)
    if not isinstance(memory, Missing):
        has_paths = run.paths.has(rows["id"].to_numpy()) & run.paths.has(rows["control_id"].to_numpy())
        apart = np.zeros(len(rows), bool)
        apart[has_paths] = starting_elsewhere(rows.filter(pl.Series(has_paths)), run.paths)
        rows = rows.with_columns(elsewhere=pl.col("elsewhere") | pl.Series(apart))
        alike = memory.episodes.select("id", "alike")
        return rows.join(alike, on="id", how="left", maintain_order="left")
    return rows.with_columns(alike=pl.lit(None, pl.Boolean))


def measure_task_changes(rows: pl.DataFrame) -> TaskChanges:
    """Measure the cost of each change in each task, from the paired rows of one or several runs."""
    is_single = pl.col("change").map_elements(lambda name: len(shown_by(name)) == 1, return_dtype=pl.Boolean)
    alone = rows.filter(is_single)
    by_change = {
        change: alone.filter(pl.col("change") == change) for change in sorted(alone["change"].unique())
    }
    lost = (pl.col("control_success") - pl.col("success")).sum()
    all_lost = rows.group_by(frames.START, maintain_order=True).agg(_all=lost)
    whole, starts = all_lost["_all"].to_numpy().astype(float), len(all_lost)
    t = t_quantile(0.975, max(starts - 1, 1))
    # A change's share of the loss is defined if the loss over all changes is significant.
    falls = starts > 2 and whole.sum() > max(0.0, t * whole.std(ddof=1) * starts**0.5)
    costs = []
    for change, own in by_change.items():
        retained = ratio(own, "control_rate", "success")
        part = part_interval = None
        if falls:
            own_lost = own.group_by(frames.START).agg(_mine=lost)
            both = all_lost.join(own_lost, on=frames.START, how="left", maintain_order="left")
            mine = both["_mine"].fill_null(0).to_numpy().astype(float)
            part = float(mine.sum() / whole.sum())
            off = mine - part * whole
            half = t * float(np.sqrt(np.square(off).sum() * starts / (starts - 1))) / whole.sum()
            part_interval = Interval(part - half, part + half, "linearised, over starts")
        # only starts with this change and another one are compared
        sides = frames.two_sides(
            alone.filter(pl.col("control_success") == 1), frames.START, pl.col("change") == change
        )
        comparison: dict[str, Any] = {}
        if len(sides):
            estimate, exact_p = frames.compare_sides(sides)
            comparison = {"more": estimate.difference, "more_interval": estimate.interval, "more_p": exact_p}
        costs.append(
            ChangeCost(
                change=change,
                count=len(own),
                control=float(own["control_rate"].mean()),  # type: ignore[arg-type]
                perturbed=float(own["success"].mean()),  # type: ignore[arg-type]
                retention=None if retained is None else retained.value,
                interval=None if retained is None else retained.interval,
                of_fall=part,
                of_fall_interval=part_interval,
                **comparison,
            )
        )
    raised = holm([1.0 if cost.more_p is None else cost.more_p for cost in costs])
    costs = [
        cost if cost.more_p is None else replace(cost, more_p=p)
        for cost, p in zip(costs, raised, strict=True)
    ]
    return TaskChanges(
        cells=tuple(cell for change in by_change for cell in measure_cells(change, alone)),
        costs=tuple(sorted(costs, key=lambda cost: math.inf if cost.retention is None else cost.retention)),
        alike_p=alike_p(alone) if len(by_change) > 1 else None,
        uneven={change: p for change, own in by_change.items() if (p := uneven_p(own)) is not None},
        rows=rows,
    )


def measure_cells(change: str, rows: pl.DataFrame) -> list[TaskChange]:
    """Measure the cost of a change in each task."""
    rows = rows.filter(pl.col("change") == change)
    cells = []
    for (task, _), table in by_cell(rows).items():
        control, perturbed, pairs = table.sum(axis=0)
        cells.append(
            TaskChange(
                task=task,
                change=change,
                pairs=int(pairs),
                starts=len(table),
                telling=int((table[:, 0] > 0).sum()),
                control=float(control / pairs),
                perturbed=float(perturbed / pairs),
                p=loss_p(table),
                more_p=1.0,
            )
        )
    able = frames.start_table(rows.filter(pl.col("control_success") == 1))
    lost, tasks = (2 * able["perturbed"] <= able["count"]).to_numpy(), able["task"].to_numpy()
    more_lost = []
    for cell in cells:
        mine = tasks == cell.task
        hits, count = int(lost[mine].sum()), int(mine.sum())
        if not hits or count == len(lost):
            more_lost.append(1.0)
            continue
        total, won, drawn = (np.array(value) for value in (len(lost), int(lost.sum()), count))
        more_lost.append(float(hypergeometric(total, won, drawn, np.arange(hits, count + 1)).sum()))
    return [replace(cell, more_p=p) for cell, p in zip(cells, holm(more_lost), strict=True)]


def by_cell(rows: pl.DataFrame) -> dict[tuple[str, str], np.ndarray]:
    """Map (task, change) to control successes, perturbed successes and pairs by start, (starts, 3)."""
    table = frames.start_table(rows, "change")
    return {key: frames.outcome_counts(cell) for key, cell in frames.group_rows(table, ("task", "change"))}


def alike_p(rows: pl.DataFrame) -> float:
    """Test for equal costs of all changes, by permutation within the starts whose controls succeed; return p.

    In the generalised Mantel-Haenszel test, the statistic is the deviation of the successes by change from the mean of
    their start, divided by its covariance; it follows a chi-squared distribution.
    """
    rows = rows.filter(pl.col("control_success") == 1)
    start = rows.select(pl.struct(frames.START).rank("dense")).to_series().to_numpy().astype(int) - 1
    change = rows["change"].rank("dense").to_numpy().astype(int) - 1
    if not len(rows) or change.max() < 1:
        return 1.0
    counts, hits = np.zeros((2, start.max() + 1, change.max() + 1))
    np.add.at(counts, (start, change), 1.0)
    np.add.at(hits, (start, change), rows["success"].to_numpy().astype(float))
    size = counts.sum(axis=1, keepdims=True)  # (starts, 1)
    share = hits.sum(axis=1, keepdims=True) / size
    off = (hits - share * counts).sum(axis=0)
    among = np.divide(share * (1 - share), size - 1, where=size > 1, out=np.zeros_like(size))
    covariance = np.diag((among * size * counts).sum(axis=0)) - (among * counts).T @ counts
    freedom = int(np.linalg.matrix_rank(covariance))
    if not freedom:
        return 1.0
    return float(scipy.special.chdtrc(freedom, off @ np.linalg.pinv(covariance) @ off))


def uneven_p(rows: pl.DataFrame) -> float | None:
    """Return the p value of a test for equal costs in all tasks, by permutation of starts between tasks.

    None for a single task.
    """
    table = frames.start_table(rows.filter(pl.col("control_success") == 1))
    task = table["task"].rank("dense").to_numpy().astype(int) - 1 if len(table) else np.zeros(0, int)
    if not len(table) or task.max() < 1:
        return None
    hits, counts = table["perturbed"].to_numpy().astype(float), table["count"].to_numpy().astype(float)
    off = hits - hits.sum() / counts.sum() * counts

    def apart(order: np.ndarray) -> float:
        return float((np.bincount(task, off[order]) ** 2 / np.bincount(task, counts[order])).sum())

    random, observed = stream("tasks alike", len(table)), apart(np.arange(len(table)))
    orders = (random.permutation(len(table)) for _ in range(_SHUFFLES))
    return (1 + sum(apart(order) >= observed - 1e-9 for order in orders)) / (1 + _SHUFFLES)


def costs_table(result: TaskChanges, report: ReportedRun) -> Table:
    """Return a table of the retention under each change."""
    alike = ""
    if result.alike_p is not None:
        verdict = "differ in cost" if result.alike_p < SURE else "do not differ significantly"
        test = f"{wording.p_phrase(result.alike_p)}, Mantel-Haenszel, within starts"
        alike = f"Overall, the changes {verdict} ({test})."
    return Table.of(
        "retention",
        "Retention under each change",
        result.costs,
        note="Retention: success under the change divided by the success of the controls, over all starts; 100 % if "
        "nothing is lost. Intervals over starts. Share of the loss: the change's share of the difference between "
        "control and perturbed successes, which also depends on its number of episodes. Success minus other changes: "
        "success under this change minus success under the others, from the same starts with a successful control. "
        f"{alike}",
        shown_at_once=True,
    )


def task_changes_table(result: TaskChanges, report: ReportedRun) -> Table | None:
    """Return a table of the cost of each change in each task."""
    if len({cell.task for cell in result.cells}) < 2:
        return None
    uneven = [f"{change} ({wording.p_phrase(p)})" for change, p in result.uneven.items() if p < SURE]
    verdict = f"Changes that cost more in some tasks than in others: {wording.listed(uneven)}"
    if not uneven:
        verdict = "No change costs significantly more in some tasks than in others"
    return Table.of(
        "task-changes",
        "Cost of each change in each task",
        sorted(result.cells, key=lambda cell: (cell.change, wording.natural(cell.task))),
        *("change", "task", "pairs", "starts", "telling", "control", "perturbed"),
        Column("difference", "change", value=lambda cell: cell.perturbed - cell.control),
        *("p", "more_p"),
        note="p of a loss: within the task, one-sided, exact over starts, not adjusted. More than in other tasks: p of "
        "a larger loss than in the other tasks, adjusted (Holm) over all tasks with the change. Informative starts are "
        f"those whose control succeeds. {verdict} (permutation of starts between tasks).",
    )


def costs_sentences(result: TaskChanges, profile: Profile) -> Iterator[str]:
    """Yield sentences about the retention under the costliest changes."""
    costs = [cost for cost in result.costs if cost.retention is not None]
    if not costs:
        if result.costs:
            yield "No control succeeds, so the fraction of success that it retains is unknown."
        return
    events = (Change.MEANWHILE, Change.REQUEST, Change.CANCEL, Change.INTERRUPTION)
    texts = []
    for cost in costs[:3]:
        change = cost.change.replace(TOGETHER, " and ")
        under = (
            wording.describe_change(cost.change) if cost.change in events else f"under changes of {change}"
        )
        rates = (
            f"{wording.percent(cost.perturbed, 0)} against {wording.percent(cost.control, 0)} of the controls"
        )
        limits = f"95 % interval {wording.between(cost.interval, 100, 0)}"
        texts.append(f"{wording.percent(cost.retention, 0)} {under} ({rates}, {limits})")
    rest = len(costs) - 3
    more = (
        f"; {wording.plural(rest, 'other change')} {'is' if rest == 1 else 'are'} in the table"
        if rest > 0
        else ""
    )
    yield f"It retains these fractions of its success (perturbed / control): {wording.listed(texts)}{more}."
    worse = [
        cost for cost in costs if cost.more is not None and cost.more < 0 and (cost.more_p or 0.0) < SURE
    ]
    if worse:
        names = wording.listed(
            f"{cost.change.replace('+', ' and ')} ({wording.points(cost.more or 0.0)} points, "
            f"95 % interval {wording.between(cost.more_interval, 100)})"
            for cost in worse
        )
        yield f"Changes that cost more than the others in the same starts: {names}."


TASK_CHANGES = Measure(
    "task_changes",
    "Cost of each change in each task, and retention under each change.",
    task_changes,
    panels=(Panel(SUCCESS, (costs_table, task_changes_table)),),
    sentences=costs_sentences,
)
