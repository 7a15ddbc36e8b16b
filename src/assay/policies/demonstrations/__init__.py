"""Demonstrations: successful episodes of the oracle as a dataset that LeRobot opens."""

from assay.policies.demonstrations.collect import Collected, collect, tries
from assay.policies.demonstrations.demonstration import DemonstrationError

__all__ = ["Collected", "DemonstrationError", "collect", "tries"]
