"""LIBERO-Para as released: 4,092 paraphrases of LIBERO-Goal's instructions, with their published similarities."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from assay.experiments.base import Experiment, Variant
from assay.experiments.para import SEEDS
from assay.experiments.releases.base import named
from assay.experiments.wordings import Wordings
from assay.perturb.words.grid.table import GridRow, read
from assay.tasks.formats import libero_para as release

NAME = "libero-para"


def libero_para(folder: str = "", per_cell: int | None = None, seed: int = 0) -> Experiment:
    """The paraphrases of a checkout: its metadata.csv or, where that is absent, its task files.

    ``per_cell``: so many of each task in each cell, drawn by ``seed``; all by default.
    """
    about = "LIBERO-Para as released: 43 cells of paraphrases with their published similarities."

    def without(task: object) -> Iterable[Variant]:
        named(NAME, folder)
        return ()

    if not folder:  # it is listed by its name; without a checkout there is nothing to run
        return Experiment(NAME, about, without, tasks=release.SUITE, seeds=SEEDS)
    place = Path(folder)
    table = release.table_file(place)
    source = str(place if table is None else table)
    return Wordings(NAME, source, lambda: _rows(place, table), per_cell, seed).experiment(about, SEEDS)


def _rows(folder: Path, table: Path | None) -> tuple[GridRow, ...]:
    if table is not None:
        return read(table)
    return tuple(
        GridRow(
            0,
            read_task.task,
            str(read_task.labels["object_type"]),
            str(read_task.labels["action_type"]),
            "",
            read_task.text,
        )
        for read_task in release.read_tasks(folder)
    )
