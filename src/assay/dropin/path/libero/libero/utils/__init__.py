"""LIBERO's paths, once more."""

from assay.dropin.paths import get_libero_path

__all__ = ["get_libero_path"]
