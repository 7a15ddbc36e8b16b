"""Demonstrations: successful episodes of the oracle as a dataset that LeRobot opens."""

from assay.policies.demonstrations.collect import Collected, collect, tries
from assay.policies.demonstrations.errors import DemonstrationError
from assay.policies.demonstrations.recipe import Recipe

__all__ = ["Collected", "DemonstrationError", "Recipe", "collect", "tries"]
