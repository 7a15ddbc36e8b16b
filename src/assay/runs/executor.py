"""Executors of episodes: the interface, one for this process, and the base class of executors with workers."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from assay.episodes import LIBERO, Episode, EpisodeSpec, Outcome, Policy, load_world, no_trajectory, rollout
from assay.errors import AssayError, one_line, short_traceback
from assay.policies.registry import close_policy, load_policy
from assay.policies.remote.client import RemotePolicy
from assay.runs.schedulers.plan import Scheduler
from assay.support.plugins import import_module
from assay.support.trust import module_of, trust

_KEY = re.compile(r"[?&](?:key|bearer)=(\w+)")


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """Execution settings for the workers of a run, sent to their processes."""

    policy: str
    """Address of the policy."""
    world: str = LIBERO
    """Name of the world in which the policy acts."""
    retries: int = 0
    """Number of further attempts, with the same seed, at an episode that ended in an error."""
    videos: Path | None = None
    """Folder for videos; None for no videos."""
    video_successes: bool = False
    """Whether to write videos of successes as well."""
    states: Path | None = None
    """Folder of stored initial states, if not the default one."""
    plugins: tuple[str, ...] = ()
    """Plugin modules, and addresses that specs may name, which are imported before the policy is loaded."""
    relay: str = ""
    """Socket of the run's relay that joins the requests of its workers; empty if there is none."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the environment variables in the policy's address, which contain its server's key."""
        return tuple(_KEY.findall(self.policy)) if "://" in self.policy else ()


class EpisodeRunner:
    """Executes episodes sequentially."""

    def __init__(self, config: WorkerConfig, policy: Policy | None = None) -> None:
        """``policy``: an object to use instead of the policy at the config's address; the caller closes it."""
        for name in config.plugins:
            trust(name)  # specs may name it
            import_module(module_of(name))
        self._config = config
        self._policy, self._owns_policy = policy or load_policy(config.policy, config.world), policy is None
        if config.relay:
            assert isinstance(self._policy, RemotePolicy)
            self._policy.use_relay(config.relay)
        self._env = load_world(config.world).open(config.states)

    def run(self, spec: EpisodeSpec, alive: Callable[[], None] = lambda: None) -> Episode:
        """Execute one episode; errors are recorded in it instead of being raised. ``alive`` is called at every step."""
        start = time.perf_counter()
        episode, attempts = self._attempt(spec, alive), 1
        while episode.outcome is Outcome.ERROR and attempts <= self._config.retries:
            episode, attempts = self._attempt(spec, alive), attempts + 1
        return replace(episode, attempts=attempts, seconds=time.perf_counter() - start)

    def close(self) -> None:
        """Close the environment and, unless the caller owns it, the policy."""
        try:
            self._env.close()
        finally:
            if self._owns_policy:
                close_policy(self._policy)

    def _attempt(self, spec: EpisodeSpec, alive: Callable[[], None]) -> Episode:
        videos, video = self._config.videos, None
        if videos is not None:
            from assay.runs.replay import RUN_FRAME_S, EpisodeVideo, video_file  # the encoder imports slowly

            video = EpisodeVideo(self._env, spec, seconds=RUN_FRAME_S)

        def watch(observation: Any) -> None:
            alive()
            if video is not None:
                video(observation)

        try:
            episode = rollout(self._env, self._policy, spec, watch=watch)
        except Exception as error:  # of scene or simulator; errors of the policy are in the episode
            reason = one_line(str(error) if isinstance(error, AssayError) else error, 300)
            path = no_trajectory(self._env.world.action_size)
            return Episode(Outcome.ERROR, 0, path, error=reason, traceback=short_traceback(error))
        if videos is None or (episode.outcome is Outcome.SUCCESS and not self._config.video_successes):
            return episode
        assert video is not None
        try:
            video.write(video_file(videos, spec, episode.outcome), episode)
        except Exception as error:  # a failed video must not cost the episode
            reason = f"no video: {one_line(str(error))}"
            return replace(episode, error="; ".join(filter(None, (episode.error, reason))))
        return episode


LOADING_TIMEOUT_S = 600.0
"""Lower bound, in seconds, of the time limit for a worker to load the policy."""


@dataclass(frozen=True, slots=True, eq=False)
class Done:
    """An executed episode."""

    number: int
    episode: Episode


@dataclass(frozen=True, slots=True)
class Died:
    """Death of a worker, with the episode that it was executing, if any."""

    number: int | None
    reason: str
    killed: bool = False
    """Whether the worker was killed from outside (SIGKILL, out of memory) instead of crashing."""


Event = Done | Died | None
"""Event reported by an executor; None if time has passed without an event."""


class Executor(Protocol):
    """Executes the episodes that a scheduler hands out, until none are left."""

    workers: int
    """Number of episodes that run concurrently."""

    def execute(self, source: Scheduler, stopping: Callable[[], bool]) -> Iterator[Event]:
        """Yield events. Once ``stopping`` returns true, running episodes are finished and no more are started.

        A worker that dies is replaced, and the rest of its batch is rescheduled; the driver decides whether to
        repeat the episode that it was executing. Raises PolicyError if the policy cannot be loaded.
        """
        ...


@runtime_checkable
class Player(Protocol):
    """An external script that runs complete episodes in place of a policy."""

    @property
    def address(self) -> str:
        """Name of the player in the run."""
        ...

    def identity(self) -> dict[str, str]:
        """Return digests of the player's files, by name."""
        ...

    def executor(self, config: WorkerConfig, planned: Sequence[EpisodeSpec]) -> Executor:
        """Return the executor for the episodes; ``planned`` are all episodes of the run, including recorded ones."""
        ...


@dataclass(slots=True, eq=False)
class InProcess:
    """Executes episodes sequentially in this process, for policy objects, short runs and debugging."""

    config: WorkerConfig
    policy: Policy | None = None
    """Object to use instead of the policy at the config's address; the caller closes it."""
    workers: int = 1

    def execute(self, source: Scheduler, stopping: Callable[[], bool]) -> Iterator[Event]:
        """See `Executor`."""
        latest: str | None = None
        with closing(EpisodeRunner(self.config, self.policy)) as runner:
            while not stopping() and (batch := source.take(latest)):
                for place, (number, spec) in enumerate(batch):
                    if stopping():
                        source.give_back(number for number, _ in batch[place:])
                        return
                    latest = spec.scene_key
                    yield Done(number, runner.run(spec))


@dataclass(slots=True, eq=False)
class Worker:
    """A process that executes one episode at a time."""

    process: Any
    """Local process, or Ray actor."""
    channel: Any
    """Connection to a local process, or Ray's reference to the result of an actor's current call."""
    last_seen: float = field(default_factory=time.monotonic)
    """Monotonic time, in seconds, of the worker's last message."""
    ready: bool = False
    """Whether the worker has loaded the policy."""
    latest_scene: str | None = None
    """Key of the scene that the worker has compiled most recently."""
    batch: deque[tuple[int, EpisodeSpec]] = field(default_factory=deque)
    """Episodes reserved for the worker, in order."""
    current: int | None = None
    """Number of the episode that the worker is executing."""

    @property
    def is_idle(self) -> bool:
        """Whether the worker can start an episode."""
        return self.ready and self.current is None


class WorkerDiedError(Exception):
    """Raised when a worker has died; ``killed``: whether it was killed from outside instead of crashing."""

    def __init__(self, reason: str, *, killed: bool) -> None:
        super().__init__(reason)
        self.killed = killed


class WorkerPool(ABC):
    """Base of executors with workers: sends episodes to idle workers, and replaces those that die or stop responding.

    A worker gets one episode at a time, so that none is started after a request to stop.
    """

    def __init__(self, config: WorkerConfig, workers: int, timeout: float) -> None:
        self.workers = workers
        self._config, self._timeout = config, timeout

    def execute(self, source: Scheduler, stopping: Callable[[], bool]) -> Iterator[Event]:
        """See `Executor`."""
        workers: list[Worker] = []
        try:
            while True:
                for worker in workers:
                    if worker.is_idle:
                        self._feed(worker, source, stopping())
                busy = [worker for worker in workers if not worker.is_idle]
                if len(busy) == len(workers) < self.workers and not stopping():
                    workers.append(self._start())
                    continue
                # A worker that has not been placed or loaded yet is not waited for once nothing is left to execute.
                if all(worker.current is None for worker in workers) and (
                    stopping() or len(busy) < len(workers)
                ):
                    return
                for worker in self._wait(busy):
                    try:
                        episode = self._receive(worker)
                    except WorkerDiedError as death:
                        yield self._remove(worker, workers, source, str(death), killed=death.killed)
                        continue
                    worker.last_seen = time.monotonic()
                    if episode is not None:
                        number, worker.current = worker.current, None
                        assert number is not None
                        yield Done(number, episode)
                for worker in [worker for worker in workers if not worker.is_idle]:
                    allowed = self._timeout if worker.ready else max(self._timeout, LOADING_TIMEOUT_S)
                    if time.monotonic() - worker.last_seen > allowed:
                        reason = f"did not respond for {allowed:.0f} s"
                        yield self._remove(worker, workers, source, reason, killed=False)
                yield None
        finally:
            self._stop(workers)

    def _feed(self, worker: Worker, source: Scheduler, stopping: bool) -> None:
        if stopping:
            source.give_back([number for number, _ in worker.batch])
            worker.batch.clear()
            return
        if not worker.batch:
            worker.batch.extend(source.take(worker.latest_scene))
        if worker.batch:
            worker.current, spec = worker.batch.popleft()
            worker.latest_scene = spec.scene_key
            worker.last_seen = time.monotonic()
            self._send(worker, spec)

    def _remove(
        self, worker: Worker, workers: list[Worker], source: Scheduler, reason: str, *, killed: bool
    ) -> Died:
        workers.remove(worker)
        self._kill(worker, reason)
        source.give_back([number for number, _ in worker.batch])
        return Died(worker.current, reason, killed)

    @abstractmethod
    def _start(self) -> Worker:
        """Start a worker, which loads the policy."""

    @abstractmethod
    def _send(self, worker: Worker, spec: EpisodeSpec) -> None:
        """Let a worker execute an episode."""

    @abstractmethod
    def _wait(self, busy: list[Worker]) -> list[Worker]:
        """Wait briefly, and return the workers that have sent a message or died."""

    @abstractmethod
    def _receive(self, worker: Worker) -> Episode | None:
        """Return the episode that a worker has executed, or None for any other message.

        Sets ``ready`` once the policy is loaded. Raises WorkerDiedError, or PolicyError if the policy cannot be loaded.
        """

    @abstractmethod
    def _kill(self, worker: Worker, reason: str) -> None:
        """End a worker that died, or that does not respond."""

    @abstractmethod
    def _stop(self, workers: list[Worker]) -> None:
        """End all workers when the run ends."""
