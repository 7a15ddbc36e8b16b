"""The runs below a folder, by name, with cached results computed from them. Read-only."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import polars as pl

from assay.episodes.spec import CONTROL
from assay.errors import AssayError, RunError
from assay.measures import Missing, attempt
from assay.measures.frames import perturbed_rows, plausible
from assay.measures.success.rates import Rate, success_rate
from assay.runs.rows import COLUMNS, FRAME, with_labels
from assay.runs.store import SUFFIX, lock_file, signature
from assay.support.files import is_locked
from assay.web.queries import NotFoundError, OpenRun, reading

T = TypeVar("T")

_RATE_COLUMNS = (
    *("id", "key", "experiment", "condition", "task", "seed", "start", "labels", "instruction", "outcome"),
)

REFRESH_FACTOR = 10.0
"""Minimum time between computations of a cached value, as a multiple of its computation time."""


@dataclass(slots=True)
class _CacheEntry(Generic[T]):
    signature: tuple[Any, ...]
    value: T
    fresh_until: float
    """Time until which the value is fresh, in seconds of the clock."""


class RunCache(Generic[T]):
    """Cache of ``compute(*paths)`` until one of the runs changes; a slow computation is repeated less often."""

    def __init__(
        self, compute: Callable[..., T], size: int = 16, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._compute, self._size, self._clock = compute, size, clock
        self._entries: dict[tuple[Path, ...], _CacheEntry[T]] = {}
        self._locks: dict[tuple[Path, ...], Lock] = {}
        self._guard = Lock()

    def __call__(self, *paths: Path) -> T:
        """Return the value for these runs."""
        with self._guard:
            lock = self._locks.setdefault(paths, Lock())
        with lock:  # of two simultaneous requests the second uses the result of the first
            now = tuple(signature(path) for path in paths)
            entry = self._entries.get(paths)
            if entry is None or (entry.signature != now and self._clock() >= entry.fresh_until):
                start = self._clock()
                value = self._compute(*paths)
                end = self._clock()
                self._entries.pop(paths, None)
                self._entries[paths] = entry = _CacheEntry(now, value, end + REFRESH_FACTOR * (end - start))
                for oldest in list(self._entries)[: -self._size]:
                    self._entries.pop(oldest, None)
            return entry.value


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of the list of runs."""

    name: str
    """Path below the folder, without the suffix."""
    link: str = ""
    """Address of the run's page; empty if the run cannot be read."""
    problem: str = ""
    """Reason why the run cannot be read."""
    running: bool = False
    meta: dict[str, Any] = field(default_factory=dict)
    planned: int = 0
    done: int = 0
    errors: int = 0
    rate: Rate | None = None
    """Success rate of perturbed episodes in which success is expected, as in the report.

    If no episode is perturbed, it is the rate of all episodes.
    """
    control: Rate | None = None
    """Success rate of unperturbed episodes."""
    perturbed: bool = False
    """Whether ``rate`` is of perturbed episodes."""


class Library:
    """The runs below one folder."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise RunError(f"{folder} is not a folder; valid: one with runs (*{SUFFIX}) in it, or below")
        self.folder = folder.resolve()
        self._summarise = RunCache(_summarise, size=10_000)

    def path(self, name: str) -> Path:
        """Return the file of a run. Raises NotFoundError unless it is a run below the folder."""
        try:
            path = (self.folder / f"{name}{SUFFIX}").resolve()
            hidden = any(part.startswith(".") for part in Path(name).parts)
            if hidden or not name or not path.is_relative_to(self.folder) or not path.is_file():
                raise NotFoundError(f"there is no run '{name[:100]}' here")
        except (OSError, ValueError):  # not a valid file name
            raise NotFoundError(f"there is no run '{name[:100]}' here") from None
        return path

    def names(self) -> list[str]:
        """Every run that has an address, sorted by name."""
        return [name for name, _ in self._files() if name.isprintable()]

    def siblings(self, name: str) -> list[str]:
        """The other runs of the same experiment."""
        experiment = self._experiment(name)
        return [other for other in self.names() if other != name and self._experiment(other) == experiment]

    def _experiment(self, name: str) -> object:
        """The experiment of a run; None if the run cannot be read."""
        try:
            return self._summarise(self.path(name)).meta.get("experiment", "")
        except (AssayError, sqlite3.Error, ValueError):
            return None

    def summaries(self) -> list[RunSummary]:
        """Every run, the latest first; unreadable ones at the end."""
        runs = [self._summary(name, path) for name, path in self._files()]
        runs.sort(key=lambda run: str(run.meta.get("started", "")), reverse=True)
        return sorted(runs, key=lambda run: bool(run.problem))

    def _files(self) -> Iterator[tuple[str, Path]]:
        for path in sorted(self.folder.rglob(f"*{SUFFIX}")):
            name = path.relative_to(self.folder)
            if not any(part.startswith(".") for part in name.parts):
                yield name.as_posix().removesuffix(SUFFIX), path

    def _summary(self, name: str, path: Path) -> RunSummary:
        text = os.fsencode(name).decode(errors="replace")
        try:
            file = self.path(name)
            if text != name:
                raise NotFoundError("its name is not UTF-8")
            summary = self._summarise(file)
        except NotFoundError as error:
            if path.is_symlink():
                return RunSummary(text, problem="a link to a file outside the folder")
            return RunSummary(text, problem="a folder" if path.is_dir() else str(error))
        except (AssayError, sqlite3.Error, ValueError) as error:
            return RunSummary(text, problem=str(error).removeprefix(f"{path}: ").removeprefix(f"{file}: "))
        return replace(summary, name=name, link=run_address(name), running=is_running(file))


def _summarise(path: Path) -> RunSummary:
    with reading(path) as run:
        rows, counts, meta = read_rate_frame(run), run.store.counts(), run.store.meta
    perturbed = perturbed_rows(plausible(rows))
    rate = attempt(success_rate, perturbed if len(perturbed) else rows)
    control = attempt(success_rate, rows.filter(pl.col("condition") == CONTROL))
    planned, done, errors = (int(counts[name].sum()) for name in ("planned", "done", "error"))
    return RunSummary(
        name=path.stem,
        meta=meta,
        planned=planned,
        done=done,
        errors=errors,
        rate=None if isinstance(rate, Missing) else rate,
        control=None if isinstance(control, Missing) else control,
        perturbed=len(perturbed) > 0,
    )


def read_rate_frame(run: OpenRun) -> pl.DataFrame:
    """A run's episodes with only the columns that success rates need; the report's frame takes much longer to read."""
    rows = run.rows(f"SELECT {', '.join(_RATE_COLUMNS)} FROM ({FRAME})")
    frame = pl.DataFrame(rows, schema={name: COLUMNS[name] for name in _RATE_COLUMNS}, orient="row")
    return with_labels(frame).drop(*run.store.world.start_columns, strict=False)


def run_address(name: str) -> str:
    """The address of a run's page."""
    return f"/runs/{quote(name)}{SUFFIX}"


def is_running(path: Path) -> bool:
    """Whether a driver is writing a run at this moment."""
    return is_locked(lock_file(path))
