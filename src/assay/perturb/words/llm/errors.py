"""What can go wrong with a language model that somebody else runs."""

from __future__ import annotations

from assay.errors import AssayError


class LLMError(AssayError):
    """An endpoint that cannot be used, or a setting that makes no sense."""
