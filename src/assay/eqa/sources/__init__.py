"""Episodes from data sets, runs and the built-in demonstration."""

from assay.eqa.sources.opening import opened

__all__ = ["opened"]
