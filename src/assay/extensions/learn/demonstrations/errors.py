"""What can be wrong with demonstrations."""

from __future__ import annotations

from assay.errors import AssayError


class DemonstrationError(AssayError):
    """A folder of demonstrations that does not fit, or is none."""
