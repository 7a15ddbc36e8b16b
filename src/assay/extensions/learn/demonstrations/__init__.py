"""Demonstrations: successful episodes of the oracle as a dataset that LeRobot opens."""

from assay.extensions.learn.demonstrations.collect import Collected, collect, tries
from assay.extensions.learn.demonstrations.errors import DemonstrationError
from assay.extensions.learn.demonstrations.recipe import Recipe

__all__ = ["Collected", "DemonstrationError", "Recipe", "collect", "tries"]
