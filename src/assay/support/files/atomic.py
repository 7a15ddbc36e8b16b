"""Files and folders that are written whole or not at all.

What is not whole yet has the machine and the process in its name: whoever comes next takes away what a process left
that was killed.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.errors import FileError

DATABASE = b"SQLite format 3\0"
"""How runs and caches begin."""


@contextmanager
def replacing(path: Path, *, suffix: str = ".part", database: bool = False) -> Iterator[Path]:
    """A place to write to, beside a path; what is there in the end takes the path's place.

    ``suffix`` ends its name, which is this process's own and hidden. What a link points to is replaced, not the link;
    a device or a pipe is written to. Raises FileError at once where nothing can be written, before any work is done
    for it; and where a run would be lost, unless what is written is a ``database`` itself.
    """
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    ours = f".{path.name}."
    unfinished = path.with_name(f"{ours}{_whose()}{suffix}")
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "is a folder")
        if path.exists() and not path.is_file():
            with scratch_folder() as folder:
                yield Path(folder, unfinished.name)
                path.write_bytes(Path(folder, unfinished.name).read_bytes())
            return
        if not database and _begins(path, DATABASE):
            raise FileError(f"{path} cannot be written: it is a run, or another database; name another file")
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent, ours)
        unfinished.write_bytes(b"")
    except OSError as error:
        raise FileError(f"{path} cannot be written: {_reason(error)}") from None
    try:
        yield unfinished
        with suppress(FileNotFoundError):
            shutil.copymode(path, unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _begins(path: Path, content: bytes) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(content)) == content


def check_writable(path: Path, *, folder: bool = False) -> None:
    """Raise FileError now where a file, or a folder, cannot be written later; makes nothing."""
    whole = path.absolute()
    try:
        exists = whole.exists()
        if exists and whole.is_dir() != folder:
            raise FileError(f"{path} cannot be written: it is a {'file' if folder else 'folder'}")
        needed = [whole] if exists else []
        if whole.is_file() or not exists:  # what replaces a file is first written beside it
            needed.append(next(parent for parent in whole.parents if parent.exists()))
        for each in needed:
            if not os.access(each, os.W_OK) or not (each.is_dir() or each == whole):
                raise FileError(f"{path} cannot be written: {each} is nothing that one may write to")
            if each.is_dir():
                tempfile.TemporaryFile(
                    dir=each
                ).close()  # rights are not all: there are folders without files
    except OSError as error:
        raise FileError(f"{path} cannot be written: {_reason(error)}") from None


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


def scratch_folder(folder: Path | None = None, prefix: str = "assay-") -> tempfile.TemporaryDirectory[str]:
    """A folder for as long as it is needed, in the system's place for such, or in ``folder``."""
    place = Path(tempfile.gettempdir()) if folder is None else folder
    _sweep(place, prefix)
    return tempfile.TemporaryDirectory(prefix=f"{prefix}{_whose()}-", dir=place, ignore_cleanup_errors=True)


def _whose() -> str:
    """This machine and this process, as part of a file's name."""
    return f"{_machine()}-{os.getpid()}"


def _machine() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _sweep(folder: Path, prefix: str) -> None:
    """Take away what processes of this machine left in a folder under names that begin so, and are no more."""
    named = re.compile(rf"{re.escape(prefix)}{_machine()}-(\d+)\b")
    with suppress(OSError):
        for each in folder.iterdir():
            if (found := named.match(each.name)) and not _lives(int(found[1])):
                if each.is_dir() and not each.is_symlink():
                    shutil.rmtree(each, ignore_errors=True)
                else:
                    each.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
