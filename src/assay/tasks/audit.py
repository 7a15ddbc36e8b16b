"""Audit a collection of task files: can each be read, and is it unchanged when written and read again?"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from assay.errors import BDDLError, TaskError
from assay.tasks.bddl.reader import parse, read_document
from assay.tasks.bddl.writer import write
from assay.tasks.files import find_files


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
    """Files that could not be read, or whose task changed when written and read again."""
    warnings: list[FileProblem] = field(default_factory=list)
    """Statements that have no effect."""


def audit(path: Path) -> FileAudit:
    """Read, write and read again every ``.bddl`` file at or below ``path``.

    Links to folders are not followed. Raises TaskError if the path does not exist or contains no task file.
    """
    if not path.exists():
        raise TaskError(f"{path}: no such file or folder")
    result = FileAudit()
    for file in find_files(path):
        if file.suffix.lower() != ".bddl":
            continue
        result.files += 1
        try:
            document = read_document(file)
        except BDDLError as error:
            result.failures.append(FileProblem(str(file), error.line, error.reason))
            continue
        result.read += 1
        result.warnings += [FileProblem(str(file), note.line, note.text) for note in document.warnings]
        try:
            if parse(write(document.task), id=document.task.id) == document.task:
                result.round_trip += 1
            else:
                result.failures.append(FileProblem(str(file), None, "differs when written and read again"))
        except TaskError as error:
            result.failures.append(FileProblem(str(file), None, f"cannot be written and read again: {error}"))
    if not result.files:
        raise TaskError(f"{path}: no .bddl file found")
    return result
