from __future__ import annotations

from pathlib import Path

import pytest

from .files import Write, packed


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file of states around a pickle."""

    def written(content: bytes, **options: object) -> Path:
        file = tmp_path / "states.init"
        file.write_bytes(packed(content, **options))  # type: ignore[arg-type]
        return file

    return written
