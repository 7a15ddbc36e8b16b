from __future__ import annotations

import os
from pathlib import Path

import pytest

_SHARED = Path(os.environ.get("ASSAY_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data; tests that need it are skipped where it is absent."""
    if not (_SHARED / "libero" / "bddl").is_dir():
        pytest.skip(f"no reference data at {_SHARED} (set ASSAY_SHARED)")
    return _SHARED
