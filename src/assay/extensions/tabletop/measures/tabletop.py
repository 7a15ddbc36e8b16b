"""Everything that is measured on tables alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from assay.extensions.tabletop.measures.instruction_use import (
    Kept,
    Modalities,
    Novelty,
    Retried,
    again,
    kept,
    modalities,
    novelty,
)
from assay.extensions.tabletop.measures.rows import NEEDED, table_rows
from assay.extensions.tabletop.measures.scores import (
    Against,
    LevelScore,
    TaskScore,
    against,
    level_scores,
    task_scores,
)
from assay.measures.frames import judged
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
            tables=("assay.extensions.tabletop.report.tables:reading_table",),
            figures=("assay.extensions.tabletop.report.figures:kept_figure",),
        ),
        Panel(
            "Tasks and levels",
            tables=(
                "assay.extensions.tabletop.report.tables:levels_table",
                "assay.extensions.tabletop.report.tables:tasks_table",
            ),
            figures=(
                "assay.extensions.tabletop.report.figures:tasks_figure",
                "assay.extensions.tabletop.report.figures:levels_figure",
            ),
        ),
        Panel(
            SUCCESS,
            tables=(
                "assay.extensions.tabletop.report.tables:prompts_table",
                "assay.extensions.tabletop.report.tables:order_table",
                "assay.extensions.tabletop.report.tables:difficulty_table",
            ),
        ),
    ),
    side_by_side=(
        "assay.extensions.tabletop.report.tables:runs_table",
        "assay.extensions.tabletop.report.figures:runs_figure",
    ),
    sentences="assay.extensions.tabletop.report.tables:sentences",
    numbers="assay.extensions.tabletop.report.tables:numbers",
    tests="assay.extensions.tabletop.measures.flaw_tests:prompt_tests",
    wording="assay.extensions.tabletop.report.wording:table_wording",
)
