"""LIBERO's path configuration."""

from assay.extensions.dropin.session import get_libero_path
