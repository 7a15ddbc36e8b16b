from __future__ import annotations

from pathlib import Path

import pytest

from assay import tasks
from assay.extensions.learn.demonstrations import collect


@pytest.fixture(scope="session")
def collected(drawing: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set that we recorded: an episode of each of two tasks."""
    folder = tmp_path_factory.mktemp("collected") / "set"
    collect(folder, [tasks.load(f"libero_goal/{number}") for number in (5, 7)], 1, size=48)
    return folder
