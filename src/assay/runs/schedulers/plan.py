"""The interface of schedulers, and two simple ones: a plan start by start, and a plan in a given order."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Protocol

from assay.episodes import Episode, EpisodeSpec
from assay.runs.store import Waiting

MAX_BATCH = 8
STARTS_PER_BLOCK = 5
"""Starts of a task that are executed together, scene by scene: each compiled scene serves several episodes, and an
interrupted run lacks pairs only of the last block."""


class Scheduler(Protocol):
    """Decides which episodes a worker executes next."""

    def __len__(self) -> int:
        """Number of episodes that are known to be left."""
        ...

    def next(self, workers: int, latest: str | None = None) -> list[int]:
        """The next episodes, preferably of the scene ``latest`` that a worker has compiled; empty for none now."""
        ...

    def put_back(self, numbers: Iterable[int]) -> None:
        """Return episodes that were handed out and not executed."""
        ...

    def see(self, spec: EpisodeSpec, episode: Episode) -> None:
        """Update with a recorded episode."""
        ...


class PlanScheduler:
    """Planned episodes, start by start: blocks of starts of a task, and within a block one scene after the other."""

    def __init__(self, entries: Iterable[Waiting]) -> None:
        self._blocks: dict[int, OrderedDict[str, deque[int]]] = {}
        self._places: dict[int, tuple[int, str]] = {}
        self._handed_out: set[int] = set()
        self._left = 0
        self._next_block = 0
        self.add(entries)

    def add(self, entries: Iterable[Waiting]) -> None:
        """Append episodes."""
        entries = list(entries)
        tasks: dict[str, dict[int, int]] = {}  # task -> seed -> position of the start within the task
        for entry in entries:
            starts = tasks.setdefault(entry.task, {})
            starts.setdefault(entry.seed, len(starts))
        first_blocks: dict[str, int] = {}
        for task, starts in tasks.items():
            first_blocks[task] = self._next_block
            self._next_block += 1 + len(starts) // STARTS_PER_BLOCK
        # Stable: within a start, the order of the plan, which has the control first.
        for entry in sorted(entries, key=lambda entry: tasks[entry.task][entry.seed]):
            number = first_blocks[entry.task] + tasks[entry.task][entry.seed] // STARTS_PER_BLOCK
            self._places[entry.number] = (number, entry.scene)
            self._blocks.setdefault(number, OrderedDict()).setdefault(entry.scene, deque()).append(
                entry.number
            )
        self._left += len(entries)

    def __len__(self) -> int:
        return self._left

    def next(self, workers: int, latest: str | None = None) -> list[int]:
        """See `Scheduler`. Batches get smaller towards the end, so that workers finish at about the same time."""
        if not self._blocks:
            return []
        block = self._blocks[first := min(self._blocks)]
        scene = latest if latest is not None and latest in block else next(iter(block))
        waiting = block[scene]
        size = max(1, min(MAX_BATCH, self._left // (4 * workers), len(waiting)))
        batch = [waiting.popleft() for _ in range(size)]
        if waiting:
            block.move_to_end(scene)
        else:
            del block[scene]
        if not block:
            del self._blocks[first]
        self._left -= size
        self._handed_out.update(batch)
        return batch

    def put_back(self, numbers: Iterable[int]) -> None:
        """See `Scheduler`."""
        for number in sorted(numbers, reverse=True):
            if number in self._handed_out:
                self._handed_out.remove(number)
                block, scene = self._places[number]
                self._blocks.setdefault(block, OrderedDict()).setdefault(scene, deque()).appendleft(number)
                self._left += 1

    def see(self, spec: EpisodeSpec, episode: Episode) -> None:
        """Do nothing: the order does not depend on outcomes."""


class OrderedScheduler:
    """Planned episodes in exactly the given order, one at a time; conditions can be dropped."""

    def __init__(self, entries: Iterable[Waiting]) -> None:
        self._waiting: deque[int] = deque()
        self._conditions: dict[int, str] = {}
        for entry in entries:
            self._waiting.append(entry.number)
            self._conditions[entry.number] = entry.condition
        self._handed_out: set[int] = set()

    def __len__(self) -> int:
        return len(self._waiting)

    def next(self, workers: int, latest: str | None = None) -> list[int]:
        """See `Scheduler`."""
        batch = [self._waiting.popleft()] if self._waiting else []
        self._handed_out.update(batch)
        return batch

    def put_back(self, numbers: Iterable[int]) -> None:
        """See `Scheduler`."""
        for number in sorted(numbers, reverse=True):
            if number in self._handed_out:
                self._handed_out.remove(number)
                self._waiting.appendleft(number)

    def drop(self, condition: str) -> None:
        """Remove the remaining episodes of a condition."""
        self._waiting = deque(number for number in self._waiting if self._conditions[number] != condition)

    def see(self, spec: EpisodeSpec, episode: Episode) -> None:
        """Do nothing: the order does not depend on outcomes."""
