"""Local worker processes, replaced when they die."""

from __future__ import annotations

import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from assay.episodes import LIBERO, world_servers
from assay.episodes.spec import EpisodeSpec
from assay.errors import AssayError, PolicyError, RunError, traceback_of
from assay.policies.remote.batching import Relay
from assay.policies.remote.client import RemotePolicy
from assay.runs.executor import Died, Done, Event
from assay.runs.schedulers.plan import Scheduler
from assay.runs.worker import EpisodeRunner, WorkerConfig
from assay.support import processes
from assay.support.plugins import import_object

POLL_INTERVAL_S = 0.2
HEARTBEAT_INTERVAL_S = 1.0
MAX_FAILED_STARTS = 3
"""Maximum number of consecutive workers that fail to start."""
LOADING_TIMEOUT_S = 600.0
"""Maximum time that a worker may take to load the policy, in seconds."""


@dataclass(slots=True, eq=False)
class _Worker:
    process: BaseProcess
    pipe: Connection
    last_seen: float
    """Monotonic time, in seconds, of the worker's last message."""
    ready: bool = False
    latest: str | None = None
    """Scene that the worker has compiled most recently."""
    batch: deque[tuple[int, EpisodeSpec]] = field(default_factory=deque)
    """Episodes reserved for the worker, in order."""
    current: int | None = None
    """Episode that the worker is executing."""

    @property
    def idle(self) -> bool:
        """Whether the worker can start an episode."""
        return self.ready and self.current is None


class LocalProcesses:
    """Executes episodes in processes on this machine, behind a relay if the policy's address has ``batch=``."""

    def __init__(self, config: WorkerConfig, workers: int, *, timeout: float = 1800.0) -> None:
        self.workers = workers
        self._config = config
        self._timeout = timeout
        self._failed_starts = 0

    def execute(self, source: Scheduler, stopping: Callable[[], bool]) -> Iterator[Event]:
        """See `Executor`."""
        workers: list[_Worker] = []
        with _open_relay(self._config.policy) as address:
            config = replace(self._config, policy=address)
            try:
                while True:
                    for worker in workers:
                        if worker.idle:
                            self._feed(worker, source, stopping())
                    idle = [worker for worker in workers if worker.idle]
                    busy = [worker for worker in workers if not worker.idle]
                    if not idle and len(workers) < self.workers and not stopping():
                        ours, theirs = processes.context().Pipe()
                        process = processes.start(_work, theirs, config, variables=config.variables)
                        theirs.close()
                        workers.append(_Worker(process, ours, time.monotonic()))
                        continue
                    if not busy:
                        return
                    ready = wait([worker.pipe for worker in busy], timeout=POLL_INTERVAL_S)
                    for worker in [worker for worker in busy if worker.pipe in ready]:
                        yield from self._listen(worker, workers, source)
                    yield from self._remove_silent(workers, source)
                    yield None
            finally:
                for worker in workers:
                    worker.pipe.close()
                for worker in workers:
                    _join(worker.process, timeout=2)

    def _feed(self, worker: _Worker, source: Scheduler, stopping: bool) -> None:
        """Send a worker its next episode, one at a time, so that none is started after a request to stop."""
        if stopping:
            source.give_back([number for number, _ in worker.batch])
            worker.batch.clear()
            return
        if not worker.batch:
            worker.batch.extend(source.take(worker.latest))
        if not worker.batch:
            return
        worker.current, spec = worker.batch.popleft()
        worker.latest = spec.scene_key
        worker.last_seen = time.monotonic()
        with suppress(OSError):  # it died; reading its pipe will show that
            worker.pipe.send((worker.current, spec))

    def _listen(self, worker: _Worker, workers: list[_Worker], source: Scheduler) -> Iterator[Event]:
        try:
            message: Any = worker.pipe.recv()
        except (EOFError, OSError):
            yield from self._remove(worker, workers, source, "")
            return
        worker.last_seen = time.monotonic()
        if isinstance(message, Done):
            worker.current = None
            yield message
        elif isinstance(message, tuple):
            reason, traceback = message
            error = PolicyError(reason)
            error.traceback = traceback
            raise error
        else:
            worker.ready = True
            self._failed_starts = 0

    def _remove_silent(self, workers: list[_Worker], source: Scheduler) -> Iterator[Event]:
        """Stop workers that have sent no message for too long."""
        for worker in list(workers):
            if worker.idle:
                continue
            if worker.process.exitcode is not None and not worker.pipe.poll():
                # A child process of the worker may hold the pipe open, so that no end of file is seen.
                yield from self._remove(worker, workers, source, "")
                continue
            allowed = self._timeout if worker.ready else LOADING_TIMEOUT_S
            if time.monotonic() - worker.last_seen > allowed:
                worker.process.kill()
                yield from self._remove(worker, workers, source, f"did not respond for {allowed:.0f} s")

    def _remove(
        self, worker: _Worker, workers: list[_Worker], source: Scheduler, reason: str
    ) -> Iterator[Event]:
        workers.remove(worker)
        _join(worker.process, timeout=10)
        code = worker.process.exitcode
        worker.pipe.close()
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= MAX_FAILED_STARTS:
                # Workers import a script that starts a run, and must not start the run again.
                is_script = getattr(sys.modules.get("__main__"), "__spec__", None) is None
                advice = '; call assay.run under `if __name__ == "__main__":`, or with workers=0'
                raise RunError(
                    f"workers cannot start: {reason or _ending(code)}{advice if is_script else ''}"
                )
        source.give_back([number for number, _ in worker.batch])
        yield Died(
            worker.current,
            reason or f"the worker died: {_ending(code)}",
            violent=not reason and code == -signal.SIGKILL,
        )


def _join(process: BaseProcess, timeout: float) -> None:
    """Wait for a process to end, and kill it if it does not."""
    process.join(timeout)
    if process.is_alive():
        process.kill()
        process.join()


def _ending(code: int | None) -> str:
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
                number, spec = pipe.recv()
                pipe.send(Done(number, runner.run(spec, beat)))


@contextmanager
def _open_relay(address: str) -> Iterator[str]:
    """Yield the address for a run's workers: that of a relay if it has ``batch=``. Raises PolicyError."""
    client = world_servers(LIBERO).get(address.partition("://")[0])
    if client is None or "batch=" not in address:
        yield address
        return
    policy: RemotePolicy = import_object(client)(address)
    if policy.batches is None:  # batch=1
        yield address
        return
    with Relay(policy, policy.address.options.batch) as socket:
        yield f"{address}&relay={socket}"
