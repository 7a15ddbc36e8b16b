"""Task files inside tar archives, read in memory: nothing is ever unpacked onto the disk.

An archive may be hostile, so everything is bounded: how much is unpacked in all, how much is read in one
piece, how many members are looked at.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from assay.errors import BDDLError, TaskError
from assay.tasks.bddl.reader import MAX_BYTES, document_from_bytes, parse
from assay.tasks.bddl.writer import write
from assay.tasks.checks import quoted

MAX_UNPACKED = 8_000_000_000
"""How many bytes an archive may unpack to."""
MAX_MEMBERS = 200_000
"""How many members an archive may have: tarfile keeps all of them in memory."""

_ENDINGS = (".tar", ".tgz", ".tbz2", ".txz")


def is_archive(path: Path) -> bool:
    """Whether a file is called like a tar archive: ``.tar``, ``.tar.gz``, ``.tgz``, ..."""
    name = path.name.lower()
    return name.endswith(_ENDINGS) or Path(name).with_suffix("").suffix == ".tar"


def archived_task_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """The ``.bddl`` files in an archive: name and content, cut off just above the allowed size.

    Raises TaskError if it is not an archive that can be read, or too large.
    """
    try:
        with path.open("rb") as raw, _unpacked(raw) as stream:
            yield from _members(cast(IO[bytes], _Bounded(stream)))
    except _OutOfBounds as error:
        raise TaskError(str(error)) from None
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError, ValueError) as error:
        raise TaskError(f"cannot be read as a tar archive: {' '.join(str(error).split())}") from None


def _unpacked(raw: IO[bytes]) -> IO[bytes]:
    """The stream inside a compressed one, told by its first bytes."""
    start = raw.read(6)
    raw.seek(0)
    if start.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=raw))
    if start.startswith(b"BZh"):
        return bz2.BZ2File(raw)
    if start == b"\xfd7zXZ\0":
        return lzma.LZMAFile(raw)
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        raise TaskError("is packed with zstd, which is not supported: unpack it first")
    return raw


def _members(stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=stream, mode="r:") as archive:
        for count, member in enumerate(archive):
            if count == MAX_MEMBERS:
                raise _OutOfBounds(f"has more than {MAX_MEMBERS:,} members")
            if not member.isreg() or member.issparse() or not member.name.lower().endswith(".bddl"):
                continue
            content = archive.extractfile(member)
            if content is not None:
                yield member.name, content.read(MAX_BYTES + 1)


class _OutOfBounds(Exception):  # noqa: N818
    """An archive asks for more than it may have."""


class _Bounded(io.RawIOBase):
    """A stream that refuses to hand out too much, in one piece or in all."""

    def __init__(self, inner: IO[bytes]) -> None:
        self._inner = inner

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._inner.tell()

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_SET and position > MAX_UNPACKED:
            raise _OutOfBounds(f"unpacks to more than {MAX_UNPACKED:,} bytes")
        return self._inner.seek(position, whence)

    def read(self, size: int | None = -1) -> bytes:
        # tarfile reads long names and the like whole: without a bound, one header could fill the memory.
        if size is None or size < 0 or size > 2 * MAX_BYTES:
            raise _OutOfBounds("has a header that is too large")
        return self._inner.read(size)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about one file."""

    file: str
    line: int | None
    """Counted from 1; None if it is about the file as a whole."""
    reason: str


@dataclass(slots=True)
class Audit:
    """What came of reading every task file below a path."""

    files: int = 0
    """How many task files there are."""
    read: int = 0
    """How many of them could be read."""
    round_trip: int = 0
    """How many of those give an equal task when written and read again."""
    failures: list[Finding] = field(default_factory=list)
    """Why the others could not, and archives that could not be opened."""
    warnings: list[Finding] = field(default_factory=list)
    """What was read but has no effect."""

    def to_plain(self) -> dict[str, Any]:
        """Plain data for JSON."""

        def plain(findings: list[Finding]) -> list[dict[str, Any]]:
            return [
                {"file": finding.file, "line": finding.line, "reason": finding.reason} for finding in findings
            ]

        return {
            "files": self.files,
            "read": self.read,
            "round_trip": self.round_trip,
            "failures": plain(self.failures),
            "warnings": plain(self.warnings),
        }


def audit(path: Path, *, on_file: Callable[[int], None] | None = None) -> Audit:
    """Read and write again every ``.bddl`` file at or below ``path``, in folders and in tar archives.

    ``on_file`` is called with the number of files so far. Links to folders are not followed. Raises TaskError
    if there is nothing at ``path``, or no task file below it.
    """
    if not path.exists():
        raise TaskError(f"{path}: there is no such file or folder")
    result = Audit()
    for file in _files(path):
        if is_archive(file):
            _audit_archive(result, file, on_file)
        else:
            _audit_file(result, str(file), _content(file), on_file)
    if not result.files and not result.failures:
        raise TaskError(f"{path}: no .bddl file there, nor in a folder or tar archive below it")
    return result


def _files(path: Path) -> Iterator[Path]:
    """Task files and archives below a path, sorted by name within each folder."""
    if not path.is_dir():
        if _is_task_file(path) or is_archive(path):
            yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            file = Path(folder, name)
            if (_is_task_file(file) or is_archive(file)) and file.is_file():
                yield file


def _is_task_file(path: Path) -> bool:
    return path.suffix.lower() == ".bddl"


def _content(path: Path) -> bytes | OSError:
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        return error


def _audit_archive(result: Audit, path: Path, on_file: Callable[[int], None] | None) -> None:
    try:
        for name, content in archived_task_files(path):
            _audit_file(result, f"{path}:{quoted(name, most=1000)[1:-1]}", content, on_file)
    except TaskError as error:
        result.failures.append(Finding(str(path), None, str(error)))


def _audit_file(
    result: Audit, file: str, content: bytes | OSError, on_file: Callable[[int], None] | None
) -> None:
    result.files += 1
    if on_file is not None:
        on_file(result.files)
    if isinstance(content, OSError):
        result.failures.append(Finding(file, None, f"cannot be read: {content.strerror or content}"))
        return
    id = PurePosixPath(file).stem
    try:
        document = document_from_bytes(content, id=id)
    except BDDLError as error:
        result.failures.append(Finding(file, error.line, error.reason))
        return
    result.read += 1
    result.warnings.extend(Finding(file, note.line, note.text) for note in document.warnings)
    try:
        same = parse(write(document.task), id=id) == document.task
    except TaskError as error:
        result.failures.append(Finding(file, None, f"cannot be written and read again: {error}"))
        return
    if same:
        result.round_trip += 1
    else:
        result.failures.append(Finding(file, None, "is not the same when written and read again"))
