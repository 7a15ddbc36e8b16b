"""Files that are written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import PerturbationError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A place to write to, beside a path; what is there in the end takes the path's place.

    Raises PerturbationError at once where nothing can be written, before any work is done for it.
    """
    unfinished = path.with_name(f".{path.name}.part")
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.touch()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise PerturbationError(f"{path} cannot be written: {reason}") from None
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
