"""A plugin: importing this module makes everything in it known to Assay."""

from assay_example import assets, measures, point, questions, shouting

__all__ = ["assets", "measures", "point", "questions", "shouting"]
