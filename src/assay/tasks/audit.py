"""Audit a collection of task files: can each be read, and is it unchanged when written and read again?"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from assay.errors import BDDLError, TaskError
from assay.tasks.bddl.reader import MAX_BYTES, parse, parse_document
from assay.tasks.bddl.writer import write
from assay.tasks.checks import quote
from assay.tasks.files import find_files

_ARCHIVE_SUFFIXES = (".tar", ".tgz", ".tbz2", ".txz", ".tar.gz", ".tar.bz2", ".tar.xz")


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A failure or a warning about one file."""

    file: str
    line: int | None
    """Line number from 1; None for the file as a whole."""
    reason: str


@dataclass(slots=True)
class FileAudit:
    """Result of reading every task file below a path."""

    files: int = 0
    """Number of task files."""
    read: int = 0
    """Number of files that could be read."""
    round_trip: int = 0
    """Number of files whose task is unchanged when written and read again."""
    failures: list[FileProblem] = field(default_factory=list)
    """Files that could not be read or written, and archives that could not be opened."""
    warnings: list[FileProblem] = field(default_factory=list)
    """Statements that have no effect."""


def audit(path: Path) -> FileAudit:
    """Read, write and read again every ``.bddl`` file at or below ``path``, in folders and in tar archives.

    Links to folders are not followed. Raises TaskError if the path does not exist or contains no task file.
    """
    if not path.exists():
        raise TaskError(f"{path}: no such file or folder")
    result = FileAudit()
    for file in find_files(path, (".bddl", *_ARCHIVE_SUFFIXES)):
        try:
            if file.name.lower().endswith(_ARCHIVE_SUFFIXES):
                for member, content in read_archive(file):
                    _audit_content(result, f"{file}:{quote(member, limit=1000)[1:-1]}", content)
            elif file.name.lower().endswith(".bddl"):
                with file.open("rb") as stream:
                    _audit_content(result, str(file), stream.read(MAX_BYTES + 1))
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
            result.failures.append(FileProblem(str(file), None, reason))
        except TaskError as error:
            result.failures.append(FileProblem(str(file), None, str(error)))
    if not result.files and not result.failures:
        raise TaskError(f"{path}: no .bddl file found in folders or tar archives")
    return result


def read_archive(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each ``.bddl`` file in a tar archive; nothing is unpacked to disk.

    Content that is too large is cut off just above the allowed size. Raises TaskError if the archive cannot be read.
    """
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                if member.isreg() and not member.issparse() and member.name.lower().endswith(".bddl"):
                    content = archive.extractfile(member)
                    if content is not None:
                        yield member.name, content.read(MAX_BYTES + 1)
    except Exception as error:  # zlib.error and LZMAError have no common base
        raise TaskError(f"cannot be read as a tar archive: {' '.join(str(error).split())}") from None


def _audit_content(result: FileAudit, file: str, content: bytes) -> None:
    """Read a task file, write it and read it again; add the outcome to the result."""
    result.files += 1
    id = PurePosixPath(file).stem
    try:
        document = parse_document(content, id=id)
    except BDDLError as error:
        result.failures.append(FileProblem(file, error.line, error.reason))
        return
    result.read += 1
    result.warnings.extend(FileProblem(file, note.line, note.text) for note in document.warnings)
    try:
        if parse(write(document.task), id=id) == document.task:
            result.round_trip += 1
        else:
            result.failures.append(FileProblem(file, None, "differs when written and read again"))
    except TaskError as error:
        result.failures.append(FileProblem(file, None, f"cannot be written and read again: {error}"))
