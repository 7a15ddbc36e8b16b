"""Everything that is measured on tables alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from assay.measures.measure import Measure, Panel
from assay.measures.rates import SUCCESS
from assay.measures.result import Missing, Result, attempt
from assay.measures.table import judged
from assay.measures.tabletop.instruction_use import (
    Kept,
    Modalities,
    Novelty,
    Retried,
    again,
    kept,
    modalities,
    novelty,
)
from assay.measures.tabletop.rows import NEEDED, table_rows
from assay.measures.tabletop.scores import Against, LevelScore, TaskScore, against, level_scores, task_scores


@dataclass(frozen=True, slots=True)
class Tabletop(Result):
    """A run on tables."""

    tasks: tuple[TaskScore, ...]
    """By condition, level and task."""
    levels: tuple[LevelScore, ...]
    """By condition and level."""
    against: tuple[Against, ...]
    """By condition and level, then by condition."""
    kept: tuple[Kept, ...]
    """By condition."""
    again: Retried | Missing
    modalities: Modalities | Missing
    novelty: tuple[Novelty, ...]
    """Every level but the first."""


def tabletop(frame: pl.DataFrame, ignoring: Sequence[str]) -> Tabletop:
    """Measure a run on tables, ``ignoring`` columns that go with a start. Raises MeasureError where all of it broke."""
    rows = table_rows(frame)
    judged(rows)
    tasks = task_scores(rows, ignoring)
    return Tabletop(
        tasks=tasks,
        levels=level_scores(tasks),
        against=against(rows, ignoring),
        kept=kept(rows),
        again=attempt(again, rows),
        modalities=attempt(modalities, rows),
        novelty=novelty(tasks),
    )


TABLETOP = Measure(
    "tabletop",
    "Success by task and level, with mistakes and without, and what the prompt has to do with it.",
    lambda run: tabletop(run.whole, run.world.start_columns),
    needs=NEEDED,
    world="tabletop",
    instead_of=("changes", "names", "nonsense", "starts", "levels", "task_changes", "other_tasks"),
    panels=(
        Panel(
            "What it goes by",
            tables=("assay.report.tabletop:reading_table",),
            figures=("assay.report.figures.tabletop:kept_figure",),
        ),
        Panel(
            "Tasks and levels",
            tables=("assay.report.tabletop:levels_table", "assay.report.tabletop:tasks_table"),
            figures=(
                "assay.report.figures.tabletop:tasks_figure",
                "assay.report.figures.tabletop:levels_figure",
            ),
        ),
        Panel(
            SUCCESS,
            tables=(
                "assay.report.tabletop:prompts_table",
                "assay.report.tabletop:order_table",
                "assay.report.tabletop:difficulty_table",
            ),
        ),
    ),
    side_by_side=("assay.report.tabletop:runs_table", "assay.report.figures.tabletop:runs_figure"),
    sentences="assay.report.tabletop:sentences",
    numbers="assay.report.tabletop:numbers",
    tests="assay.measures.tabletop.flaw_tests:prompt_tests",
    wording="assay.report.table_words:table_wording",
)
