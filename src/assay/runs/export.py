"""A run's episodes as a table that anything reads."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from assay.runs.store import Store

Format = Literal["parquet", "csv", "json"]


def export(store: Store, path: Path, form: Format) -> int:
    """Write the episodes to a file: one row, or one JSON object in an array, each. Returns how many."""
    frame = store.frame().drop("id")
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.part")
    if form == "parquet":
        frame.write_parquet(unfinished)
    elif form == "csv":
        frame.write_csv(unfinished)
    else:
        frame.write_json(unfinished)
    unfinished.replace(path)
    return len(frame)
