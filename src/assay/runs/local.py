"""Local processes: one worker each, replaced when it dies."""

from __future__ import annotations

import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from assay.episodes.spec import EpisodeSpec
from assay.errors import AssayError, PolicyError, RunError, traceback_of
from assay.runs.executor import Died, Done, Event, Source, Tick
from assay.runs.worker import EpisodeRunner, WorkerConfig
from assay.support import processes

TICK = 0.2
"""Seconds between looks at the clock."""
BEAT = 1.0
"""Seconds between a worker's signs of life, while it steps."""
STARTS = 3
"""How many workers in a row may fail to start."""
LOADING = 600.0
"""Seconds a worker may take to load the policy."""


@dataclass(slots=True, eq=False)
class _Worker:
    process: BaseProcess
    pipe: Connection
    started: float
    """When it last gave a sign of life, seconds of the clock."""
    ready: bool = False
    latest: str | None = None
    """The scene it has at hand."""
    batch: deque[tuple[int, EpisodeSpec]] = field(default_factory=deque)
    """What is set aside for it, in order."""
    current: int | None = None
    """The episode it performs."""

    @property
    def idle(self) -> bool:
        """Whether it could begin an episode."""
        return self.ready and self.current is None


class LocalProcesses:
    """Executes on this machine."""

    def __init__(self, config: WorkerConfig, workers: int, *, timeout: float = 1800.0) -> None:
        self.workers = workers
        self._config = config
        self._timeout = timeout
        self._failed_starts = 0

    def execute(self, source: Source, stopping: Callable[[], bool]) -> Iterator[Event]:
        """See Executor."""
        workers: list[_Worker] = []
        try:
            while True:
                for worker in workers:
                    if worker.idle:
                        self._feed(worker, source, stopping())
                idle = [worker for worker in workers if worker.idle]
                busy = [worker for worker in workers if not worker.idle]
                if not idle and len(workers) < self.workers and not stopping():
                    workers.append(self._start())
                    continue
                if not busy:
                    return
                for worker in self._heard(busy):
                    yield from self._listen(worker, workers, source)
                yield from self._given_up(workers, source)
                yield Tick()
        finally:
            _stop(workers)

    def _start(self) -> _Worker:
        ours, theirs = processes.context().Pipe()
        process = processes.start(_work, theirs, self._config, variables=self._config.variables)
        theirs.close()
        return _Worker(process, ours, time.monotonic())

    def _feed(self, worker: _Worker, source: Source, stopping: bool) -> None:
        """Give a worker its next episode: one at a time, so that no more is begun when it should stop."""
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
        worker.started = time.monotonic()
        with suppress(OSError):  # it died; its pipe will say so
            worker.pipe.send((worker.current, spec))

    def _heard(self, busy: list[_Worker]) -> list[_Worker]:
        ready = wait([worker.pipe for worker in busy], timeout=TICK)
        return [worker for worker in busy if worker.pipe in ready]

    def _listen(self, worker: _Worker, workers: list[_Worker], source: Source) -> Iterator[Event]:
        try:
            message: Any = worker.pipe.recv()
        except (EOFError, OSError):
            yield from self._remove(worker, workers, source, "")
            return
        worker.started = time.monotonic()
        if isinstance(message, Done):
            worker.current = None
            yield message
        elif isinstance(message, tuple):
            said, traceback = message
            broken = PolicyError(said)
            broken.traceback = traceback
            raise broken
        else:
            worker.ready = True
            self._failed_starts = 0

    def _given_up(self, workers: list[_Worker], source: Source) -> Iterator[Event]:
        """Workers that gave no sign of life for too long are ended."""
        for worker in list(workers):
            if worker.idle:
                continue
            if worker.process.exitcode is not None and not worker.pipe.poll():
                yield from self._remove(
                    worker, workers, source, ""
                )  # a child of its own may hold the pipe open
                continue
            allowed = self._timeout if worker.ready else LOADING
            if time.monotonic() - worker.started > allowed:
                worker.process.kill()
                yield from self._remove(worker, workers, source, f"gave no sign of life for {allowed:.0f} s")

    def _remove(
        self, worker: _Worker, workers: list[_Worker], source: Source, reason: str
    ) -> Iterator[Event]:
        workers.remove(worker)
        worker.process.join(timeout=10)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        code = worker.process.exitcode
        worker.pipe.close()
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= STARTS:
                raise RunError(f"workers cannot start: {reason or _ending(code)}{_hint()}")
        source.give_back([number for number, _ in worker.batch])
        yield Died(
            worker.current,
            reason or f"the worker died: {_ending(code)}",
            violent=not reason and code == -signal.SIGKILL,
        )


def _stop(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.pipe.close()
    for worker in workers:
        worker.process.join(timeout=2)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


def _hint() -> str:
    """What a script may have forgotten: workers import it, and must not begin the run once more."""
    if getattr(sys.modules.get("__main__"), "__spec__", None) is not None:
        return ""
    return '; a script calls assay.run under `if __name__ == "__main__":`, or with workers=0'


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"
    return f"exit status {code}"


def _work(pipe: Connection, config: WorkerConfig) -> None:
    """A worker's life: load the policy, perform episodes until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver; it lets us finish
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):  # the driver is done with us, or gone
        try:
            runner = EpisodeRunner(config)
        except AssayError as error:
            pipe.send((str(error), traceback_of(error)))
            return
        latest = time.monotonic()

        def beat() -> None:
            nonlocal latest
            if time.monotonic() - latest > BEAT:
                latest = time.monotonic()
                pipe.send(None)

        with closing(runner):
            pipe.send(None)
            while True:
                number, spec = pipe.recv()
                pipe.send(Done(number, runner.run(spec, beat)))
