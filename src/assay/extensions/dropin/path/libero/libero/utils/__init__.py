"""LIBERO's paths, once more."""

from assay.extensions.dropin.paths import get_libero_path

__all__ = ["get_libero_path"]
