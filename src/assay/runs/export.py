"""A run's episodes as a table that anything reads."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Literal

from assay.runs.store import Store
from assay.support.files import replacing

Format = Literal["parquet", "csv", "json"]


def export(store: Store, path: Path, form: Format) -> int:
    """Write the episodes to a file: one row, or one JSON object in an array, each. Returns how many."""
    with replacing(path) as unfinished:
        count, content = written(store, form)
        unfinished.write_bytes(content)
    return count


def written(store: Store, form: Format) -> tuple[int, bytes]:
    """How many episodes there are, and the table of them as a file's content."""
    frame = store.frame().drop("id")
    file = BytesIO()
    if form == "parquet":
        frame.write_parquet(file)
    elif form == "csv":
        frame.write_csv(file)
    else:
        frame.write_json(file)
    return len(frame), file.getvalue()
