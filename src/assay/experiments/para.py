"""The paraphrase grid, after LIBERO-Para: object axis x action axis, 43 cells; or paraphrases from a table."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from assay.experiments.base import Experiment, Variant
from assay.experiments.wordings import Wordings, variants_of
from assay.perturb.words.grid.generate import paraphrases
from assay.perturb.words.grid.table import GridRow, read
from assay.tasks import Task

NAME = "para"
SEEDS = (7, 8, 9, 10, 11)
"""The paper's."""
PER_CELL = 10
"""Paraphrases that are made of each task in each cell, if nobody says."""


def para(per_cell: int | None = None, seed: int = 0, file: str = "") -> Experiment:
    """``per_cell`` paraphrases of each task in each cell, drawn by ``seed``: made, or of a table's all.

    ``file``: a CSV file as ``assay words generate`` writes it, LIBERO-Para's metadata.csv, or one with columns
    ``task`` or ``original``, and ``paraphrase``.
    """
    if file:
        return Wordings(NAME, file, lambda: read(Path(file)), per_cell, seed).experiment(
            f"The paraphrases of {Path(file).name}, each with its PRIDE distance.", SEEDS
        )
    return Experiment(
        name=NAME,
        about="Paraphrases along two axes, object and action: 43 cells, each with its PRIDE distance.",
        variants=lambda task: _generated(task, PER_CELL if per_cell is None else per_cell, seed),
        tasks="libero_goal",
        seeds=SEEDS,
    )


@lru_cache(maxsize=64)
def _generated(task: Task, per_cell: int, seed: int) -> tuple[Variant, ...]:
    original = task.instruction.text
    rows = [
        GridRow(
            0,
            task.id,
            str(paraphrase.cell.object_type),
            str(paraphrase.cell.action_type),
            original,
            paraphrase.text,
        )
        for paraphrase in paraphrases(task, per_cell, seed)
    ]
    return variants_of(NAME, "", task, rows)
