"""What can be wrong with texts and models."""

from __future__ import annotations

from assay.errors import AssayError


class DistanceError(AssayError):
    """A text, or a table of texts, for which there is no distance."""


class ModelError(AssayError):
    """A language model that is not here, or is not the one it should be."""
