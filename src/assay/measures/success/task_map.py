"""Map of the cost of each change in each task, with partial pooling: one posterior for all cells.

A cell has few starts, so that its own difference is mostly noise. The model (`assay.support.stats.hierarchy`) shrinks
it towards what the task, the change and all other cells suggest. It stands beside the exact tests, on which the
diagnosis rests, and replaces none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from assay.measures.frames import PAIR, START
from assay.measures.measure import Measure, Panel, ReportedRun, RunData
from assay.measures.result import MeasureError, Result
from assay.measures.success.rates import SUCCESS
from assay.measures.success.task_changes import TASK_CHANGES
from assay.measures.views.style import WIDTH, Drawing, Figure, bare_axes, fill_cell
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import natural, plural, signed
from assay.support.stats.hierarchy import fit
from assay.support.stats.intervals import Interval

FEWEST_TASKS = 2
MAX_CELLS = 1000
"""Maximum number of cells; the cost grows with its third power."""
MAX_DRAWN = 40
"""Maximum number of tasks, and of changes, in the figure."""


@dataclass(frozen=True, slots=True)
class TaskCell(Result):
    """Cost of a change in one task, or in tasks in general."""

    change: Annotated[str, Column("change")]
    task: Annotated[str | None, Column("task")]
    """Task; None for the mean over tasks in general, of which these are a sample."""
    starts: Annotated[int | None, Column("starts", "count")]
    observed: Annotated[float | None, Column("difference, observed", "change")]
    """Success under the change minus success of the same starts' controls; None for tasks in general."""
    difference: Annotated[float, Column("difference, pooled", "change")]
    """Mean of the posterior of success under the change minus success without it."""
    interval: Annotated[Interval, Column("95 % interval", "change")]


def task_map(run: RunData) -> tuple[TaskCell, ...]:
    """Fit the model to the pairs with a single change. Raises MeasureError for too few tasks or successes."""
    result = run.result(TASK_CHANGES)
    changes, tasks = (sorted({getattr(cell, name) for cell in result.cells}) for name in ("change", "task"))
    if len(tasks) < FEWEST_TASKS:
        raise MeasureError(f"{plural(len(tasks), 'task')} with a single change: pooling needs {FEWEST_TASKS}")
    if len(tasks) * len(changes) > MAX_CELLS:
        raise MeasureError(
            f"{len(tasks)} tasks x {len(changes)} changes: at most {MAX_CELLS:,} cells are pooled"
        )
    pairs = result.rows.filter(pl.col("change").is_in(changes))
    if not pairs["control_success"].sum():
        raise MeasureError("no control succeeds, so no loss can be estimated")
    controls = pairs.unique(PAIR, maintain_order=True).with_columns(
        success="control_success", change=pl.lit("")
    )
    units = (
        pl.concat([controls, pairs])
        .group_by(*START, "change", maintain_order=True)
        .agg(hits=pl.col("success").sum(), count=pl.len())
    )
    task = np.array([tasks.index(name) for name in units["task"]])
    change = np.array([["", *changes].index(name) for name in units["change"]])
    start = units.select(pl.struct(START).rank("dense")).to_series().to_numpy().astype(int) - 1
    hits, count = units["hits"].to_numpy().astype(float), units["count"].to_numpy().astype(float)
    effective = 1 / (1 + _agreement(task * (len(changes) + 1) + change, hits, count) * (count - 1))
    posterior = fit(task, start, change, hits * effective, count * effective)
    apart = posterior.changed - posterior.control[:, :, None]
    cells = [
        TaskCell(
            *(cell.change, cell.task, cell.starts, cell.perturbed - cell.control),
            *_summarise(apart[:, tasks.index(cell.task), changes.index(cell.change)]),
        )
        for cell in sorted(result.cells, key=lambda cell: (cell.change, natural(cell.task)))
    ]
    for place, name in enumerate(changes):
        cells.append(TaskCell(name, None, None, None, *_summarise(posterior.general[:, place])))
    return tuple(cells)


def _agreement(cell: np.ndarray, hits: np.ndarray, count: np.ndarray) -> float:
    """Return the correlation of episodes with the same start and change: moments, within cells, 0 to 1.

    The correlation that all episodes of a start have in common is included, so that intervals are not too narrow.
    """
    rate = np.bincount(cell, hits)[cell] / np.bincount(cell, count)[cell]
    spread = rate * (1 - rate)
    pairs = float((count * (count - 1) * spread).sum())
    return float(np.clip(((hits - count * rate) ** 2 - count * spread).sum() / pairs, 0, 1)) if pairs else 0.0


def _summarise(draws: np.ndarray) -> tuple[float, Interval]:
    low, high = np.quantile(draws, (0.025, 0.975))
    return float(draws.mean()), Interval(float(low), float(high), "posterior, partial pooling")


def map_table(cells: Sequence[TaskCell], report: ReportedRun) -> Table:
    """Return a table of the pooled cost of each change in each task, and in tasks in general."""
    return Table.of(
        "task-map",
        "Cost of each change in each task, pooled",
        cells,
        note="Pooled: a logistic model with partial pooling over tasks, starts, changes and cells; each cell is shrunk "
        "towards what the other cells suggest. Intervals of the posterior, for new starts of the task; without a "
        "task: the mean over tasks in general, of which these are a sample. The exact tests, not this model, decide "
        "what counts as a flaw.",
    )


def map_figure(cells: Sequence[TaskCell], report: ReportedRun) -> Drawing:
    """Draw the pooled cost of each change in each task. Raises MeasureError if there are too many cells."""
    tasks = sorted({cell.task for cell in cells if cell.task}, key=natural)
    changes = sorted({cell.change for cell in cells})
    if max(len(tasks), len(changes)) > MAX_DRAWN:
        raise MeasureError(f"more than {MAX_DRAWN} tasks or changes cannot be drawn")

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for cell in cells:
            if cell.task is None:
                continue
            row, column = tasks.index(cell.task), changes.index(cell.change)
            ink = fill_cell(axes, row, column, float(np.clip(1 + cell.difference, 0, 1)))
            is_certain = not cell.interval.low <= 0 <= cell.interval.high
            look: Mapping[str, Any] = {"fontweight": "bold" if is_certain else "normal", "color": ink}
            place = column + 0.5, row + 0.5
            axes.text(*place, signed(100 * cell.difference, 0), ha="center", va="center", **look)
        axes.set_xlim(0, len(changes))
        axes.set_ylim(len(tasks), 0)
        axes.set_xticks([place + 0.5 for place in range(len(changes))], changes, rotation=35, ha="right")
        axes.set_yticks([place + 0.5 for place in range(len(tasks))], tasks)
        bare_axes(axes)

    caption = (
        "Success under a change minus success without it, in percentage points, from a logistic model with partial "
        f"pooling; {plural(len(tasks), 'task')}. Bold: the 95 % interval of the cell excludes 0."
    )
    size = (WIDTH, 1.4 + 0.3 * len(tasks))
    title = "Cost of each change in each task, pooled"
    return Drawing("task-map", title, caption, size, paint, in_a_column=False)


TASK_MAP = Measure(
    "task_map",
    "Cost of each change in each task and in tasks in general, with partial pooling.",
    task_map,
    panels=(Panel(SUCCESS, (map_table,), (map_figure,)),),
)
