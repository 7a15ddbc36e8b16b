"""Ray: one actor for each worker, on any number of machines; the driver alone writes the store."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from assay import __version__
from assay.episodes.episode import Episode
from assay.episodes.spec import EpisodeSpec
from assay.errors import AssayError, RunError, one_line
from assay.runs.executor import Died, Done, Event, Source, Tick
from assay.runs.local import LOADING_TIMEOUT_S, POLL_INTERVAL_S
from assay.runs.ray_guard import RayGuard
from assay.runs.worker import EpisodeRunner, WorkerConfig
from assay.sim.packs.locate import LIBERO_VARIABLE, ROBOSUITE_VARIABLE, STATES_VARIABLE
from assay.support.extras import require
from assay.support.files import CACHE_VARIABLE
from assay.support.processes import environment, environment_of_others

LOCAL = "local"
"""The address that stands for a Ray of our own, on this machine."""
CONNECTING = 10.0
"""Seconds in which a cluster must answer."""
PLACING = 120.0
"""Seconds without a single actor that Ray has found a place for, after which the run is given up."""
GROWING = 10.0
"""Seconds between counts of a cluster's CPUs."""
BRIEF = 2.0
"""Seconds. An actor gets its next episode ahead of time if the latest took less, so that it never waits;
after a longer one the way to the driver and back does not matter, and Ctrl-C is answered sooner."""
LEAN = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_task_events_report_interval_ms": "0",
    "RAY_REPORTER_UPDATE_INTERVAL_MS": "60000",
    "RAY_worker_niceness": "0",
}
"""What keeps a Ray of our own from watching itself, and its workers from standing back (they would be niced by 15):
its cores are for them."""
PASSED_ON = (LIBERO_VARIABLE, ROBOSUITE_VARIABLE, STATES_VARIABLE, CACHE_VARIABLE, "LP_NUM_THREADS")
"""Environment variables that actors get from the driver: where assets and caches are, with how many threads software
draws; and no keys, but for that of the policy's own server. A Ray of our own has what other processes get, see
`assay.support.processes`."""
STORE_MEMORY = 80_000_000
"""Bytes that Ray may use for objects on this machine, its least: an episode has some 10 kB."""


@dataclass(slots=True, eq=False)
class _Worker:
    actor: Any
    calls: deque[tuple[int | None, Any]]
    """What it was asked and has not answered, in order: the number of an episode if it is one, and Ray's
    reference to the answer."""
    heard: float
    """When it last gave a sign of life, seconds of the clock."""
    placed: bool = False
    ready: bool = False
    ahead: int = 0
    """How many episodes are sent to it ahead of the one it performs."""
    latest: str | None = None
    """The scene it has at hand."""
    queue: deque[tuple[int, EpisodeSpec]] = field(default_factory=deque)
    """What was taken for it and not sent."""

    @property
    def numbers(self) -> list[int]:
        """What was taken for it and is not done, in order."""
        return [number for number, _ in (*self.calls, *self.queue) if number is not None]


class RayActors:
    """Executes on Ray: ``local`` for one of our own on this machine, else the address of a cluster.

    Workers are as many as asked for or, by default, as there are CPUs, those of nodes that join later too.
    A connection that this process has to Ray already is used and left open.
    """

    def __init__(
        self, config: WorkerConfig, address: str, workers: int | None = None, *, timeout: float = 1800.0
    ) -> None:
        require("ray", "--ray needs the package 'ray'", RunError)
        import ray

        self._ray: Any = ray
        self._config = config
        self._address = address
        self._timeout = timeout
        self._ours = False
        self._guard: RayGuard | None = None
        self._growing = workers is None and address != LOCAL
        self.workers = workers or os.cpu_count() or 1
        if self._growing:
            self._connect()
            self.workers = max(self._cpus(), 1)

    def execute(self, source: Source, stopping: Callable[[], bool]) -> Iterator[Event]:
        """See Executor."""
        self._connect()
        workers: list[_Worker] = []
        self._placed = self._counted = time.monotonic()
        try:
            while True:
                halt = stopping()
                for worker in workers:
                    if halt:
                        source.give_back([number for number, _ in worker.queue])
                        worker.queue.clear()
                    else:
                        self._feed(worker, source)
                idle = any(worker.ready and not worker.calls for worker in workers)
                while not idle and not halt and len(workers) < self.workers:
                    workers.append(self._start())
                if (idle or halt) and not any(worker.numbers for worker in workers):
                    return
                for worker in self._heard(workers):
                    yield from self._listen(worker, workers, source)
                yield from self._given_up(workers, source)
                self._grow()
                yield Tick()
        finally:
            self._stop(workers)

    def _connect(self) -> None:
        if self._ray.is_initialized():
            return
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        try:
            _check_reachable(self._address)
            if self._address == LOCAL:
                for name, value in LEAN.items():
                    os.environ.setdefault(name, value)
                self._guard = RayGuard()
                with environment_of_others(), self._guard.starting():
                    self._ray.init(
                        LOCAL,
                        num_cpus=self.workers,
                        include_dashboard=False,
                        object_store_memory=STORE_MEMORY,
                        **quiet,
                    )
            else:
                self._ray.init(self._address, **quiet)
        except Exception as error:  # Ray raises whatever its parts raise
            self._dismiss()
            raise RunError(f"--ray {self._address}: {one_line(error)}") from None
        self._ours = True

    def _cpus(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0))

    def _grow(self) -> None:
        if self._growing and time.monotonic() - self._counted > GROWING:
            self._counted = time.monotonic()
            self.workers = max(self.workers, self._cpus())

    def _start(self) -> _Worker:
        remote = self._ray.remote(_Actor).options(num_cpus=1, scheduling_strategy="SPREAD")
        actor = remote.remote()
        names = (*PASSED_ON, *self._config.variables)
        shown = environment(names)
        given = {name: shown[name] for name in names if name in shown}
        calls = (actor.arrive.remote(), actor.load.remote(self._config, given, sys.path))
        return _Worker(actor, deque((None, call) for call in calls), time.monotonic())

    def _feed(self, worker: _Worker, source: Source) -> None:
        while worker.ready and len(worker.calls) <= worker.ahead:
            if not worker.queue:
                worker.queue.extend(source.take(worker.latest))
            if not worker.queue:
                return
            if not worker.calls:
                worker.heard = time.monotonic()
            number, spec = worker.queue.popleft()
            worker.latest = spec.scene_key
            worker.calls.append((number, worker.actor.run.remote(spec)))

    def _heard(self, workers: list[_Worker]) -> list[_Worker]:
        """Those whose first call is answered. An actor does what it is asked in order."""
        first = {worker.calls[0][1]: worker for worker in workers if worker.calls}
        ready, _ = self._ray.wait(list(first), timeout=POLL_INTERVAL_S)
        if ready:
            ready, _ = self._ray.wait(list(first), num_returns=len(first), timeout=0)
        return [first[call] for call in ready]

    def _listen(self, worker: _Worker, workers: list[_Worker], source: Source) -> Iterator[Event]:
        number, call = worker.calls[0]
        try:
            answer: Any = self._ray.get(call)
        except self._ray.exceptions.RayError as error:
            if not worker.ready:
                self._explain(error)
            yield from self._remove(worker, workers, source, *self._ending(error))
            return
        worker.calls.popleft()
        worker.heard = time.monotonic()
        if number is not None:
            worker.ahead = int(answer.seconds < BRIEF)
            yield Done(number, answer)
        elif worker.placed:
            worker.ready = True
        elif answer == _versions():
            worker.placed = True
        else:
            raise RunError(f"a node of Ray has {answer}, this machine {_versions()}: they must be the same")

    def _given_up(self, workers: list[_Worker], source: Source) -> Iterator[Event]:
        """Workers that gave no sign of life for too long are ended."""
        now = time.monotonic()
        if any(worker.placed for worker in workers):
            self._placed = now
        elif now - self._placed > PLACING:
            free = int(self._ray.available_resources().get("CPU", 0))
            raise RunError(
                f"--ray {self._address}: no place for a worker in {PLACING:.0f} s; "
                f"{free} of {self._cpus()} CPUs are free"
            )
        for worker in list(workers):
            allowed = self._timeout if worker.ready else max(self._timeout, LOADING_TIMEOUT_S)
            if worker.placed and worker.calls and now - worker.heard > allowed:
                yield from self._remove(
                    worker, workers, source, f"gave no sign of life for {allowed:.0f} s", violent=False
                )

    def _explain(self, error: Any) -> None:
        """Raise what a worker that could not start says about it, if it says so itself."""
        cause = getattr(error, "cause", None)
        if isinstance(cause, AssayError):
            raise cause from None
        if cause is not None or getattr(error, "actor_init_failed", False):
            raise RunError(f"a worker could not start on Ray: {_reason(error)}") from None

    def _ending(self, error: Any) -> tuple[str, bool]:
        """Why a worker died, and whether it was killed; Ray cannot tell a kill from a crash."""
        own = isinstance(error, self._ray.exceptions.RayTaskError) or "exit code" in str(error)
        return f"the worker died: {_reason(error)}", not own

    def _remove(
        self, worker: _Worker, workers: list[_Worker], source: Source, reason: str, violent: bool
    ) -> Iterator[Event]:
        workers.remove(worker)
        self._ray.kill(worker.actor)
        current, rest = worker.numbers[:1], worker.numbers[1:]
        source.give_back(rest)
        yield Died(current[0] if current else None, reason, violent)

    def _stop(self, workers: list[_Worker]) -> None:
        with suppress(Exception):  # Ray may be gone; nothing is lost with it
            closing = [worker.actor.close.remote() for worker in workers if worker.ready and not worker.calls]
            if closing:
                self._ray.wait(closing, num_returns=len(closing), timeout=2)
            for worker in workers:
                self._ray.kill(worker.actor)
        if self._ours:
            self._ray.shutdown()
            self._ours = False
            self._dismiss()

    def _dismiss(self) -> None:
        if self._guard is not None:
            self._guard.dismiss()
            self._guard = None


class _Actor:
    """A worker's life on Ray: one runner in a process of its own."""

    def arrive(self) -> str:
        """Says that there is a place for it, and what is installed there."""
        return _versions()

    def load(self, config: WorkerConfig, environment: dict[str, str], path: list[str]) -> None:
        """Load the policy, with the driver's settings and where it finds modules."""
        os.environ.update(environment)
        sys.path.extend(folder for folder in path if folder not in sys.path)
        self._runner = EpisodeRunner(config)

    def run(self, spec: EpisodeSpec) -> Episode:
        """Execute one episode."""
        return self._runner.run(spec)

    def close(self) -> None:
        """Give back what the runner holds."""
        self._runner.close()


def _check_reachable(address: str) -> None:
    """Raise OSError if nobody is at an address with a port: Ray itself would try for a quarter of an hour."""
    named = os.environ.get("RAY_ADDRESS", address) if address == "auto" else address
    host, _, port = named.removeprefix("ray://").rpartition(":")
    if port.isdigit():
        socket.create_connection((host, int(port)), timeout=CONNECTING).close()


def _versions() -> str:
    return f"Assay {__version__} with MuJoCo {version('mujoco')}"


def _reason(error: BaseException) -> str:
    """What was raised in an actor; or why it is no more, which is how the last line of Ray's text begins."""
    cause = getattr(error, "cause", None)
    if cause is not None:
        return one_line(cause)
    return str(error).strip().rpartition("\n")[2].strip().partition(". ")[0][:200]
