"""Ray: one actor per worker, on any number of machines; only the driver writes to the store."""

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
from assay.runs.executor import Died, Done, Event
from assay.runs.local import LOADING_TIMEOUT_S, POLL_INTERVAL_S
from assay.runs.schedulers.plan import Scheduler
from assay.runs.worker import EpisodeRunner, WorkerConfig
from assay.sim.packs.locate import LIBERO_VARIABLE, ROBOSUITE_VARIABLE, STATES_VARIABLE
from assay.support.extras import require
from assay.support.files import CACHE_VARIABLE
from assay.support.processes import environment, environment_of_others

LOCAL = "local"
"""Address that makes a run start Ray on this machine."""
CONNECT_TIMEOUT_S = 10.0
PLACEMENT_TIMEOUT_S = 120.0
"""Time, in seconds, without any placed actor after which the run fails."""
CPU_COUNT_INTERVAL_S = 10.0
"""Interval, in seconds, between counts of a cluster's CPUs."""
BRIEF_EPISODE_S = 2.0
"""Duration, in seconds, of an actor's latest episode below which it gets the next one ahead of time and never waits.

After a longer episode, the round trip to the driver does not matter, and Ctrl-C takes effect sooner.
"""
LEAN = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_task_events_report_interval_ms": "0",
    "RAY_REPORTER_UPDATE_INTERVAL_MS": "60000",
    "RAY_worker_niceness": "0",
}
"""Variables that disable monitoring in a local Ray instance, and the lower priority of its workers (niceness 15)."""
PASSED_ON = (LIBERO_VARIABLE, ROBOSUITE_VARIABLE, STATES_VARIABLE, CACHE_VARIABLE, "LP_NUM_THREADS")
"""Environment variables that actors get from the driver.

They set locations of assets and caches, and threads for software rendering; no keys are passed except that of the
policy's server. A local Ray instance gets the same variables as other processes, see `assay.support.processes`.
"""
STORE_MEMORY = 80_000_000
"""Size of Ray's object store on this machine, in bytes: the minimum, since an episode takes about 10 kB."""


@dataclass(slots=True, eq=False)
class _RayWorker:
    actor: Any
    calls: deque[tuple[int | None, Any]]
    """Pending calls, in order: the episode's number, if the call is an episode, and Ray's reference to the result."""
    last_seen: float
    """Monotonic time, in seconds, of the worker's last message."""
    placed: bool = False
    ready: bool = False
    ahead: int = 0
    """Number of episodes sent ahead of the running one."""
    latest: str | None = None
    """Scene that the worker has compiled most recently."""
    queue: deque[tuple[int, EpisodeSpec]] = field(default_factory=deque)
    """Episodes reserved for the worker but not yet sent."""

    @property
    def numbers(self) -> list[int]:
        """Episodes reserved for the worker but not yet finished, in order."""
        return [number for number, _ in (*self.calls, *self.queue) if number is not None]


class RayActors:
    """Executes episodes on Ray: ``local`` starts it on this machine; any other address is that of a cluster.

    By default there are as many workers as CPUs, including those of nodes that join later. If this process is already
    connected to Ray, that connection is used and left open.
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
        self._growing = workers is None and address != LOCAL
        self.workers = workers or os.cpu_count() or 1
        if self._growing:
            self._connect()
            self.workers = max(self._cpus(), 1)

    def execute(self, source: Scheduler, stopping: Callable[[], bool]) -> Iterator[Event]:
        """See `Executor`."""
        self._connect()
        workers: list[_RayWorker] = []
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
                for worker in self._ready(workers):
                    yield from self._listen(worker, workers, source)
                yield from self._remove_silent(workers, source)
                if self._growing and time.monotonic() - self._counted > CPU_COUNT_INTERVAL_S:
                    self._counted = time.monotonic()
                    self.workers = max(self.workers, self._cpus())
                yield None
        finally:
            self._stop(workers)

    def _connect(self) -> None:
        if self._ray.is_initialized():
            return
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        try:
            # Ray itself would try for 15 minutes to reach an address where nothing listens.
            automatic = os.environ.get("RAY_ADDRESS", "") if self._address == "auto" else self._address
            host, _, port = automatic.removeprefix("ray://").rpartition(":")
            if port.isdigit():
                socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT_S).close()
            if self._address == LOCAL:
                for name, value in LEAN.items():
                    os.environ.setdefault(name, value)
                with environment_of_others():
                    self._ray.init(
                        LOCAL,
                        num_cpus=self.workers,
                        include_dashboard=False,
                        object_store_memory=STORE_MEMORY,
                        **quiet,
                    )
            else:
                self._ray.init(self._address, **quiet)
        except Exception as error:  # Ray raises errors of all its parts
            raise RunError(f"--ray {self._address}: {one_line(error)}") from None
        self._ours = True

    def _cpus(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0))

    def _start(self) -> _RayWorker:
        remote = self._ray.remote(_Actor).options(num_cpus=1, scheduling_strategy="SPREAD")
        actor = remote.remote()
        names = (*PASSED_ON, *self._config.variables)
        variables = environment(names)
        passed = {name: variables[name] for name in names if name in variables}
        calls = (actor.arrive.remote(), actor.load.remote(self._config, passed, sys.path))
        return _RayWorker(actor, deque((None, call) for call in calls), time.monotonic())

    def _feed(self, worker: _RayWorker, source: Scheduler) -> None:
        while worker.ready and len(worker.calls) <= worker.ahead:
            if not worker.queue:
                worker.queue.extend(source.take(worker.latest))
            if not worker.queue:
                return
            if not worker.calls:
                worker.last_seen = time.monotonic()
            number, spec = worker.queue.popleft()
            worker.latest = spec.scene_key
            worker.calls.append((number, worker.actor.run.remote(spec)))

    def _ready(self, workers: list[_RayWorker]) -> list[_RayWorker]:
        """Return the workers whose first call has finished; an actor executes its calls in order."""
        first = {worker.calls[0][1]: worker for worker in workers if worker.calls}
        ready, _ = self._ray.wait(list(first), timeout=POLL_INTERVAL_S)
        if ready:
            ready, _ = self._ray.wait(list(first), num_returns=len(first), timeout=0)
        return [first[call] for call in ready]

    def _listen(self, worker: _RayWorker, workers: list[_RayWorker], source: Scheduler) -> Iterator[Event]:
        number, call = worker.calls[0]
        try:
            answer: Any = self._ray.get(call)
        except self._ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)
            if not worker.ready and isinstance(cause, AssayError):
                raise cause from None
            if not worker.ready and (cause is not None or getattr(error, "actor_init_failed", False)):
                raise RunError(f"a worker could not start on Ray: {_reason(error)}") from None
            # Ray does not distinguish a crash from a kill, except by its own errors and exit codes.
            crashed = isinstance(error, self._ray.exceptions.RayTaskError) or "exit code" in str(error)
            reason = f"the worker died: {_reason(error)}"
            yield from self._remove(worker, workers, source, reason, violent=not crashed)
            return
        worker.calls.popleft()
        worker.last_seen = time.monotonic()
        if number is not None:
            worker.ahead = int(answer.seconds < BRIEF_EPISODE_S)
            yield Done(number, answer)
        elif worker.placed:
            worker.ready = True
        elif answer == _versions():
            worker.placed = True
        else:
            raise RunError(f"a Ray node has {answer}, but this machine has {_versions()}; they must match")

    def _remove_silent(self, workers: list[_RayWorker], source: Scheduler) -> Iterator[Event]:
        """Stop workers that have sent no message for too long."""
        now = time.monotonic()
        if any(worker.placed for worker in workers):
            self._placed = now
        elif now - self._placed > PLACEMENT_TIMEOUT_S:
            free = int(self._ray.available_resources().get("CPU", 0))
            raise RunError(
                f"--ray {self._address}: no worker was placed within {PLACEMENT_TIMEOUT_S:.0f} s; "
                f"{free} of {self._cpus()} CPUs are free"
            )
        for worker in list(workers):
            allowed = self._timeout if worker.ready else max(self._timeout, LOADING_TIMEOUT_S)
            if worker.placed and worker.calls and now - worker.last_seen > allowed:
                yield from self._remove(
                    worker, workers, source, f"did not respond for {allowed:.0f} s", violent=False
                )

    def _remove(
        self, worker: _RayWorker, workers: list[_RayWorker], source: Scheduler, reason: str, violent: bool
    ) -> Iterator[Event]:
        workers.remove(worker)
        self._ray.kill(worker.actor)
        current, rest = worker.numbers[:1], worker.numbers[1:]
        source.give_back(rest)
        yield Died(current[0] if current else None, reason, violent)

    def _stop(self, workers: list[_RayWorker]) -> None:
        with suppress(Exception):  # Ray may be gone
            closing = [worker.actor.close.remote() for worker in workers if worker.ready and not worker.calls]
            if closing:
                self._ray.wait(closing, num_returns=len(closing), timeout=2)
            for worker in workers:
                self._ray.kill(worker.actor)
        if self._ours:
            self._ray.shutdown()
            self._ours = False


class _Actor:
    """A worker on Ray: one episode runner in a separate process."""

    def arrive(self) -> str:
        """Report that the actor has been placed, and return the installed versions."""
        return _versions()

    def load(self, config: WorkerConfig, environment: dict[str, str], path: list[str]) -> None:
        """Load the policy, with the driver's environment and module path."""
        os.environ.update(environment)
        sys.path.extend(folder for folder in path if folder not in sys.path)
        self._runner = EpisodeRunner(config)

    def run(self, spec: EpisodeSpec) -> Episode:
        """Execute one episode."""
        return self._runner.run(spec)

    def close(self) -> None:
        """Close the runner."""
        self._runner.close()


def _versions() -> str:
    return f"Assay {__version__} with MuJoCo {version('mujoco')}"


def _reason(error: BaseException) -> str:
    """Return the error raised in an actor, or why the actor died: the beginning of the last line of Ray's message."""
    cause = getattr(error, "cause", None)
    if cause is not None:
        return one_line(cause)
    return str(error).strip().rpartition("\n")[2].strip().partition(". ")[0][:200]
