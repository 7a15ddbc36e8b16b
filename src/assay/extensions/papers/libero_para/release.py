"""LIBERO-Para as released: its paraphrases of LIBERO-Goal with their published similarities."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.experiments.base import Experiment
from assay.experiments.para import SEEDS, paraphrase_experiment
from assay.extensions.papers import releases
from assay.perturb.words.grid.table import GridRow, read
from assay.tasks.formats import libero_para as release


def libero_para(folder: str = "", per_cell: int | None = None, seed: int = 0) -> Experiment:
    """Return an experiment with the paraphrases from a checkout's metadata.csv or, if that is missing, task files.

    ``per_cell`` is the number of paraphrases per task and cell, selected with ``seed``; by default, all are used.
    """
    name = "libero-para"
    about = "LIBERO-Para as released: 43 cells of paraphrases with their published similarities."
    if not folder:  # listed by name; running it without a checkout is an error
        return releases.release(name, about, folder, lambda _: {}, tasks=release.SUITE, seeds=SEEDS)
    place = Path(folder)
    table = next((place / name for name in release.TABLES if (place / name).is_file()), None)
    rows: Sequence[GridRow] = (
        read(table)
        if table is not None
        else [
            GridRow(
                0, task.task, str(task.labels["object_type"]), str(task.labels["action_type"]), "", task.text
            )
            for task in release.read_tasks(place)
        ]
    )
    return paraphrase_experiment(name, about, str(table or place), rows, per_cell, seed)
