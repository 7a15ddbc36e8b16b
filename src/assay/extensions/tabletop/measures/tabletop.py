"""Everything that is measured on tables alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from assay.extensions.tabletop.measures.prompt_reliance import (
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
    Against,
    LevelScore,
    TaskScore,
    compare_with_controls,
    level_scores,
    table_rows,
    task_scores,
)
from assay.measures.frames import valid_rows
from assay.measures.result import Missing, Result, attempt

NAME = "tabletop"
"""Name of the measure."""


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
