"""An example plugin: importing this module registers everything in it."""

from assay_example import assets, measures, point, questions, shouting

__all__ = ["assets", "measures", "point", "questions", "shouting"]
