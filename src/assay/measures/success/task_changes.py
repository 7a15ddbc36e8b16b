"""Where a change costs success, and whether it costs more than another: tasks x changes, of the starts that can tell.

Only a start whose control succeeds can lose something. What is *kept* is the share of such pairs that still succeed:
a policy of 20 % that keeps all of it is robust, one of 90 % that keeps half of it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
import scipy

from assay.episodes.perturbation import Change
from assay.measures.enough import loss_p
from assay.measures.flaws import shown_by
from assay.measures.frames import START, judged, pairs
from assay.measures.measure import Measure, Panel
from assay.measures.memory.memorisation import MEMORISATION, displacement
from assay.measures.memory.own_paths import starting_elsewhere
from assay.measures.result import FOR_DRAWING, MeasureError, Missing, Result
from assay.measures.run_data import RunData
from assay.measures.success.rates import SUCCESS
from assay.support.stats.intervals import Interval, share_interval, stratified, tested
from assay.support.stats.significance import holm, hypergeometric, paired
from assay.support.streams import stream

_SHUFFLES = 400
ROWS = (
    *("id", "task", "seed", "start", "condition", "change", "success", "control_success", "alike"),
    "elsewhere",
)


@dataclass(frozen=True, slots=True)
class TaskChange(Result):
    """What a change costs in one task."""

    task: str
    change: str
    pairs: int
    starts: int
    telling: int
    """Starts whose control succeeds: only they can show a loss."""
    control: float
    perturbed: float
    p: float
    """One-sided, exact over starts."""
    more_p: float
    """One-sided, exact: that more of its starts are lost than of the other tasks'; Holm over tasks."""


@dataclass(frozen=True, slots=True)
class ChangeCost(Result):
    """What a change leaves of the success that there is, and how much of the whole fall it makes up."""

    change: str
    kept: int
    """Pairs in which both succeed."""
    count: int
    """Pairs whose control succeeds."""
    share: float | None
    """kept / count; None where no control succeeds."""
    interval: Interval | None
    """Wilson's, over starts."""
    of_fall: float | None
    """Its part of the fall over all changes, which its number of episodes decides too; None without a fall."""
    of_fall_interval: Interval | None
    """Linearised, over starts."""
    more: float | None
    """Success kept with it less that kept with any other change, in the same starts; None for a single change."""
    more_interval: Interval | None
    """Newcombe's, over starts."""
    more_p: float | None
    """Exact, two-sided, adjusted for all changes (Holm)."""


@dataclass(frozen=True, slots=True, eq=False)
class TaskChanges(Result):
    """Tasks x changes."""

    cells: tuple[TaskChange, ...]
    costs: tuple[ChangeCost, ...]
    """The changes that are made alone, the costliest first."""
    alike_p: float | None
    """That all changes cost alike: Mantel and Haenszel's, within starts; None for fewer than two changes."""
    uneven: dict[str, float]
    """Change -> p that it costs alike in all tasks: by starts dealt anew to tasks."""
    rows: pl.DataFrame = field(repr=False, metadata=FOR_DRAWING)
    """id, task, seed, start, condition, change, success, control_success, alike (the path is the control's; null where
    that was not judged), elsewhere (a thing or the hand starts elsewhere than in the control)."""
    changes: dict[str, str] = field(default_factory=dict, repr=False, metadata=FOR_DRAWING)
    """Condition -> what it changes, also where that is less than its kind of change."""


def task_changes(run: RunData) -> TaskChanges:
    """What each change costs in each task. Raises MeasureError where no perturbed episode has a control."""
    found = measured(paired_rows(run))
    labels = run.frame.select("condition", "change").drop_nulls().unique() if run.has("change") else None
    return found if labels is None else replace(found, changes=dict(labels.iter_rows()))


def paired_rows(run: RunData) -> pl.DataFrame:
    """Perturbed episodes beside their controls: those that should not matter, and ask for the same task."""
    rows = pairs(judged(run.changed), "id", "initial_positions")
    rows = rows.filter(pl.col("change").is_not_null() & (pl.col("change") != Change.TASK))
    if not len(rows):
        raise MeasureError("no perturbed episode in which success is expected has a control")
    return with_paths(run, rows).select(ROWS)


def with_paths(run: RunData, rows: pl.DataFrame) -> pl.DataFrame:
    """Paired rows with what their paths tell: ``alike``, the control's (null where that was not judged); ``elsewhere``,
    whether a thing of the task, or the hand, starts elsewhere than in the control."""
    moved = pl.struct("initial_positions", "control_initial_positions").map_elements(
        lambda both: (displacement(*both.values()) or 0.0) > 0, return_dtype=pl.Boolean
    )
    rows = rows.with_columns(elsewhere=moved)
    memory = run.attempt(MEMORISATION) if MEMORISATION.applies(run) else Missing("")
    if not isinstance(memory, Missing):
        known = run.paths.has(rows["id"].to_numpy()) & run.paths.has(rows["control_id"].to_numpy())
        apart = np.zeros(len(rows), bool)
        apart[known] = starting_elsewhere(rows.filter(pl.Series(known)), run.paths)
        rows = rows.with_columns(elsewhere=pl.col("elsewhere") | pl.Series(apart))
        alike = memory.episodes.select("id", "alike")
        return rows.join(alike, on="id", how="left", maintain_order="left")
    return rows.with_columns(alike=pl.lit(None, pl.Boolean))


def measured(rows: pl.DataFrame) -> TaskChanges:
    """The same from paired rows, of one run or of several."""
    alone = rows.filter(pl.col("change").map_elements(_is_one, return_dtype=pl.Boolean))
    changes = sorted(alone["change"].unique())
    lost = _lost_by_start(rows)
    costs = [_cost(change, alone.filter(pl.col("change") == change), lost) for change in changes]
    contrasts = [_against_others(change, alone) for change in changes]
    raised = holm([1.0 if contrast is None else contrast[2] for contrast in contrasts])
    costs = [
        cost if each is None else replace(cost, more=each[0], more_interval=each[1], more_p=p)
        for cost, each, p in zip(costs, contrasts, raised, strict=True)
    ]
    return TaskChanges(
        cells=tuple(cell for change in changes for cell in cells(change, alone)),
        costs=tuple(sorted(costs, key=lambda each: 1.0 if each.share is None else each.share)),
        alike_p=alike_p(alone) if len(changes) > 1 else None,
        uneven={
            change: p
            for change in changes
            if (p := uneven_p(alone.filter(pl.col("change") == change))) is not None
        },
        rows=rows,
    )


def cells(change: str, rows: pl.DataFrame) -> list[TaskChange]:
    """What a change costs in each task, in the order of the tasks."""
    rows = rows.filter(pl.col("change") == change)
    found = []
    for (task, _), table in by_cell(rows).items():
        control, perturbed, pairs = table.sum(axis=0)
        found.append(
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
    able = by_start(rows.filter(pl.col("control_success") == 1))
    lost, tasks = (2 * able["perturbed"] <= able["count"]).to_numpy(), able["task"].to_numpy()
    raised = holm([_more_lost(tasks == each.task, lost) for each in found])
    return [replace(each, more_p=p) for each, p in zip(found, raised, strict=True)]


def _more_lost(mine: np.ndarray, lost: np.ndarray) -> float:
    """One-sided p that more of the starts that are ``mine`` are lost than of the others, (starts,) each."""
    hits, count, total = int(lost[mine].sum()), int(mine.sum()), len(lost)
    if not hits or count == total:
        return 1.0
    drawn = np.arange(hits, count + 1)
    return float(hypergeometric(np.array(total), np.array(int(lost.sum())), np.array(count), drawn).sum())


def by_start(rows: pl.DataFrame) -> pl.DataFrame:
    """Start by start: control, perturbed (successes of either) and count, as the table of a drop has them."""
    return rows.group_by(START, maintain_order=True).agg(
        control=pl.col("control_success").sum(), perturbed=pl.col("success").sum(), count=pl.len()
    )


def by_cell(rows: pl.DataFrame) -> dict[tuple[str, str], np.ndarray]:
    """Task and change -> start by start: control, perturbed and count, (starts, 3), in the order of the rows."""
    cell = ("task", "change")
    table = rows.group_by(*cell, "start", maintain_order=True).agg(
        control=pl.col("control_success").sum(), perturbed=pl.col("success").sum(), count=pl.len()
    )
    values = table.select("control", "perturbed", "count").to_numpy().astype(float)
    places: dict[tuple[str, str], list[int]] = {}
    for place, key in enumerate(table.select(cell).iter_rows()):
        places.setdefault(key, []).append(place)
    return {key: values[mine] for key, mine in places.items()}


def alike_p(rows: pl.DataFrame) -> float:
    """p that all changes cost alike, from the starts whose controls succeed, if changes were dealt anew within a start.

    The general test of Mantel and Haenszel: how far successes by change are off what a start's would be, against
    their covariance; chi-squared.
    """
    rows = rows.filter(pl.col("control_success") == 1)
    start = rows.select(pl.struct(START).rank("dense")).to_series().to_numpy().astype(int) - 1
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
    """p that a change costs alike in all tasks: starts are dealt anew to tasks; None for a single task."""
    table = by_start(rows.filter(pl.col("control_success") == 1))
    task = table["task"].rank("dense").to_numpy().astype(int) - 1 if len(table) else np.zeros(0, int)
    if not len(table) or task.max() < 1:
        return None
    hits, counts = table["perturbed"].to_numpy().astype(float), table["count"].to_numpy().astype(float)
    off = hits - hits.sum() / counts.sum() * counts

    def apart(dealt: np.ndarray) -> float:
        return float((np.bincount(task, off[dealt]) ** 2 / np.bincount(task, counts[dealt])).sum())

    random, seen = stream("tasks alike", len(table)), apart(np.arange(len(table)))
    dealt = (random.permutation(len(table)) for _ in range(_SHUFFLES))
    return (1 + sum(apart(each) >= seen - 1e-9 for each in dealt)) / (1 + _SHUFFLES)


def _is_one(change: str) -> bool:
    """Whether a change is one question, and not several things at once."""
    return len(shown_by(change)) == 1


def _lost_by_start(rows: pl.DataFrame) -> pl.DataFrame:
    """Start by start, what is lost under all changes."""
    return rows.group_by(START, maintain_order=True).agg(
        _all=(pl.col("control_success") - pl.col("success")).sum()
    )


def _cost(change: str, rows: pl.DataFrame, lost: pl.DataFrame) -> ChangeCost:
    able = by_start(rows.filter(pl.col("control_success") == 1))
    hits, counts = (able[name].to_numpy().astype(float) for name in ("perturbed", "count"))
    count = int(counts.sum())
    mine = rows.group_by(START).agg(_mine=(pl.col("control_success") - pl.col("success")).sum())
    both = lost.join(mine, on=START, how="left", maintain_order="left").select(
        pl.col("_mine", "_all").fill_null(0)
    )
    part, interval = _ratio(*both.to_numpy().astype(float).T)
    return ChangeCost(
        change=change,
        kept=int(hits.sum()),
        count=count,
        share=float(hits.sum() / count) if count else None,
        interval=share_interval(hits, counts, count) if count else None,
        of_fall=part,
        of_fall_interval=interval,
        more=None,
        more_interval=None,
        more_p=None,
    )


def _ratio(part: np.ndarray, whole: np.ndarray) -> tuple[float | None, Interval | None]:
    """The ratio of two sums over starts, and its linearised interval; None unless the whole is above 0 for sure."""
    from assay.support.stats.significance import t_quantile

    total, starts = whole.sum(), len(whole)
    if total <= 0 or starts < 3:
        return None, None
    t = t_quantile(0.975, starts - 1)
    if total / starts <= t * whole.std(ddof=1) / starts**0.5:
        return None, None
    ratio = float(part.sum() / total)
    off = part - ratio * whole
    half = t * float(np.sqrt(np.square(off).sum() * starts / (starts - 1))) / total
    return ratio, Interval(ratio - half, ratio + half, "linearised, over starts")


def _against_others(change: str, rows: pl.DataFrame) -> tuple[float, Interval, float] | None:
    """What one change keeps less what the others do in the same starts, its interval, and p."""
    mine, success = pl.col("change") == change, pl.col("success")
    table = (
        rows.filter(pl.col("control_success") == 1)
        .group_by(START, maintain_order=True)
        .agg(
            others=success.filter(~mine).sum(),
            others_count=(~mine).sum(),
            hits=success.filter(mine).sum(),
            count=mine.sum(),
        )
        .filter((pl.col("count") > 0) & (pl.col("others_count") > 0))
    )
    if not len(table):
        return None
    sides = table.select("others", "others_count", "hits", "count").to_numpy().astype(float).T
    p = paired(*sides)
    found = stratified(*sides)
    return found.difference, tested(found.interval, p), p


def pooled(parts: Sequence[pl.DataFrame]) -> TaskChanges:
    """The same from the rows of several runs of a policy."""
    return measured(pl.concat(parts))


TASK_CHANGES = Measure(
    "task_changes",
    "What each change costs in each task, and of the success that there is.",
    task_changes,
    panels=(
        Panel(
            SUCCESS,
            tables=(
                "assay.report.costs:costs_table",
                "assay.report.costs:task_changes_table",
                "assay.report.costs:over_tasks_table",
            ),
        ),
    ),
    sentences="assay.report.costs:costs_sentences",
)
