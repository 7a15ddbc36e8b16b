"""Experiments by name; a question mark sets fields: ``para?per_cell=2``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from assay.addresses import configured
from assay.errors import ExperimentError, did_you_mean
from assay.experiments.base import Experiment
from assay.experiments.corruption import corruption
from assay.experiments.factors import factors
from assay.experiments.para import para
from assay.experiments.plus import plus
from assay.experiments.pro import pro
from assay.experiments.releases import libero_plus, libero_pro, libero_x
from assay.experiments.tabletop import prompts, tabletop
from assay.experiments.x import x


def libero() -> Experiment:
    """The unperturbed baseline."""
    return Experiment("libero", "The tasks as they are: the baseline.", variants=lambda task: ())


EXPERIMENTS: Mapping[str, Callable[..., Experiment]] = MappingProxyType(
    {
        "libero": libero,
        "para": para,
        "corruption": corruption,
        "pro": pro,
        "x": x,
        "libero-pro": libero_pro,
        "libero-x": libero_x,
        "libero-plus": libero_plus,
        "plus": plus,
        "factors": factors,
        "tabletop": tabletop,
        "prompts": prompts,
    }
)


def names() -> tuple[str, ...]:
    """Every experiment there is."""
    return tuple(EXPERIMENTS)


def load_experiment(address: str) -> Experiment:
    """The experiment of that name, with the fields its address sets. Raises ExperimentError that says what is valid."""
    name, _, query = address.partition("?")
    if name not in EXPERIMENTS:
        raise ExperimentError(f"there is no experiment '{name}': {did_you_mean(name, EXPERIMENTS)}")
    experiment: Experiment = configured(EXPERIMENTS[name], query, address, ExperimentError)
    return replace(experiment, name=address)
