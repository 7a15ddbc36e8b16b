"""An open run, read-only: a driver that writes it is not disturbed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import AssayError
from assay.runs.store import Store, read_connection


class NotFoundError(AssayError):
    """There is nothing of that name."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What a page reads: a run's store, and a connection for questions the store does not answer."""

    store: Store
    _db: sqlite3.Connection

    def rows(self, question: str, values: Mapping[str, object] | None = None) -> list[tuple[Any, ...]]:
        """What a query gives; all of it, so that nothing stays open."""
        return self._db.execute(question, values or {}).fetchall()

    def beside(self, path: Path) -> None:
        """Make another run's tables known as ``other.specs`` and so on."""
        self._db.execute("ATTACH ? AS other", (_address(path),))


@contextmanager
def reading(path: Path) -> Iterator[Run]:
    """Open a run for as long as one page needs it. Raises RunError, or sqlite3's errors, where it is none."""
    with Store.reading(path) as store, closing(read_connection(path, timeout=10)) as db:
        yield Run(store, db)


def signature(path: Path) -> tuple[int, ...]:
    """Changes whenever something is written to a run."""
    found: list[int] = []
    for file in (path, path.with_name(f"{path.name}-wal")):
        try:
            about = file.stat()
        except FileNotFoundError:
            continue
        found += [about.st_ino, about.st_size, about.st_mtime_ns]
    return tuple(found)


def _address(path: Path) -> str:
    return f"{path.absolute().as_uri()}?mode=ro"
