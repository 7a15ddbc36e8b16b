"""Workers that share one connection to a policy server, so that their requests can be sent as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from assay.policies.remote.batching import open_relay
from assay.runs.executor import Event, Source
from assay.runs.local import LocalProcesses
from assay.runs.worker import WorkerConfig


class BatchingProcesses:
    """Local processes behind a relay, where the policy's address asks for one with ``batch=``."""

    def __init__(self, config: WorkerConfig, workers: int, *, timeout: float = 1800.0) -> None:
        self._config, self._timeout = config, timeout
        self.workers = workers

    def execute(self, source: Source, stopping: Callable[[], bool]) -> Iterator[Event]:
        """See `assay.runs.executor.Executor`."""
        with open_relay(self._config.policy) as address:
            config = replace(self._config, policy=address)
            yield from LocalProcesses(config, self.workers, timeout=self._timeout).execute(source, stopping)
