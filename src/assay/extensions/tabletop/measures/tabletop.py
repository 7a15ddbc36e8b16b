"""Everything that is measured on tables alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from assay.extensions.tabletop.measures.instruction_use import (
    KeptSuccess,
    Modalities,
    Novelty,
    Retried,
    compare_levels,
    compare_modalities,
    measure_kept,
    measure_retries,
)
from assay.extensions.tabletop.measures.scores import (
    NEEDED,
    Against,
    LevelScore,
    TaskScore,
    compare_with_controls,
    level_scores,
    table_rows,
    task_scores,
)
from assay.measures.frames import valid_rows
from assay.measures.measure import Measure, Panel
from assay.measures.result import Missing, Result, attempt
from assay.measures.success.rates import SUCCESS


@dataclass(frozen=True, slots=True)
class Tabletop(Result):
    """A run on tables."""

    tasks: tuple[TaskScore, ...]
    """By condition, level and task."""
    levels: tuple[LevelScore, ...]
    """By condition and level."""
    against: tuple[Against, ...]
    """By condition and level, then by condition."""
    kept: tuple[KeptSuccess, ...]
    """By condition."""
    again: Retried | Missing
    modalities: Modalities | Missing
    novelty: tuple[Novelty, ...]
    """Every level but the first."""


def measure_tabletop(frame: pl.DataFrame, ignoring: Sequence[str]) -> Tabletop:
    """Measure a run on tables, ``ignoring`` columns that go with a start. Raises MeasureError where all of it broke."""
    rows = table_rows(frame)
    valid_rows(rows)
    tasks = task_scores(rows, ignoring)
    return Tabletop(
        tasks=tasks,
        levels=level_scores(tasks),
        against=compare_with_controls(rows, ignoring),
        kept=measure_kept(rows),
        again=attempt(measure_retries, rows),
        modalities=attempt(compare_modalities, rows),
        novelty=compare_levels(tasks),
    )


TABLETOP = Measure(
    "tabletop",
    "Success by task and level, with mistakes and without, and what the prompt has to do with it.",
    lambda run: measure_tabletop(run.whole, run.world.start_columns),
    needs=NEEDED,
    world="tabletop",
    instead_of=("changes", "names", "nonsense", "starts", "levels", "task_changes", "other_tasks"),
    panels=(
        Panel(
            "What it goes by",
            tables=("assay.extensions.tabletop.measures.tables:reading_table",),
            figures=("assay.extensions.tabletop.measures.figures:kept_figure",),
        ),
        Panel(
            "Tasks and levels",
            tables=(
                "assay.extensions.tabletop.measures.tables:levels_table",
                "assay.extensions.tabletop.measures.tables:tasks_table",
            ),
            figures=(
                "assay.extensions.tabletop.measures.figures:tasks_figure",
                "assay.extensions.tabletop.measures.figures:levels_figure",
            ),
        ),
        Panel(
            SUCCESS,
            tables=(
                "assay.extensions.tabletop.measures.tables:prompts_table",
                "assay.extensions.tabletop.measures.tables:order_table",
                "assay.extensions.tabletop.measures.tables:difficulty_table",
            ),
        ),
    ),
    side_by_side=(
        "assay.extensions.tabletop.measures.tables:runs_table",
        "assay.extensions.tabletop.measures.figures:runs_figure",
    ),
    sentences="assay.extensions.tabletop.measures.tables:sentences",
    numbers="assay.extensions.tabletop.measures.tables:numbers",
    tests="assay.extensions.tabletop.measures.findings:prompt_tests",
    wording="assay.extensions.tabletop.measures.findings:tabletop_wording",
)
