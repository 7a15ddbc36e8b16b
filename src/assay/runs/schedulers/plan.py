"""Base of all schedulers: planned episodes, start by start or in a given order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

from assay.episodes import Episode, EpisodeSpec
from assay.runs.store import PlannedEpisode, Store

MAX_BATCH = 8
STARTS_PER_BLOCK = 5
"""Number of starts of a task that are executed together, scene by scene.

Each compiled scene serves several episodes, and an interrupted run has incomplete pairs only in the last block.
"""

Batch = Sequence[tuple[int, EpisodeSpec]]
"""Specs that share a compiled scene, with their numbers in the store."""


class Scheduler:
    """Hands out a run's planned episodes to an executor, and records their results.

    Episodes are scheduled block by block and, within a block, scene by scene. A block holds a few starts of a
    task, or a single episode if the order matters (``in_order``).
    """

    def __init__(self, store: Store, entries: Iterable[PlannedEpisode], *, in_order: bool = False) -> None:
        self.workers = 1
        """Number of episodes that run concurrently."""
        self._store, self._in_order = store, in_order
        self._entries: dict[int, tuple[int, PlannedEpisode]] = {}
        """Index of the block, and the episode itself, by the episode's number."""
        self._blocks: list[list[int]] = []
        """Numbers of the waiting episodes of each block."""
        self._pending: list[int] = []
        """Heap of blocks that have waiting episodes."""
        self._running: dict[int, EpisodeSpec] = {}
        self._dropped: set[str] = set()
        self.left = 0
        """Number of episodes that have not been handed out yet."""
        self.add(entries)

    def add(self, entries: Iterable[PlannedEpisode]) -> None:
        """Append episodes to the schedule."""
        entries = list(entries)
        tasks: dict[str, dict[int, int]] = {}  # task -> seed -> position of the start within the task
        for entry in entries:
            starts = tasks.setdefault(entry.task, {})
            starts.setdefault(entry.seed, len(starts))
        if not self._in_order:  # stable: within a start, the order of the plan, which has the control first
            order = {task: place for place, task in enumerate(tasks)}
            entries.sort(key=lambda entry: (order[entry.task], tasks[entry.task][entry.seed]))
        latest: tuple[str, int] | None = None
        for entry in entries:
            block = (entry.task, tasks[entry.task][entry.seed] // STARTS_PER_BLOCK)
            if self._in_order or block != latest:
                latest = block
                heappush(self._pending, len(self._blocks))
                self._blocks.append([])
            self._blocks[-1].append(entry.number)
            self._entries[entry.number] = (len(self._blocks) - 1, entry)
        self.left += len(entries)

    def take(self, latest: str | None = None) -> Batch:
        """Return the next episodes, preferably in ``latest``, the worker's compiled scene; empty if none is ready.

        Batches get smaller towards the end, so that workers finish at about the same time.
        """
        while self._pending and not self._blocks[self._pending[0]]:  # finished, or of dropped conditions
            heappop(self._pending)
        if not self._pending:
            return []
        block = self._blocks[self._pending[0]]
        scenes = {number: self._entries[number][1].scene for number in block}
        scene = latest if latest in scenes.values() else scenes[block[0]]
        same = [number for number in block if scenes[number] == scene]
        size = max(1, min(MAX_BATCH, self.left // (4 * self.workers), len(same)))
        numbers = same[:size]
        # The rest of the scene comes last, so that the next worker starts with another one.
        block[:] = [number for number in block if scenes[number] != scene] + same[size:]
        self.left -= size
        batch = list(zip(numbers, self._store.specs(numbers), strict=True))
        self._running.update(batch)
        return batch

    def give_back(self, numbers: Iterable[int]) -> None:
        """Take back episodes that were handed out but not executed."""
        for number in sorted(numbers, reverse=True):
            block, entry = self._entries[number]
            if self._running.pop(number, None) is not None and entry.condition not in self._dropped:
                self._blocks[block].insert(0, number)
                heappush(self._pending, block)
                self.left += 1

    def drop(self, condition: str) -> None:
        """Remove the remaining episodes of a condition."""
        if condition not in self._dropped:
            self._dropped.add(condition)
            for block in self._blocks:
                block[:] = [number for number in block if self._entries[number][1].condition != condition]
            self.left = sum(map(len, self._blocks))

    def record(self, number: int, episode: Episode) -> EpisodeSpec:
        """Store an executed episode and return its spec."""
        self._store.append(number, episode)
        return self._running.pop(number)
