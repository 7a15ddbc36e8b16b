"""Interface between the driver and the executors of episodes, and the simplest executor, which uses this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from assay.episodes import Episode, EpisodeSpec, Policy
from assay.runs.schedulers.plan import Scheduler
from assay.runs.worker import EpisodeRunner, WorkerConfig


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
    violent: bool = False
    """Whether the worker was killed from outside (SIGKILL, out of memory) instead of crashing."""


Event = Done | Died | None
"""Event reported by an executor; None if time has passed without an event."""


class Executor(Protocol):
    """Executes the episodes that a scheduler hands out, until none are left."""

    workers: int
    """Number of episodes that run concurrently."""

    def execute(self, source: Scheduler, stopping: Callable[[], bool]) -> Iterator[Event]:
        """Yield events. Once ``stopping`` returns true, running episodes are finished and no more are started.

        A worker that dies returns its batch and is replaced. The episode that it was executing is not returned; the
        driver decides whether to repeat it. Raises PolicyError if the policy cannot be loaded.
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


class InProcess:
    """Executes episodes sequentially in this process, for policy objects, short runs and debugging."""

    workers = 1

    def __init__(self, config: WorkerConfig, policy: Policy | None = None) -> None:
        """``policy``: an object to use instead of the policy at the config's address; the caller closes it."""
        self._config, self._policy = config, policy

    def execute(self, source: Scheduler, stopping: Callable[[], bool]) -> Iterator[Event]:
        """See `Executor`."""
        runner = EpisodeRunner(self._config, self._policy)
        latest: str | None = None
        try:
            while not stopping() and (batch := source.take(latest)):
                numbers = [number for number, _ in batch]
                for number, spec in batch:
                    if stopping():
                        source.give_back(numbers)
                        return
                    latest = spec.scene_key
                    numbers.remove(number)
                    yield Done(number, runner.run(spec))
        finally:
            runner.close()
