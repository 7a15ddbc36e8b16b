"""Experiments by name; parameters follow a question mark: ``para?per_cell=2``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from assay.episodes import Change, Label
from assay.episodes.latency import MOST_LATENCY
from assay.errors import ExperimentError
from assay.experiments.base import Experiment, Variant
from assay.support.addresses import call_with_fields
from assay.support.plugins import Registry

EXPERIMENTS: Registry[Callable[..., Experiment] | Experiment] = Registry(
    "experiment",
    ExperimentError,
    {
        "libero": "assay.experiments.registry:libero",
        "para": "assay.experiments.para:para",
        "corruption": "assay.experiments.para:corruption",
        "surface": "assay.experiments.para:surface",
        "events": "assay.experiments.events:events",
        "pro": "assay.experiments.pro:pro",
        "x": "assay.experiments.x:x",
        "latency": "assay.experiments.registry:latency",
        "plus": "assay.experiments.plus:plus",
        "factors": "assay.experiments.factors:factors",
        "search": "assay.experiments.axes:search",
    },
)
"""Registered experiments, and functions that return an experiment."""


def load_experiment(address: str) -> Experiment:
    """Load the experiment for a name or ``python:module:object``, with the parameters set in its address.

    Raises ExperimentError with the valid names.
    """
    name, _, query = address.partition("?")
    source = EXPERIMENTS[name]
    if isinstance(source, Experiment) and query:
        raise ExperimentError(f"'{address}': {name} has no parameters")
    experiment = call_with_fields(source, query, address, ExperimentError) if callable(source) else source
    if not isinstance(experiment, Experiment):
        verb = "returned" if callable(source) else "is"
        raise ExperimentError(f"'{address}' {verb} a {type(experiment).__name__}, not an Experiment")
    return replace(experiment, name=f"{name}?{query}" if query else name)


def libero() -> Experiment:
    """The unperturbed baseline."""
    return Experiment("libero", "The unperturbed tasks: the baseline.", variants=lambda task: ())


def latency(steps: tuple[int, ...] = (1, 2, 4, 8)) -> Experiment:
    """Inference latencies in control steps of 50 ms; the control has none."""
    if not steps or len(set(steps)) < len(steps) or not all(1 <= step <= MOST_LATENCY for step in steps):
        raise ExperimentError(
            f"latency?steps={steps!r:.60}: expected different numbers from 1 to {MOST_LATENCY}"
        )
    labels: dict[str, Label] = {"axis": "senses", "change": Change.LATENCY, "plausible": True}
    return Experiment(
        name="latency",
        about="Inference that takes 1, 2, 4, ... control steps: how much latency does the policy tolerate?",
        variants=lambda task: (
            Variant(f"latency/steps={step}", labels=dict(labels), latency=step) for step in steps
        ),
    )
