"""Intermediate results of a build, from which an interrupted build is resumed."""

from __future__ import annotations

import hashlib
import io
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from assay.extensions.eqa.question import QuestionError
from assay.support.archives import read_npz
from assay.support.files import KeyValues

Arrays = dict[str, np.ndarray]


class Progress:
    """Arrays in a file, by key; results stored with other ``settings`` are not found."""

    def __init__(self, file: Path, settings: object) -> None:
        self._file, self._settings = file, settings
        with self._naming_the_file():
            self._results = KeyValues(file, "results", ("key",), ("content",), wal=False)

    def recall(self, key: object, compute: Callable[[], Arrays | None]) -> Arrays | None:
        """Return the stored result for a key, or compute a result and store it unless it is None."""
        digest = hashlib.sha256(repr((self._settings, key)).encode()).hexdigest()
        with self._naming_the_file():
            row = self._results.get(digest)
            if row is not None:
                return read_npz(io.BytesIO(row[0]))
        arrays = compute()
        if arrays is not None:
            content, values = io.BytesIO(), dict[str, Any](arrays)
            np.savez(content, **values)
            with self._naming_the_file():
                self._results.put(digest, content.getvalue())
        return arrays

    def close(self) -> None:
        """Close the file."""
        self._results.close()

    @contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError, TypeError) as error:
            raise QuestionError(
                f"{self._file} cannot be used: {error}; delete {self._file.parent} to start over"
            ) from None
