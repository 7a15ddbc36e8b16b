from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.runs.certificates import CertificateCache
from assay.runs.executor import InProcess, WorkerConfig


@pytest.fixture
def here() -> InProcess:
    """Executes the demonstrator in this process."""
    return InProcess(WorkerConfig("oracle"))


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CertificateCache]:
    with CertificateCache(tmp_path / "certificates.sqlite") as opened:
        yield opened
