"""The paraphrase grid, after LIBERO-Para: object axis x action axis, 43 cells."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from assay.episodes.spec import Label
from assay.experiments.base import Experiment, Variant
from assay.perturb import Say
from assay.perturb.words.distance.memory import remembered
from assay.perturb.words.grid.generate import paraphrases
from assay.tasks import Task

SEEDS = (7, 8, 9, 10, 11)
"""The paper's."""


def para(per_cell: int = 10, seed: int = 0) -> Experiment:
    """``per_cell`` paraphrases of each task in each cell, drawn by ``seed``."""
    return Experiment(
        name="para",
        about="Paraphrases along two axes, object and action: 43 cells, each with its PRIDE distance.",
        variants=lambda task: _variants(task, per_cell, seed),
        tasks="libero_goal",
        seeds=SEEDS,
    )


@lru_cache(maxsize=64)
def _variants(task: Task, per_cell: int, seed: int) -> tuple[Variant, ...]:
    return tuple(_labelled(task, per_cell, seed))


def _labelled(task: Task, per_cell: int, seed: int) -> Iterator[Variant]:
    found = list(paraphrases(task, per_cell, seed))
    scored = remembered([(task.instruction.text, each.text) for each in found])
    for each, apart in zip(found, scored, strict=True):
        labels: dict[str, Label] = {
            "axis": "words",
            "plausible": True,
            "object": str(each.cell.object_type),
            "action": str(each.cell.action_type),
            "s_k": apart.s_k,
            "s_t": apart.s_t,
            "pd": apart.pd,
            "parser": apart.parser,
        }
        yield Variant(f"para/{each.cell}", (Say(each.text),), labels)
