"""Everything that is measured on tables alone."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from assay.measures.result import Missing, Result, attempt
from assay.measures.table import judged
from assay.measures.tabletop.rows import table_rows
from assay.measures.tabletop.scores import Against, LevelScore, TaskScore, against, level_scores, task_scores
from assay.measures.tabletop.telling import Again, Kept, Modalities, Novelty, again, kept, modalities, novelty


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
    again: Again | Missing
    modalities: Modalities | Missing
    novelty: tuple[Novelty, ...]
    """Every level but the first."""


def tabletop(frame: pl.DataFrame) -> Tabletop:
    """Measure a run on tables. Raises MeasureError where it is none, or all of it broke."""
    rows = table_rows(frame)
    judged(rows, "tabletop")
    tasks = task_scores(rows)
    return Tabletop(
        tasks=tasks,
        levels=level_scores(tasks),
        against=against(rows),
        kept=kept(rows),
        again=attempt(again, rows),
        modalities=attempt(modalities, rows),
        novelty=novelty(tasks),
    )
