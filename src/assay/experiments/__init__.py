"""Experiment designs: conditions x tasks x seeds, with controls.

specs = load_experiment("libero").plan(tasks.suite("libero_goal"), seeds=range(5))
"""

from assay.experiments.base import EXPERIMENTS, Experiment, Variant, load_experiment

__all__ = ["EXPERIMENTS", "Experiment", "Variant", "load_experiment"]
