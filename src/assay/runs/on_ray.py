"""Ray: one actor per worker, on any number of machines; only the driver writes to the store."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from assay import __version__
from assay.episodes.episode import Episode
from assay.episodes.spec import EpisodeSpec
from assay.errors import AssayError, RunError, one_line
from assay.runs.executor import EpisodeRunner, Event, Worker, WorkerConfig, WorkerDiedError, WorkerPool
from assay.runs.local import POLL_INTERVAL_S
from assay.runs.schedulers.plan import Scheduler
from assay.sim.packs.locate import LIBERO_VARIABLE, ROBOSUITE_VARIABLE, STATES_VARIABLE
from assay.support.extras import require
from assay.support.files import CACHE_VARIABLE
from assay.support.processes import environment, environment_of_others, start_watcher

LOCAL = "local"
"""Address for which a run starts Ray on this machine."""
CONNECT_TIMEOUT_S = 10.0
PLACEMENT_TIMEOUT_S = 120.0
"""Time, in seconds, after which the run fails if no actor has been placed."""
CPU_COUNT_INTERVAL_S = 10.0
"""Interval, in seconds, between counts of a cluster's CPUs."""
LEAN = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "0",
    "RAY_task_events_report_interval_ms": "0",
    "RAY_REPORTER_UPDATE_INTERVAL_MS": "60000",
    "RAY_worker_niceness": "0",
}
"""Environment variables that disable monitoring and low worker priority (niceness 15) in a local Ray instance."""
MARK = "ASSAY_RAY_SESSION"
"""Environment variable that identifies the processes of a local Ray instance."""
PASSED_ON = (LIBERO_VARIABLE, ROBOSUITE_VARIABLE, STATES_VARIABLE, CACHE_VARIABLE, "LP_NUM_THREADS")
"""Environment variables that are passed from the driver to the actors.

They set the locations of assets and caches, and the number of threads for software rendering. Of all API keys,
only that of the policy's server is passed. A local Ray instance gets the same variables as other processes, see
`assay.support.processes`.
"""
STORE_MEMORY = 80_000_000
"""Size of Ray's object store on this machine, in bytes: the minimum, since an episode takes about 10 kB."""


class RayActors(WorkerPool):
    """Executes episodes on Ray: ``local`` starts it on this machine; any other address is that of a cluster.

    By default there are as many workers as CPUs, including those of nodes that join later. If this process is already
    connected to Ray, that connection is used and left open.
    """

    def __init__(
        self, config: WorkerConfig, address: str, workers: int | None = None, *, timeout: float = 1800.0
    ) -> None:
        require("ray", "--ray needs the package 'ray'", RunError)
        import ray

        super().__init__(config, workers or os.cpu_count() or 1, timeout)
        self._ray: Any = ray
        self._address = address
        self._is_ours = False
        self._watcher: subprocess.Popen[bytes] | None = None
        self._is_growing = workers is None and address != LOCAL
        if self._is_growing:
            self._connect()
            self.workers = max(self._cpus(), 1)

    def execute(self, source: Scheduler, stopping: Callable[[], bool]) -> Iterator[Event]:
        """See `Executor`."""
        self._connect()
        self._last_placement = self._last_count = time.monotonic()
        self._placed: set[Worker] = set()
        yield from super().execute(source, stopping)

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
                    mark = os.environ[MARK] = f"{os.getpid()}-{time.time_ns()}"
                    try:
                        # Ray's agents live for up to a minute if Ray is killed.
                        self._watcher = start_watcher(f"{MARK}={mark}")
                        self._ray.init(
                            LOCAL,
                            num_cpus=self.workers,
                            include_dashboard=False,
                            object_store_memory=STORE_MEMORY,
                            **quiet,
                        )
                    finally:
                        del os.environ[MARK]
            else:
                self._ray.init(self._address, **quiet)
        except Exception as error:  # Ray raises errors of all its parts
            raise RunError(f"--ray {self._address}: {one_line(error)}") from None
        self._is_ours = True

    def _cpus(self) -> int:
        return int(self._ray.cluster_resources().get("CPU", 0))

    def _start(self) -> Worker:
        actor = self._ray.remote(_Actor).options(num_cpus=1, scheduling_strategy="SPREAD").remote()
        return Worker(actor, actor.arrive.remote())

    def _send(self, worker: Worker, spec: EpisodeSpec) -> None:
        worker.channel = worker.process.run.remote(spec)

    def _wait(self, busy: list[Worker]) -> list[Worker]:
        now = time.monotonic()
        for worker in busy:
            if worker not in self._placed:  # waiting for a free CPU is not a sign of a hanging worker
                worker.last_seen = now
        if self._placed:
            self._last_placement = now
        elif now - self._last_placement > PLACEMENT_TIMEOUT_S:
            free = int(self._ray.available_resources().get("CPU", 0))
            raise RunError(
                f"--ray {self._address}: no worker was placed within {PLACEMENT_TIMEOUT_S:.0f} s; "
                f"{free} of {self._cpus()} CPUs are free"
            )
        if self._is_growing and now - self._last_count > CPU_COUNT_INTERVAL_S:
            self._last_count = now
            self.workers = max(self.workers, self._cpus())
        calls = {worker.channel: worker for worker in busy}
        ready, _ = self._ray.wait(list(calls), timeout=POLL_INTERVAL_S)
        if ready:  # Ray returns as soon as one call has finished; the others may have finished as well
            ready, _ = self._ray.wait(list(calls), num_returns=len(calls), timeout=0)
        return [calls[call] for call in ready]

    def _receive(self, worker: Worker) -> Episode | None:
        try:
            answer: Any = self._ray.get(worker.channel)
        except self._ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)
            if not worker.ready and isinstance(cause, AssayError):
                raise cause from None
            if not worker.ready and (cause is not None or getattr(error, "actor_init_failed", False)):
                raise RunError(f"a worker could not start on Ray: {_reason(error)}") from None
            # Ray does not distinguish a crash from a kill, except by its own errors and exit codes.
            crashed = isinstance(error, self._ray.exceptions.RayTaskError) or "exit code" in str(error)
            raise WorkerDiedError(f"the worker died: {_reason(error)}", killed=not crashed) from None
        if worker.ready:
            assert isinstance(answer, Episode)
            return answer
        if worker in self._placed:
            worker.ready = True
            return None
        if answer != _versions():
            raise RunError(f"a Ray node has {answer}, but this machine has {_versions()}; they must match")
        self._placed.add(worker)
        names = (*PASSED_ON, *self._config.variables)
        variables = environment(names)
        passed = {name: variables[name] for name in names if name in variables}
        worker.channel = worker.process.load.remote(self._config, passed, sys.path)
        return None

    def _kill(self, worker: Worker, reason: str) -> None:
        self._placed.discard(worker)
        self._ray.kill(worker.process)

    def _stop(self, workers: list[Worker]) -> None:
        with suppress(Exception):  # Ray may be gone
            closing = [worker.process.close.remote() for worker in workers if worker.is_idle]
            if closing:
                self._ray.wait(closing, num_returns=len(closing), timeout=2)
            for worker in workers:
                self._ray.kill(worker.process)
        if self._is_ours:
            self._ray.shutdown()
            self._is_ours = False
            if self._watcher is not None:
                self._watcher.communicate()  # it kills what is left of Ray


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
    """Return the error raised in an actor or, if it died, the beginning of the last line of Ray's message."""
    cause = getattr(error, "cause", None)
    if cause is not None:
        return one_line(cause)
    return str(error).strip().rpartition("\n")[2].strip().partition(". ")[0][:200]
