"""Experiment designs: conditions x tasks x seeds, with controls.

specs = load_suite("libero").plan(tasks.suite("libero_goal"), seeds=range(5))
"""

from assay.suites.base import Suite, Variant
from assay.suites.registry import load_suite, names
from assay.suites.spec import CONTROL, EpisodeSpec, horizon

__all__ = ["CONTROL", "EpisodeSpec", "Suite", "Variant", "horizon", "load_suite", "names"]
