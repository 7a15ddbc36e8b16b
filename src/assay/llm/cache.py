"""Answers on disk, by a hash of what was asked: what was paid for is kept, also when the run is killed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from assay.files import KeyValues
from assay.llm.errors import LLMError


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
            self._replies = KeyValues(file, "replies", ("key",), ("text", "cut_off"))
        except (sqlite3.Error, OSError) as error:
            raise LLMError(f"{file}: is no cache of answers ({error}); delete it, or name another") from None

    def get(self, request: Mapping[str, object]) -> Reply | None:
        """The answer to a request, if it is there."""
        with self._used():
            row = self._replies.get(key_of(request))
        return None if row is None else Reply(row[0], bool(row[1]))

    def put(self, request: Mapping[str, object], reply: Reply) -> None:
        """Keep an answer."""
        with self._used():
            self._replies.put(key_of(request), *reply)

    def close(self) -> None:
        """Give the file back."""
        self._replies.close()

    @contextmanager
    def _used(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise LLMError(f"{self._file}: the cache of answers cannot be used: {error}") from None


def key_of(request: Mapping[str, object]) -> str:
    """64 hex digits that stand for a request."""
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
