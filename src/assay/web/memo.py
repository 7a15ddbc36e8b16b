"""What was found out about runs, kept until they change."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from assay.runs.store import signature

T = TypeVar("T")

PATIENCE = 10.0
"""What took t seconds to find out is not asked again for this many times t, however fast a run grows."""


@dataclass(slots=True)
class _Entry(Generic[T]):
    signature: tuple[Any, ...]
    value: T
    until: float
    """Seconds of the clock until which it will do, whatever happened to the run."""


class Memo(Generic[T]):
    """Remembers what ``make`` gives; asks it again when a run has changed, but not all the time."""

    def __init__(
        self, make: Callable[..., T], most: int = 16, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._make = make
        self._most = most
        self._clock = clock
        self._kept: dict[tuple[Path, ...], _Entry[T]] = {}
        self._locks: dict[tuple[Path, ...], Lock] = {}
        self._guard = Lock()

    def __call__(self, *paths: Path) -> T:
        """What is to be known about these runs."""
        with self._guard:
            lock = self._locks.setdefault(paths, Lock())
        with lock:  # one after the other: the second to ask finds it made
            now = tuple(signature(path) for path in paths)
            kept = self._kept.get(paths)
            if kept is None or (kept.signature != now and self._clock() >= kept.until):
                begun = self._clock()
                value = self._make(*paths)
                ended = self._clock()
                self._kept.pop(paths, None)
                self._kept[paths] = kept = _Entry(now, value, ended + PATIENCE * (ended - begun))
                for oldest in list(self._kept)[: -self._most]:
                    self._kept.pop(oldest, None)
            return kept.value
