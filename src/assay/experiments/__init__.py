"""Experiment designs: conditions x tasks x seeds, with controls.

specs = load_experiment("libero").plan(tasks.suite("libero_goal"), seeds=range(5))
"""

from assay.experiments.base import Experiment, Variant
from assay.experiments.registry import load_experiment, names
from assay.experiments.spec import CONTROL, EpisodeSpec, horizon

__all__ = ["CONTROL", "EpisodeSpec", "Experiment", "Variant", "horizon", "load_experiment", "names"]
