"""Where Assay keeps what it can make again."""

from __future__ import annotations

import os
from pathlib import Path

CACHE_VARIABLE = "ASSAY_CACHE"


def cache_folder() -> Path:
    """The folder that ``ASSAY_CACHE`` names, or ``assay`` in the user's cache. It need not exist."""
    named = os.environ.get(CACHE_VARIABLE)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(named) if named else Path(base) / "assay"
