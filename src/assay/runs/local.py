"""Local worker processes, replaced when they die."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from assay.episodes import world_servers
from assay.episodes.episode import Episode
from assay.episodes.spec import EpisodeSpec
from assay.errors import AssayError, PolicyError, RunError, traceback_of
from assay.policies.remote.batching import Relay
from assay.policies.remote.client import RemotePolicy
from assay.runs.executor import EpisodeRunner, Event, Worker, WorkerConfig, WorkerDiedError, WorkerPool
from assay.runs.schedulers.plan import Scheduler
from assay.support import processes
from assay.support.plugins import import_object

POLL_INTERVAL_S = 0.2
HEARTBEAT_INTERVAL_S = 1.0
MAX_FAILED_STARTS = 3
"""Number of consecutive workers that fail to start after which the run stops."""


class LocalProcesses(WorkerPool):
    """Executes episodes in processes on this machine, behind a relay if the policy's address has ``batch=``."""

    def __init__(self, config: WorkerConfig, workers: int, *, timeout: float = 1800.0) -> None:
        super().__init__(config, workers, timeout)
        self._relay = ""
        self._failed_starts = 0

    def execute(self, source: Scheduler, stopping: Callable[[], bool]) -> Iterator[Event]:
        """See `Executor`."""
        with _open_relay(self._config) as self._relay:
            yield from super().execute(source, stopping)

    def _start(self) -> Worker:
        ours, theirs = processes.context().Pipe()
        config = replace(self._config, relay=self._relay)
        process = processes.start(_work, theirs, config, variables=config.variables)
        theirs.close()
        return Worker(process, ours)

    def _send(self, worker: Worker, spec: EpisodeSpec) -> None:
        with suppress(OSError):  # the worker died; reading its pipe will show that
            worker.channel.send(spec)

    def _wait(self, busy: list[Worker]) -> list[Worker]:
        ready = wait([worker.channel for worker in busy], timeout=POLL_INTERVAL_S)
        return [worker for worker in busy if worker.channel in ready or worker.process.exitcode is not None]

    def _receive(self, worker: Worker) -> Episode | None:
        try:
            if not worker.channel.poll():  # a child process of the dead worker holds the pipe open
                raise EOFError
            message: Any = worker.channel.recv()
        except (EOFError, OSError):
            _join(worker.process, timeout=10)
            code = worker.process.exitcode
            raise WorkerDiedError(
                f"the worker died: {_describe_exit(code)}", killed=code == -signal.SIGKILL
            ) from None
        if isinstance(message, tuple):
            reason, traceback = message
            error = PolicyError(reason)
            error.traceback = traceback
            raise error
        worker.ready, self._failed_starts = True, 0
        return message if isinstance(message, Episode) else None

    def _kill(self, worker: Worker, reason: str) -> None:
        worker.process.kill()
        worker.process.join()
        worker.channel.close()
        self._failed_starts += not worker.ready
        if self._failed_starts >= MAX_FAILED_STARTS:
            # Workers import a script that starts a run, and must not start the run again.
            is_script = getattr(sys.modules.get("__main__"), "__spec__", None) is None
            advice = '; call assay.run under `if __name__ == "__main__":`, or with workers=0'
            raise RunError(f"workers cannot start: {reason}{advice if is_script else ''}")

    def _stop(self, workers: list[Worker]) -> None:
        for worker in workers:
            worker.channel.close()
        for worker in workers:
            _join(worker.process, timeout=2)


def _join(process: BaseProcess, timeout: float) -> None:
    """Wait for a process to end, and kill it if it does not."""
    process.join(timeout)
    if process.is_alive():
        process.kill()
        process.join()


def _describe_exit(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"
    return f"exit status {code}"


def _work(pipe: Connection, config: WorkerConfig) -> None:
    """Run a worker: load the policy, and execute episodes until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the driver, which lets workers finish
    # These errors mean that the driver has closed the pipe, or has ended.
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        try:
            runner = EpisodeRunner(config)
        except AssayError as error:
            pipe.send((str(error), traceback_of(error)))
            return
        latest = time.monotonic()

        def beat() -> None:
            nonlocal latest
            if time.monotonic() - latest > HEARTBEAT_INTERVAL_S:
                latest = time.monotonic()
                pipe.send(None)

        with closing(runner):
            pipe.send(None)
            while True:
                pipe.send(runner.run(pipe.recv(), beat))


@contextmanager
def _open_relay(config: WorkerConfig) -> Iterator[str]:
    """Yield the socket of a relay if the policy's address has ``batch=``, otherwise nothing. Raises PolicyError."""
    address = config.policy
    client = world_servers(config.world).get(address.partition("://")[0])
    if client is None or "batch=" not in address:
        yield ""
        return
    policy: RemotePolicy = import_object(client)(address)
    if policy.batches is None:  # batch=1
        yield ""
        return
    with Relay(policy, policy.address.options.batch) as socket:
        yield socket
