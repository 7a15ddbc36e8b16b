"""Readers for other benchmarks' releases in a folder that the user has downloaded. They only read and validate.

    libero_para      LIBERO-Para: paraphrases, as a table and as task files; evaluation logs
    libero_pro       LIBERO-PRO: five tables of substitutions
    libero_x         LIBERO-X: task files for four levels, rewordings for the fifth
    libero_plus      LIBERO-plus: a classification of names, decoded; language task files; joint angles
    init_files       LIBERO's stored initial states, without executing their pickles
    lerobot          LeRobot data sets, and a writer for them
    parquet          Parquet files, in a process with limited memory

A folder without the release is rejected with a one-line message that lists the expected files. Nothing is imported
here, so that reading initial states does not require the table readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from assay import tasks
from assay.errors import AssayError, did_you_mean
from assay.tasks.checks import quote

MAX_BYTES = 100_000_000
"""Maximum size of a file, in bytes; larger files are rejected."""

Label = str | int | float | None


class ReleaseError(AssayError):
    """Raised when a folder does not contain the expected release, or a file in it is invalid."""


@dataclass(frozen=True, slots=True)
class ReleaseWording:
    """An instruction from a release."""

    task: str
    """Id of the built-in task that the instruction rewords, such as ``libero_goal/3``. LIBERO-X has its own
    scenes, and ids such as ``libero_x/107/A1``.
    """
    text: str
    """The instruction, on one line."""
    labels: Mapping[str, Label] = field(default_factory=dict)


def find_release(folder: Path, release: str, *candidates: str) -> Path:
    """Return the first candidate that exists in a folder. Raises ReleaseError, listing the candidates."""
    for candidate in candidates:
        if (folder / candidate).exists():
            return folder / candidate
    looked = ", ".join(candidate or "the folder itself" for candidate in candidates)
    missing = "" if folder.is_dir() else " (the folder does not exist)"
    raise ReleaseError(f"{folder} does not contain the {release} release{missing}; looked for {looked}")


def text_of(file: Path, *, most: int = MAX_BYTES) -> str:
    """Read a text file. Raises ReleaseError if it is not UTF-8 or has more than ``most`` bytes."""
    try:
        with file.open("rb") as stream:
            data = stream.read(most + 1)
        if len(data) > most:
            raise ReleaseError(f"{file} is larger than {most:,} bytes")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise ReleaseError(f"{file} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ReleaseError(f"{file} is not a UTF-8 text file") from None


def instruction(value: object, place: str) -> str:
    """Return an instruction with single spaces. Raises ReleaseError if it is not one line of text."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text or not text.isprintable():
        raise ReleaseError(f"{place}: an instruction must be one line of text, not {quote(repr(value))}")
    return text


def task_of_file(name: str, place: str, *, suite: str | None = None) -> str:
    """Return the id of the task with this file name (without suffix). Raises ReleaseError if none exists."""
    ids = {file: id for file, id in _files().items() if id.startswith("" if suite is None else f"{suite}/")}
    if name not in ids:
        raise ReleaseError(f"{place}: unknown task {quote(name, limit=120)}; {did_you_mean(name[:200], ids)}")
    return ids[name]


def task_and_suffix(name: str) -> tuple[str, str] | None:
    """Split a name into the task whose file name it begins with, and the rest; None if there is no such task."""
    fitting = [file for file in _files() if name == file or name.startswith(f"{file}_")]
    if not fitting:
        return None
    longest = max(fitting, key=len)
    return _files()[longest], name.removeprefix(longest)


@cache
def _files() -> dict[str, str]:
    """Return a mapping from the names of LIBERO's task files to the ids of their tasks."""
    entries = [tasks.entry(id) for id in tasks.built_in_ids()]
    return {entry.file: entry.task.id for entry in entries if entry.file is not None}
