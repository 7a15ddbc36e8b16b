from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.runs.certificates import CertificateCache
from assay.runs.executor import Done, Event, Source
from assay.runs.worker import EpisodeRunner, WorkerConfig


class Here:
    """Executes the demonstrator in this process."""

    workers = 1

    def __init__(self) -> None:
        self._stage = EpisodeRunner(WorkerConfig("oracle"))

    def execute(self, source: Source, stopping: Callable[[], bool]) -> Iterator[Event]:
        while batch := source.take(None):
            for number, spec in batch:
                yield Done(number, self._stage.run(spec))


@pytest.fixture
def here() -> Here:
    return Here()


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CertificateCache]:
    with CertificateCache(tmp_path / "certificates.sqlite") as opened:
        yield opened
