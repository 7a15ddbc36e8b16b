"""What is left to do, handed out in batches that share a compiled scene."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable

from assay.runs.store import Waiting

LARGEST_BATCH = 8


class Todo:
    """Planned episodes by their ids, in the order given; each worker goes through one scene after the other.

    ``strictly``: in exactly the order given, whatever the scenes. ``more`` is asked for further episodes when none are
    left; what is planned may thus hang on what was played.
    """

    def __init__(
        self,
        entries: Iterable[Waiting],
        *,
        strictly: bool = False,
        more: Callable[[], Iterable[Waiting]] = tuple,
    ) -> None:
        self._scenes: OrderedDict[str, deque[int]] = OrderedDict()
        self._about: dict[int, tuple[str, str]] = {}
        self._strictly, self._more = strictly, more
        self._left = 0
        self._given: set[int] = set()
        self._add(entries)

    def _add(self, entries: Iterable[Waiting]) -> None:
        for number, _, scene, condition, *_ in entries:
            line = "" if self._strictly else scene
            self._scenes.setdefault(line, deque()).append(number)
            self._about[number] = (line, condition)
            self._left += 1

    def __len__(self) -> int:
        """How many were not yet handed out."""
        return self._left

    def take(self, workers: int, *, latest: str | None = None) -> list[int]:
        """The next batch: of the scene a worker has at hand if there is more, else of the next one in turn.

        Batches get smaller towards the end, so that nobody waits long for the last.
        """
        if not self._scenes:
            self._add(self._more())
        scene = latest if latest is not None and latest in self._scenes else next(iter(self._scenes), None)
        if scene is None:
            return []
        waiting = self._scenes[scene]
        largest = 1 if scene == "" else LARGEST_BATCH
        size = max(1, min(largest, self._left // (4 * workers), len(waiting)))
        batch = [waiting.popleft() for _ in range(size)]
        if waiting:
            self._scenes.move_to_end(scene)
        else:
            del self._scenes[scene]
        self._left -= size
        self._given.update(batch)
        return batch

    def give_back(self, batch: Iterable[int]) -> None:
        """Put episodes that were handed out and not done back to the front."""
        for number in sorted(batch, reverse=True):
            if number in self._given:
                self._given.remove(number)
                self._scenes.setdefault(self._about[number][0], deque()).appendleft(number)
                self._left += 1

    def drop(self, condition: str) -> int:
        """Forget what is left of a condition; returns how many episodes that were."""
        dropped = 0
        for scene, waiting in list(self._scenes.items()):
            kept = deque(number for number in waiting if self._about[number][1] != condition)
            dropped += len(waiting) - len(kept)
            self._scenes[scene] = kept
            if not kept:
                del self._scenes[scene]
        self._left -= dropped
        return dropped
