"""Players whose outcomes are known beforehand: nothing is simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from assay.episodes import EpisodeSpec, Outcome
from assay.episodes.episode import Episode, Trajectory
from assay.runs.execute import Observer
from assay.runs.executor import Done, Event, Executor, WorkerConfig
from assay.runs.schedulers.plan import Scheduler

STILL = Trajectory(*(np.zeros(shape, np.float32) for shape in ((2, 3), (2,), (1, 7))))
"""One step without motion."""


class Played:
    """Performs episodes by a rule, and records their order; several workers finish in reverse order."""

    def __init__(
        self, rule: Callable[[EpisodeSpec], Outcome | bool], workers: int = 1, address: str = "played"
    ) -> None:
        self._rule, self.workers, self.address = rule, workers, address
        self.seen: list[EpisodeSpec] = []

    def identity(self) -> dict[str, str]:
        return {}

    def executor(self, config: WorkerConfig, planned: Sequence[EpisodeSpec]) -> Executor:
        return self

    def execute(self, source: Scheduler, stopping: Callable[[], bool]) -> Iterator[Event]:
        while not stopping():
            batch = [item for _ in range(self.workers) for item in source.take(None)]
            if not batch:
                return
            for number, spec in batch if self.workers == 1 else reversed(batch):
                self.seen.append(spec)
                outcome = self._rule(spec)
                if isinstance(outcome, bool):
                    outcome = Outcome.SUCCESS if outcome else Outcome.FAILURE
                yield Done(number, Episode(outcome, 1, STILL, "do it"))


class StopsAfter(Observer):
    """Stops after a number of episodes."""

    def __init__(self, episodes: int) -> None:
        self._left = episodes

    def episode(self, spec: EpisodeSpec | None, episode: Episode | None) -> None:
        self._left -= spec is not None

    def stopping(self) -> bool:
        return self._left <= 0
