"""Experiments by name; a question mark sets fields: ``para?per_cell=2``.

Every experiment has the field ``conditions``: ``pro?conditions=position,task``. It selects, as tasks and seeds
are selected, and is no part of the experiment's name, so that its episodes are those of the whole design.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote_plus

from assay.errors import ExperimentError
from assay.experiments.base import Experiment
from assay.support.addresses import configured
from assay.support.plugins import Registry

CONDITIONS = "conditions"
"""The field that every experiment has."""
EXPERIMENTS: Registry[Callable[..., Experiment] | Experiment] = Registry(
    "experiment",
    ExperimentError,
    {
        "libero": "assay.experiments.libero:libero",
        "para": "assay.experiments.para:para",
        "corruption": "assay.experiments.corruption:corruption",
        "surface": "assay.experiments.surface:surface",
        "events": "assay.experiments.events:events",
        "pro": "assay.experiments.pro:pro",
        "x": "assay.experiments.x:x",
        "latency": "assay.experiments.latency:latency",
        "libero-para": "assay.experiments.releases.para:libero_para",
        "libero-pro": "assay.experiments.releases.pro:libero_pro",
        "libero-x": "assay.experiments.releases.x:libero_x",
        "libero-plus": "assay.experiments.releases.plus:libero_plus",
        "plus": "assay.experiments.plus:plus",
        "factors": "assay.experiments.factors:factors",
        "search": "assay.experiments.search:search",
    },
)
"""Functions that make an experiment, or experiments themselves."""


def load_experiment(address: str) -> Experiment:
    """The experiment of a name or ``python:module:object``, with the fields its address sets.

    Raises ExperimentError that says what is valid.
    """
    name, _, query = address.partition("?")
    made = EXPERIMENTS[name]
    query, conditions = _split(query)
    full = f"{name}?{query}" if query else name
    if isinstance(made, Experiment):
        if query:
            raise ExperimentError(f"'{address}': {name} has no fields to set but {CONDITIONS}")
        return made.named(full).only(conditions)
    if not callable(made):
        raise ExperimentError(f"'{address}' is a {type(made).__name__}, not an experiment or what makes one")
    experiment = configured(made, query, address, ExperimentError)
    if not isinstance(experiment, Experiment):
        raise ExperimentError(f"'{address}' made a {type(experiment).__name__}, not an Experiment")
    return experiment.named(full).only(conditions)


def _split(query: str) -> tuple[str, str | None]:
    """A query without the field that every experiment has, and that field's value."""
    parts = [part for part in query.split("&") if part]
    own = [part for part in parts if part.partition("=")[0] != CONDITIONS]
    given = [unquote_plus(part.partition("=")[2]) for part in parts if part not in own]
    if len(given) > 1:
        raise ExperimentError(f"'{query}': '{CONDITIONS}' should be given once, with commas")
    return "&".join(own), given[0] if given else None
