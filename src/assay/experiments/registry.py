"""Experiments by name; a question mark sets fields: ``para?per_cell=2``."""

from __future__ import annotations

from collections.abc import Callable

from assay.addresses import configured
from assay.errors import ExperimentError
from assay.experiments.base import Experiment
from assay.plugins import Registry

EXPERIMENTS: Registry[Callable[..., Experiment] | Experiment] = Registry(
    "experiment",
    ExperimentError,
    {
        "libero": "assay.experiments.libero:libero",
        "para": "assay.experiments.para:para",
        "corruption": "assay.experiments.corruption:corruption",
        "surface": "assay.experiments.surface:surface",
        "pro": "assay.experiments.pro:pro",
        "x": "assay.experiments.x:x",
        "libero-pro": "assay.experiments.releases.pro:libero_pro",
        "libero-x": "assay.experiments.releases.x:libero_x",
        "libero-plus": "assay.experiments.releases.plus:libero_plus",
        "plus": "assay.experiments.plus:plus",
        "factors": "assay.experiments.factors:factors",
        "tabletop": "assay.experiments.tabletop:tabletop",
        "prompts": "assay.experiments.tabletop:prompts",
    },
)
"""Functions that make an experiment, or experiments themselves."""


def load_experiment(address: str) -> Experiment:
    """The experiment of a name or ``python:module:object``, with the fields its address sets.

    Raises ExperimentError that says what is valid.
    """
    name, _, query = address.partition("?")
    made = EXPERIMENTS[name]
    if isinstance(made, Experiment):
        if query:
            raise ExperimentError(f"'{address}': {name} has no fields to set")
        return made.named(address)
    if not callable(made):
        raise ExperimentError(f"'{address}' is a {type(made).__name__}, not an experiment or what makes one")
    experiment = configured(made, query, address, ExperimentError)
    if not isinstance(experiment, Experiment):
        raise ExperimentError(f"'{address}' made a {type(experiment).__name__}, not an Experiment")
    return experiment.named(address)
