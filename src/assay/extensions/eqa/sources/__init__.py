"""Episodes from data sets, runs and the built-in demonstration."""

from assay.extensions.eqa.sources.opening import opened

__all__ = ["opened"]
