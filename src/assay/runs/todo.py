"""What is left to do, handed out in batches that share a compiled scene."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable

from assay.runs.store import Waiting

LARGEST_BATCH = 8


class Todo:
    """Planned episodes by their ids, in the order given; each worker goes through one scene after the other.

    ``strictly``: in exactly the order given, whatever the scenes.
    """

    def __init__(self, entries: Iterable[Waiting], *, strictly: bool = False) -> None:
        self._scenes: OrderedDict[str, deque[int]] = OrderedDict()
        self._about: dict[int, tuple[str, str]] = {}
        for number, _, scene, condition in entries:
            line = "" if strictly else scene
            self._scenes.setdefault(line, deque()).append(number)
            self._about[number] = (line, condition)
        self._busy: dict[str, int] = dict.fromkeys(self._scenes, 0)
        self._given: set[int] = set()

    def __len__(self) -> int:
        """How many were not yet handed out."""
        return sum(map(len, self._scenes.values()))

    def take(self, workers: int, *, latest: str | None = None) -> list[int]:
        """The next batch: of the scene a worker has at hand if there is more, else of the least busy one.

        Batches get smaller towards the end, so that nobody waits long for the last.
        """
        scene = latest if latest is not None and self._scenes.get(latest) else self._quietest()
        if scene is None:
            return []
        waiting = self._scenes[scene]
        largest = 1 if scene == "" else LARGEST_BATCH
        size = max(1, min(largest, len(self) // (4 * workers), len(waiting)))
        batch = [waiting.popleft() for _ in range(size)]
        self._busy[scene] += 1
        self._given.update(batch)
        return batch

    def give_back(self, batch: Iterable[int]) -> None:
        """Put episodes that were handed out and not done back to the front."""
        for number in sorted(batch, reverse=True):
            if number in self._given:
                self._given.remove(number)
                self._scenes[self._about[number][0]].appendleft(number)

    def drop(self, condition: str) -> int:
        """Forget what is left of a condition; returns how many episodes that were."""
        dropped = 0
        for scene, waiting in self._scenes.items():
            kept = deque(number for number in waiting if self._about[number][1] != condition)
            dropped += len(waiting) - len(kept)
            self._scenes[scene] = kept
        return dropped

    def _quietest(self) -> str | None:
        waiting = [scene for scene, numbers in self._scenes.items() if numbers]
        return min(waiting, key=lambda scene: self._busy[scene], default=None)
