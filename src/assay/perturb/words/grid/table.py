"""The grid as a CSV file: one row for each paraphrase."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.errors import PerturbationError
from assay.perturb.words.grid.generate import Paraphrase

COLUMNS = ("task", "object_type", "action_type", "original", "paraphrase")


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


def write(paraphrases: Iterable[Paraphrase], path: Path) -> None:
    """Write paraphrases to a CSV file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for each in paraphrases:
            writer.writerow(
                (
                    each.task.id,
                    each.cell.object_type,
                    each.cell.action_type,
                    each.task.instruction.text,
                    each.text,
                )
            )


def read(path: Path) -> tuple[Row, ...]:
    """The rows of a CSV file; further columns are left alone. Raises PerturbationError."""
    return tuple(Row(line, *(row[name] for name in COLUMNS)) for line, row in rows(path, COLUMNS))


def rows(path: Path, required: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and fields of each row of a CSV file with these columns. Raises PerturbationError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            missing = [name for name in required if name not in (reader.fieldnames or ())]
            if missing:
                raise PerturbationError(
                    f"{path} lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}; "
                    f"needed: {', '.join(required)}"
                )
            for row in reader:
                yield reader.line_num, {name: value or "" for name, value in row.items() if name is not None}
    except (UnicodeDecodeError, csv.Error) as error:
        raise PerturbationError(f"{path} is no CSV file in UTF-8: {error}") from None
