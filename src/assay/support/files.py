"""User folders, atomic writes, digests, locks, a key-value table, and downloads of wheels.

The names of incomplete files contain the machine and the process, so that a later process can remove those left by a
killed one. A killed process may also leave a lock file behind, but the existence of the file does not mean that
the lock is held.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import platformdirs
from filelock import FileLock, Timeout, lock_descriptor

from assay.errors import AssayError, FileError, RunError

CACHE_VARIABLE = "ASSAY_CACHE"
_NAME = "assay"
_MACHINE = f"{zlib.crc32(platform.node().encode()):08x}"
"""Identifier of this machine in the names of incomplete files."""


def cache_folder() -> Path:
    """Return the folder for files that can be regenerated: ``ASSAY_CACHE`` or one in the user's cache folder."""
    return Path(os.environ.get(CACHE_VARIABLE) or platformdirs.user_cache_path(_NAME, appauthor=False))


def config_folder() -> Path:
    """Return the folder for user settings."""
    return platformdirs.user_config_path(_NAME, appauthor=False)


def data_folder() -> Path:
    """Return the folder for downloaded files."""
    return platformdirs.user_data_path(_NAME, appauthor=False)


FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Error numbers of a full disk, or of the limit of a user or a process."""


@contextmanager
def naming_full_disk(path: Path) -> Iterator[None]:
    """Context manager that raises a full disk as FileError with ``path``; the system's error names no file."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise FileError(f"{path} cannot be written: {_reason(error)}") from None


SCRATCH = "assay-"
"""Start of the names of temporary folders."""
DATABASE = b"SQLite format 3\0"
"""First bytes of runs and caches, which are SQLite files."""


@contextmanager
def replacing(path: Path, *, suffix: str = ".part", database: bool = False) -> Iterator[Path]:
    """Context manager that yields a temporary path next to ``path``.

    On exit the file written there replaces ``path``. The temporary name is hidden, unique to this process and ends in
    ``suffix``. If ``path`` is a symbolic link, its target is replaced; devices and pipes are written directly. Raises
    FileError at once, before any work is done, if the path is not writable, or if a run would be overwritten and the
    new file is not itself a ``database``.
    """
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    ours = f".{path.name}."
    unfinished = path.with_name(f"{ours}{_MACHINE}-{os.getpid()}{suffix}")
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "is a folder")
        if path.exists() and not path.is_file():
            with scratch_folder() as folder:
                yield Path(folder, unfinished.name)
                path.write_bytes(Path(folder, unfinished.name).read_bytes())
            return
        if not database and path.is_file():
            with path.open("rb") as file:
                if file.read(len(DATABASE)) == DATABASE:
                    raise FileError(f"{path} cannot be overwritten: it is a run or another database")
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(path.parent, ours)
        unfinished.write_bytes(b"")
    except OSError as error:
        raise FileError(f"{path} cannot be written: {_reason(error)}") from None
    try:
        with naming_full_disk(path):
            yield unfinished
        with suppress(FileNotFoundError):
            shutil.copymode(path, unfinished)
        unfinished.replace(path)
    except RunError as error:
        if str(unfinished) not in str(error):
            raise
        raise RunError(str(error).replace(str(unfinished), str(path))) from error
    finally:
        for name in (unfinished.name, *(f"{unfinished.name}{log}" for log in ("-wal", "-shm") if database)):
            unfinished.with_name(name).unlink(missing_ok=True)


def check_writable(path: Path, *, folder: bool = False) -> None:
    """Raise FileError now if a file or folder could not be written later; create nothing."""
    whole = path.absolute()
    try:
        exists = whole.exists()
        if exists and whole.is_dir() != folder:
            raise FileError(f"{path} cannot be written: it is a {'file' if folder else 'folder'}")
        needed = [whole] if exists else []
        if whole.is_file() or not exists:  # a replacement is first written next to the file
            needed.append(next(parent for parent in whole.parents if parent.exists()))
        for folder_path in needed:
            if not os.access(folder_path, os.W_OK) or not (folder_path.is_dir() or folder_path == whole):
                raise FileError(f"{path} cannot be written: {folder_path} is not writable")
            if folder_path.is_dir():  # permissions are not conclusive, so try it
                tempfile.TemporaryFile(dir=folder_path).close()
    except OSError as error:
        raise FileError(f"{path} cannot be written: {_reason(error)}") from None


@contextmanager
def making(folder: Path, *, ours: Collection[str], progress: str = "") -> Iterator[Path]:
    """Context manager that creates a folder, named ``FOLDER.part`` until it is complete.

    Raises FileError if the path exists and is not an empty folder. Leftovers of a killed process are removed if all
    their names are in ``ours``. ``progress`` is the name of a file that stays in ``FOLDER.part`` for the next attempt
    until the folder is complete.
    """
    unfinished = folder.with_name(f"{folder.name}.part")
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise FileError(f"{folder} is not empty; choose another folder")
        if unfinished.exists():
            if {child.name for child in unfinished.iterdir()} - {*ours, progress, f"{progress}-journal"}:
                raise FileError(
                    f"{unfinished} already exists and was not left by an interrupted command: move or delete it"
                )
            for child in unfinished.iterdir():
                if child.is_dir():
                    shutil.rmtree(child)
                elif not (progress and child.name.startswith(progress)):
                    child.unlink()
        unfinished.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{folder} cannot be written: {_reason(error)}") from None
    try:
        with naming_full_disk(folder):
            yield unfinished
        if progress:
            (unfinished / progress).unlink()
        if folder.is_dir():
            folder.rmdir()
        unfinished.rename(folder)
    finally:
        if not (progress and (unfinished / progress).exists()):
            shutil.rmtree(unfinished, ignore_errors=True)


def scratch_folder(folder: Path | None = None, prefix: str = SCRATCH) -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder, usable as a context manager, in the system's default location or in ``folder``."""
    place = Path(tempfile.gettempdir()) if folder is None else folder
    remove_leftovers(place, prefix)
    return tempfile.TemporaryDirectory(
        prefix=f"{prefix}{_MACHINE}-{os.getpid()}-", dir=place, ignore_cleanup_errors=True
    )


def leftovers(folder: Path, prefix: str) -> Iterator[Path]:
    """Yield files and folders with this prefix that terminated processes on this machine left in a folder."""
    named = re.compile(rf"{re.escape(prefix)}{_MACHINE}-(\d+)\b")
    with suppress(OSError):
        for child in folder.iterdir():
            if match := named.match(child.name):
                try:
                    os.kill(int(match[1]), 0)
                except ProcessLookupError:
                    yield child
                except (OSError, OverflowError):  # the process is alive and belongs to another user
                    continue


def remove_leftovers(folder: Path | None = None, prefix: str = SCRATCH) -> None:
    """Remove what terminated processes on this machine left in a folder, by default in the system's temporary one."""
    for child in leftovers(folder or Path(tempfile.gettempdir()), prefix):
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child, ignore_errors=True)
        else:
            with suppress(OSError):
                child.unlink(missing_ok=True)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def digest_of(files: Iterable[Path], root: Path) -> str:
    """Return the hexadecimal SHA-256 of the paths of files, relative to ``root``, and their contents, in order."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(root).as_posix()} ".encode() + file.read_bytes())
    return digest.hexdigest()


def digest_of_file(file: Path) -> str:
    """Return the hexadecimal SHA-256 of a file's content."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


PATIENCE = 0.3
"""Seconds to wait before a lock counts as held; longer than ``is_locked`` itself holds the lock."""


@contextmanager
def file_lock(file: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Context manager that holds a lock.

    Raises BlockingIOError if the lock is still held, by this or another process, after ``patience`` seconds.
    Raises another OSError if the file cannot be created.
    """
    # Never a soft lock, which is a mere file and outlives a killed process: the kernel releases a real one.
    lock = FileLock(file, patience, thread_local=False, poll_interval=PATIENCE / 10, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout:
        if not file.exists():  # filelock retries until the timeout if the folder is not writable
            raise PermissionError(errno.EACCES, "the lock file cannot be created", str(file)) from None
        raise BlockingIOError(f"{file} is locked by another process") from None
    try:
        yield
    finally:
        # Unlink before releasing: a process that opened the file meanwhile gets the lock of a deleted file, notices
        # that, and opens a new one. The other order could delete the file of a third process that holds its lock.
        with suppress(OSError):
            file.unlink()
        lock.release()


def is_locked(file: Path) -> bool:
    """Return whether a lock is held, without writing anything; a file that cannot be opened counts as locked."""
    try:
        with file.open("rb") as opened:
            return not lock_descriptor(opened.fileno(), blocking=False)
    except FileNotFoundError:
        return False
    except OSError:
        return True


class KeyValues:
    """A table with key columns and value columns, created if it does not exist.

    With ``wal``, a write-ahead log, readers do not wait for a writer; without it, a read-only file can still be read.
    Raises OSError or sqlite3.Error, on creation and later, if the file cannot be used or has another format.
    """

    def __init__(
        self, file: Path, table: str, key: Sequence[str], values: Sequence[str], *, wal: bool = True
    ) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(file, timeout=30.0, isolation_level=None)
        columns, condition = ", ".join((*key, *values)), " AND ".join(f"{name} = ?" for name in key)
        marks = ", ".join("?" * (len(key) + len(values)))
        self._select = f"SELECT {', '.join(values)} FROM {table} WHERE {condition}"
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
        """Return the values for a key, or None if it is missing."""
        row: tuple[Any, ...] | None = self._database.execute(self._select, key).fetchone()
        return row

    def put(self, *row: object) -> None:
        """Store a row: a key and its values."""
        self._database.execute(self._insert, row)

    def put_all(self, rows: Iterable[Sequence[object]]) -> None:
        """Store several rows in one transaction."""
        with self._database:
            self._database.execute("BEGIN")
            self._database.executemany(self._insert, rows)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def download(package: str, sha256: str, folder: Path, *, error: type[AssayError], retry: str) -> Path:
    """Download the wheel of a package, ``name==version``, to a folder, without its dependencies.

    Raises ``error`` with a one-line message that includes ``retry``, a command, if the download fails or the
    digest does not match.
    """
    before = set(folder.glob("*.whl"))
    pip("download", package, "--dest", str(folder), error=error, retry=retry)
    wheel = next(iter(set(folder.glob("*.whl")) - before))
    if (actual := digest_of_file(wheel)) != sha256:
        wheel.unlink()
        raise error(
            f"{wheel.name} from the package registry is rejected: its SHA-256 is {actual}; expected {sha256}"
        )
    return wheel


def pip(command: str, package: str, *options: str, error: type[AssayError], retry: str) -> None:
    """Run pip for one package, without dependencies and without executing the package's code."""
    from assay.support.processes import BEFORE_EXEC

    harmless = ("--no-deps", "--only-binary", ":all:", "--retries", "1", "--timeout", "20")
    result = subprocess.run(
        [sys.executable, "-m", "pip", command, package, *harmless, *options, "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=BEFORE_EXEC,
    )
    if result.returncode:
        messages = (line.strip() for line in reversed(result.stderr.splitlines()))
        reason = next(
            (line for line in messages if line.startswith("ERROR:") or "No module named pip" in line), ""
        )
        raise error(
            f"{package} cannot be downloaded from the package registry; once the registry is reachable, run '{retry}' "
            f"(pip: {reason.removeprefix('ERROR: ') or f'exit status {result.returncode}'})"
        )
