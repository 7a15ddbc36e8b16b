from __future__ import annotations

from pathlib import Path

import pytest

import assay as api


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run of LIBERO's world: controls and reworded instructions, all of them failures."""
    path = tmp_path_factory.mktemp("played") / "tiny.assay"
    api.run(
        "pro",
        "random",
        tasks="libero_goal/7",
        seeds=2,
        conditions="semantic",
        steps=6,
        workers=0,
        certified=False,
        out=path,
    )
    return path
