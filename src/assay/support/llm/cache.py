"""Answers on disk, by a hash of what was asked: what was paid for is kept, also when the run is killed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from assay.support.files import KeyValues
from assay.support.llm.errors import LLMError


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered."""

    text: str
    cut_off: bool
    """Whether it was longer than it may be, so that the last line is not whole."""
    thoughts: str = ""
    """What it thought, where the endpoint shows that apart from the answer."""
    blocked: str = ""
    """Why the model, or who watches over it, would not answer; empty where it did."""
    sent: int | None = field(default=None, compare=False)
    """Tokens, as the endpoint counted them; None where it did not."""
    received: int | None = field(default=None, compare=False)
    at: str = field(default="", compare=False)
    """When it was answered, ISO 8601; empty where that was not kept."""


class Cache:
    """Answers in one SQLite file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            self._replies = KeyValues(file, "replies", ("key",), ("text", "cut_off"))
            self._about = KeyValues(file, "about", ("key",), ("told",))
        except (sqlite3.Error, OSError) as error:
            raise LLMError(f"{file}: is no cache of answers ({error}); delete it, or name another") from None

    def get(self, request: Mapping[str, object]) -> Reply | None:
        """The answer to a request, if it is there."""
        with self._used():
            key = key_of(request)
            row, about = self._replies.get(key), self._about.get(key)
        if row is None:
            return None
        return Reply(row[0], bool(row[1]), **(json.loads(about[0]) if about else {}))

    def put(self, request: Mapping[str, object], reply: Reply) -> None:
        """Keep an answer."""
        with self._used():
            key, about = key_of(request), asdict(reply)
            row = about.pop("text"), about.pop("cut_off")
            self._about.put(key, json.dumps(about, ensure_ascii=False))
            self._replies.put(key, *row)

    def close(self) -> None:
        """Give the file back."""
        self._replies.close()
        self._about.close()

    @contextmanager
    def _used(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise LLMError(f"{self._file}: the cache of answers cannot be used: {error}") from None


def key_of(request: Mapping[str, object]) -> str:
    """64 hex digits that stand for a request."""
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
