"""The same prompt in other words."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assay.episodes import Change, Effect, perturbation
from assay.extensions.tabletop.perturb.base import TablePerturbation
from assay.extensions.tabletop.perturb.grammar import draw_wording
from assay.extensions.tabletop.tasks import TableTask


@perturbation
@dataclass(frozen=True, slots=True)
class Paraphrase(TablePerturbation):
    """On the table: says the same in other words, with every picture, number, direction and invented word."""

    kind = "words/prompt_paraphrase"
    effects = frozenset({Effect.WORDS})
    change = Change.WORDING

    def apply(self, task: TableTask, rng: np.random.Generator) -> TableTask:
        """The task in other words than its own. Raises PerturbationError if it is not in its own."""
        return replace(task, prompt=task.prompt.saying(draw_wording(task, rng)))
