"""The user's folders, where the system has them: on Linux ``~/.cache/assay`` and its like. None need exist."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

CACHE_VARIABLE = "ASSAY_CACHE"
_NAME = "assay"


def cache_folder() -> Path:
    """For what can be made again: the folder that ``ASSAY_CACHE`` names, or one in the user's cache."""
    return Path(os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_path(_NAME, appauthor=False))


def config_folder() -> Path:
    """For what a user has set."""
    return platformdirs.user_config_path(_NAME, appauthor=False)


def data_folder() -> Path:
    """For what was downloaded."""
    return platformdirs.user_data_path(_NAME, appauthor=False)
