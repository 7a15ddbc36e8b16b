from __future__ import annotations

from pathlib import Path

import pytest

from assay.extensions.tabletop.networks.demos import FIRST_SEED, Job, record_job


@pytest.fixture(scope="session")
def recorded(drawing: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a few demonstrations."""
    folder = tmp_path_factory.mktemp("demos")
    for task, episodes in (("T1", 3), ("T3", 2), ("T15", 1)):
        record_job(Job(folder, task, range(FIRST_SEED, FIRST_SEED + episodes)))
    return folder
