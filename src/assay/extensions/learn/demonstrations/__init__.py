"""Demonstrations: successful oracle episodes, stored as a dataset that LeRobot can open."""

from assay.extensions.learn.demonstrations.collect import Collected, collect, max_attempts
from assay.extensions.learn.demonstrations.dataset import Recipe

__all__ = ["Collected", "Recipe", "collect", "max_attempts"]
