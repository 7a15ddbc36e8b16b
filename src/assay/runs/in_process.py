"""This very process: for a policy that is an object, for few episodes, and for debugging."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from assay.episodes import Policy
from assay.runs.executor import Done, Event, Source
from assay.runs.worker import EpisodeRunner, WorkerConfig


class InProcess:
    """Executes one episode after the other, here."""

    workers = 1

    def __init__(self, config: WorkerConfig, policy: Policy | None = None) -> None:
        """``policy``: an object, in place of the one at the config's address; it stays open."""
        self._config, self._policy = config, policy

    def execute(self, source: Source, stopping: Callable[[], bool]) -> Iterator[Event]:
        """See Executor."""
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
            runner.close(policy=self._policy is None)
