"""Answers on disk, by a hash of what was asked: what was paid for is kept, also when the run is killed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from assay.llm.errors import LLMError

_TABLE = (
    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, text TEXT NOT NULL, cut_off INTEGER NOT NULL)"
)


class Reply(NamedTuple):
    """What a model answered."""

    text: str
    cut_off: bool
    """Whether it was longer than it may be, so that the last line is not whole."""


class Cache:
    """Answers in one SQLite file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(file, timeout=30.0, isolation_level=None)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute(_TABLE)
        except (sqlite3.Error, OSError) as error:
            raise LLMError(f"{file}: is no cache of answers ({error}); delete it, or name another") from None

    def get(self, request: Mapping[str, object]) -> Reply | None:
        """The answer to a request, if it is there."""
        row = self._execute("SELECT text, cut_off FROM replies WHERE key = ?", (key_of(request),)).fetchone()
        return None if row is None else Reply(row[0], bool(row[1]))

    def put(self, request: Mapping[str, object], reply: Reply) -> None:
        """Keep an answer."""
        self._execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?)", (key_of(request), *reply))

    def close(self) -> None:
        """Give the file back."""
        self._database.close()

    def _execute(self, statement: str, values: tuple[object, ...]) -> sqlite3.Cursor:
        try:
            return self._database.execute(statement, values)
        except sqlite3.Error as error:
            raise LLMError(f"{self._file}: the cache of answers cannot be used: {error}") from None


def key_of(request: Mapping[str, object]) -> str:
    """64 hex digits that stand for a request."""
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
