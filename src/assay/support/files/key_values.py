"""Rows by key in one SQLite file; several processes may read and write it at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


class KeyValues:
    """A table of some columns that are the key and others that are the value; made if it is not there.

    With ``wal``, a write-ahead log, readers do not wait for a writer; without it, a file that nobody here may
    write can still be read. Raises OSError or sqlite3.Error, here and later, where the file cannot be used or
    is something else.
    """

    def __init__(
        self, file: Path, table: str, key: Sequence[str], values: Sequence[str], *, wal: bool = True
    ) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(file, timeout=30.0, isolation_level=None)
        columns, found = ", ".join((*key, *values)), " AND ".join(f"{name} = ?" for name in key)
        marks = ", ".join("?" * (len(key) + len(values)))
        self._select = f"SELECT {', '.join(values)} FROM {table} WHERE {found}"
        self._insert = f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({marks})"
        try:
            if wal:
                self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute(
                f"CREATE TABLE IF NOT EXISTS {table} ({columns}, PRIMARY KEY ({', '.join(key)}))"
            )
        except sqlite3.Error:
            self.close()
            raise

    def get(self, *key: str) -> tuple[Any, ...] | None:
        """The values of a key, if it is there."""
        row: tuple[Any, ...] | None = self._database.execute(self._select, key).fetchone()
        return row

    def put(self, *row: object) -> None:
        """Keep a row: a key and its values."""
        self._database.execute(self._insert, row)

    def put_all(self, rows: Iterable[Sequence[object]]) -> None:
        """Keep several rows, all or none."""
        with self._database:
            self._database.execute("BEGIN")
            self._database.executemany(self._insert, rows)

    def close(self) -> None:
        """Give the file back."""
        self._database.close()
