"""Placeholder for perturbations that cannot be applied."""

from __future__ import annotations

import numpy as np

from assay.episodes import Change, Effect, Perturbation, perturbation
from assay.errors import PerturbationError
from assay.tasks import Task


@perturbation
class Unavailable(Perturbation):
    """Placeholder for a missing part of a release, without which its episodes cannot start."""

    kind = "release/unavailable"
    effects = frozenset({Effect.PHYSICS})
    change = Change.WORLD
    reason: str
    what: str = ""
    """Missing item, such as a file; the reason does not include it, so that equal reasons can be counted."""

    def apply(self, task: Task, rng: np.random.Generator) -> Task:
        """Raise PerturbationError with the reason."""
        raise PerturbationError(f"{self.kind}: {self.reason}")
