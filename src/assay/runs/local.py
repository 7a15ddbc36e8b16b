"""Local processes: one worker each, replaced when it dies."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from assay.errors import AssayError, PolicyError, RunError
from assay.runs.executor import Batch, Died, Done, Event, Source, Tick
from assay.runs.stage import Orders, Stage

TICK = 0.2
"""Seconds between looks at the clock."""
LOADING = 600.0
"""Seconds a worker may take to load the policy."""


@dataclass(slots=True, eq=False)
class _Worker:
    process: SpawnProcess
    pipe: Connection
    started: float
    """When it last gave a sign of life, seconds of the clock."""
    ready: bool = False
    latest: str | None = None
    """The scene it has at hand."""
    batch: list[int] = field(default_factory=list)
    """What it was given and has not done, in order."""


class LocalProcesses:
    """Executes on this machine."""

    def __init__(self, orders: Orders, workers: int, *, timeout: float = 1800.0) -> None:
        self.workers = workers
        self._orders = orders
        self._timeout = timeout
        self._processes = multiprocessing.get_context("spawn")

    def execute(self, source: Source, stopping: Callable[[], bool]) -> Iterator[Event]:
        """See Executor."""
        team: list[_Worker] = []
        try:
            while True:
                for worker in team:
                    if worker.ready and not worker.batch and not stopping():
                        self._feed(worker, source)
                idle = [worker for worker in team if worker.ready and not worker.batch]
                busy = [worker for worker in team if worker not in idle]
                if not idle and len(team) < self.workers and not stopping():
                    team.append(self._hire())
                    continue
                if not busy:
                    return
                for worker in self._heard(busy):
                    yield from self._listen(worker, team, source)
                yield from self._given_up(team, source)
                yield Tick()
        finally:
            _dismiss(team)

    def _hire(self) -> _Worker:
        ours, theirs = self._processes.Pipe()
        process = self._processes.Process(target=_work, args=(theirs, self._orders, os.getpid()), daemon=True)
        process.start()
        theirs.close()
        return _Worker(process, ours, time.monotonic())

    def _feed(self, worker: _Worker, source: Source) -> None:
        batch = source.take(worker.latest)
        if not batch:
            return
        worker.batch = [number for number, _ in batch]
        worker.latest = batch[0][1].scene_key
        worker.started = time.monotonic()
        with suppress(OSError):  # it died; its pipe will say so
            worker.pipe.send(batch)

    def _heard(self, busy: list[_Worker]) -> list[_Worker]:
        ready = wait([worker.pipe for worker in busy], timeout=TICK)
        return [worker for worker in busy if worker.pipe in ready]

    def _listen(self, worker: _Worker, team: list[_Worker], source: Source) -> Iterator[Event]:
        try:
            message: Any = worker.pipe.recv()
        except (EOFError, OSError):
            yield from self._bury(worker, team, source, "")
            return
        worker.started = time.monotonic()
        if isinstance(message, Done):
            worker.batch.remove(message.number)
            yield message
        elif isinstance(message, str):
            raise PolicyError(message)
        else:
            worker.ready = True

    def _given_up(self, team: list[_Worker], source: Source) -> Iterator[Event]:
        """Workers that gave no sign of life for too long are ended."""
        for worker in list(team):
            if not worker.batch and worker.ready:
                continue
            allowed = self._timeout if worker.ready else max(self._timeout, LOADING)
            if time.monotonic() - worker.started > allowed:
                worker.process.kill()
                yield from self._bury(worker, team, source, f"gave no sign of life for {allowed:.0f} s")

    def _bury(self, worker: _Worker, team: list[_Worker], source: Source, reason: str) -> Iterator[Event]:
        team.remove(worker)
        worker.process.join(timeout=10)
        code = worker.process.exitcode
        worker.pipe.close()
        if not worker.ready and not reason and code != -signal.SIGKILL:
            raise RunError(f"a worker could not start ({_ending(code)})")
        current, rest = worker.batch[:1], worker.batch[1:]
        source.give_back(rest)
        yield Died(
            current[0] if current else None,
            reason or f"the worker died: {_ending(code)}",
            violent=not reason and code == -signal.SIGKILL,
        )


def _dismiss(team: list[_Worker]) -> None:
    for worker in team:
        worker.pipe.close()
    for worker in team:
        worker.process.join(timeout=2)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        try:
            return signal.Signals(-code).name
        except ValueError:
            return f"signal {-code}"
    return f"exit status {code}"


def _work(pipe: Connection, orders: Orders, parent: int) -> None:
    """A worker's life: load the policy, perform batches until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver; it lets us finish
    _die_with(parent)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):  # the driver is done with us, or gone
        try:
            stage = Stage(orders)
        except AssayError as error:
            pipe.send(str(error))
            return
        with closing(stage):
            pipe.send(None)
            while True:
                batch: Batch = pipe.recv()
                for number, spec in batch:
                    pipe.send(Done(number, stage.perform(spec)))


def _die_with(parent: int) -> None:
    """Ask Linux to end this process when the driver is killed; elsewhere the closed pipe does, later."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)
    except (OSError, AttributeError):
        return
    if os.getppid() != parent:
        raise SystemExit(1)
