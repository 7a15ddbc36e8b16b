"""The unperturbed baseline."""

from __future__ import annotations

from assay.experiments.base import Experiment


def libero() -> Experiment:
    """The unperturbed baseline."""
    return Experiment("libero", "The tasks as they are: the baseline.", variants=lambda task: ())
