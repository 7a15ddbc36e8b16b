"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import FileError


@contextmanager
def replacing(path: Path, *, suffix: str = ".part") -> Iterator[Path]:
    """A place to write to, beside a path; what is there in the end takes the path's place.

    ``suffix`` ends its name, which is this process's own and hidden. Raises FileError at once where nothing
    can be written, before any work is done for it.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}{suffix}")
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(b"")
    except OSError as error:
        raise FileError(f"{path} cannot be written: {_reason(error)}") from None
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def making(folder: Path, *, ours: Collection[str]) -> Iterator[Path]:
    """A new folder, ``FOLDER.part`` until it is whole. Raises FileError where there is something already.

    What a process that was killed has left is taken away, if all of it is called as one of ``ours``.
    """
    unfinished = folder.with_name(f"{folder.name}.part")
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise FileError(f"{folder} is not empty; name another folder")
        if unfinished.exists():
            if {each.name for each in unfinished.iterdir()} - set(ours):
                raise FileError(f"{unfinished} is in the way, and not of an earlier build")
            shutil.rmtree(unfinished)
        unfinished.mkdir(parents=True)
    except OSError as error:
        raise FileError(f"{folder} cannot be written: {_reason(error)}") from None
    try:
        yield unfinished
        if folder.is_dir():
            folder.rmdir()
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
