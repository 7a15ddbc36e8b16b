"""The grid as a CSV file: one row for each paraphrase."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from assay import tasks
from assay.errors import PerturbationError
from assay.formats.libero_para import SUITE
from assay.perturb.words.grid.cells import cell_of_official
from assay.perturb.words.grid.generate import Paraphrase

COLUMNS = ("task", "object_type", "action_type", "original", "paraphrase")
OFFICIAL = ("high", "mid", "low", "original_instruction", "new_instruction")
"""What LIBERO-Para's metadata call the same."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it was read; nothing in it is checked."""

    line: int
    """Where it ends in the file, counted from 1."""
    task: str
    object_type: str
    action_type: str
    original: str
    paraphrase: str


def write(
    paraphrases: Iterable[Paraphrase],
    path: Path,
    more: Mapping[str, Callable[[Paraphrase], str]] = MappingProxyType({}),
) -> None:
    """Write paraphrases to a CSV file; ``more`` has further columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow((*COLUMNS, *more))
        for each in paraphrases:
            writer.writerow(
                (
                    each.task.id,
                    each.cell.object_type,
                    each.cell.action_type,
                    each.task.instruction.text,
                    each.text,
                    *(value(each) for value in more.values()),
                )
            )


def read(path: Path) -> tuple[Row, ...]:
    """The rows of a CSV file with our columns, or with LIBERO-Para's; further columns are left alone.

    Raises PerturbationError.
    """
    with open_table(path) as reader:
        official = set(OFFICIAL) <= set(reader.fieldnames or ())
    if official:
        return tuple(_published(path, line, row) for line, row in rows(path, OFFICIAL))
    return tuple(Row(line, *(row[name] for name in COLUMNS)) for line, row in rows(path, COLUMNS))


def _published(path: Path, line: int, row: Mapping[str, str]) -> Row:
    """A row of LIBERO-Para's metadata, whose originals are those of libero_goal."""
    original = " ".join(row["original_instruction"].lower().split())
    task = next((task for task in tasks.suite(SUITE) if task.instruction.text == original), None)
    if task is None:
        raise PerturbationError(f"{path}:{line}: no task of {SUITE} is '{original[:80]}'")
    try:
        cell = cell_of_official(row["high"], row["mid"], row["low"])
    except PerturbationError as error:
        raise PerturbationError(f"{path}:{line}: {error}") from None
    return Row(line, task.id, cell.object_type, cell.action_type, original, row["new_instruction"])


def rows(path: Path, required: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and fields of each row of a CSV file with these columns. Raises PerturbationError."""
    with open_table(path) as reader:
        missing = [name for name in required if name not in (reader.fieldnames or ())]
        if missing:
            raise PerturbationError(
                f"{path} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}; "
                f"needed: {', '.join(required)}"
            )
        for row in reader:
            yield reader.line_num, {name: value or "" for name, value in row.items() if name is not None}


@contextmanager
def open_table(path: Path) -> Iterator[csv.DictReader[str]]:
    """A CSV file to be read by its columns. Raises PerturbationError where it is none."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            yield csv.DictReader(stream)
    except (UnicodeDecodeError, csv.Error) as error:
        raise PerturbationError(f"{path} is no CSV file in UTF-8: {error}") from None
