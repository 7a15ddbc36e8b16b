"""Tables of paraphrases as CSV files: the one reader for all that have them.

Ours, as ``assay words generate`` and ``assay words llm`` write them, LIBERO-Para's ``metadata.csv``, and those of
anybody else who names the text and its task or its original.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.words.grid.cells import cell_of_official
from assay.perturb.words.grid.generate import Paraphrase
from assay.tasks import Task

COLUMNS = ("task", "object_type", "action_type", "original", "paraphrase")
"""What is written."""
ORIGINAL = ("original", "original_instruction")
TEXT = ("paraphrase", "new_instruction")
"""The instruction as it was, and as it is said: our name of the column and LIBERO-Para's."""
SCORES = (("s_k", "s_t"), ("keyword_similarity", "structural_similarity"))
"""Keyword and structural similarity, likewise."""
OFFICIAL = ("high", "mid", "low")
"""LIBERO-Para's names of both types."""
ROUNDING = 1e-6
"""By so much may a published similarity be above 1."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it was read; but for its scores nothing in it is checked."""

    line: int
    """Where it ends in the file, counted from 1."""
    task: str
    """The task's id; empty where the table has no such column and the original has to tell."""
    object_type: str
    action_type: str
    """Its cell, in our words; empty where it is not given."""
    original: str
    """Empty where it is not given."""
    paraphrase: str
    s_k: float | None = None
    s_t: float | None = None
    """Keyword and structural similarity to the original, 0 to 1, where the table has both."""
    parser: str = ""
    """The parser that ``assay words score`` made the similarities with; empty for those of others."""


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
        for paraphrase in paraphrases:
            writer.writerow(
                (
                    paraphrase.task.id,
                    paraphrase.cell.object_type,
                    paraphrase.cell.action_type,
                    paraphrase.task.instruction.text,
                    paraphrase.text,
                    *(value(paraphrase) for value in more.values()),
                )
            )


def read(path: Path, *, with_cells: bool = False) -> tuple[Row, ...]:
    """The rows of a table, ``with_cells`` of one that has them; further columns are left alone.

    Raises PerturbationError.
    """
    cells = (("object_type", "high"), ("action_type", "low")) if with_cells else ()
    return tuple(_row(path, line, fields) for line, fields in rows(path, (("task", *ORIGINAL), *cells, TEXT)))


def with_tasks(table: Sequence[Row]) -> tuple[Row, ...]:
    """The rows, each with its task and its original, where one of them tells the other.

    A row that names no task has the built-in one whose instruction its original is; of suites with such a task,
    the first that has the originals of all these rows counts, and libero_90 only where no other has it. A row that
    this does not decide stays as it is.
    """
    originals = {plain(row.original) for row in table if not row.task}
    suites = {name: _by_instruction(tasks.suite(name)) for name in tasks.suites()}
    of_all = next((suite for suite in suites.values() if originals <= suite.keys()), None)
    places = (of_all,) if of_all is not None else (_by_instruction(tasks.resolve("all")), suites["libero_90"])

    def home(row: Row) -> str:
        if row.task:
            return row.task
        original = plain(row.original)
        found = next((place[original] for place in places if original in place), [])
        return found[0] if len(found) == 1 else ""

    told = {id: text for suite in suites.values() for text, ids in suite.items() for id in ids}

    def completed(row: Row) -> Row:
        task = home(row)
        if row.task and row.original:
            return row
        return replace(row, task=task, original=told.get(task, row.original))

    return tuple(map(completed, table))


def _by_instruction(among: Iterable[Task]) -> dict[str, list[str]]:
    """Instruction -> the ids of the tasks that have it."""
    found: dict[str, list[str]] = {}
    for task in among:
        found.setdefault(plain(task.instruction.text), []).append(task.id)
    return found


@cache
def plain(text: str) -> str:
    """An instruction in small letters with single spaces, as originals are compared."""
    return " ".join(text.lower().split())


def rows(path: Path, required: Iterable[str | tuple[str, ...]]) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and fields of each row of a CSV file with these columns, of several names one.

    Raises PerturbationError.
    """
    wanted = [(each,) if isinstance(each, str) else each for each in required]
    with open_table(path) as reader:
        missing = [names for names in wanted if not set(names) & set(reader.fieldnames or ())]
        if missing:
            lacking, needed = (", ".join(" or ".join(names) for names in each) for each in (missing, wanted))
            raise PerturbationError(
                f"{path} lacks the column{'s' * (len(missing) > 1)} {lacking}; needed: {needed}"
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
    except OSError as error:
        raise PerturbationError(f"{path}: cannot be read: {error.strerror or error}") from None


def _row(path: Path, line: int, fields: Mapping[str, str]) -> Row:
    def first(names: Iterable[str]) -> str:
        return next((fields[name] for name in names if fields.get(name)), "")

    s_k, s_t = (
        _similarity(first(names), f"{path}:{line}: {names[0]}") for names in zip(*SCORES, strict=True)
    )
    both = s_k is not None and s_t is not None
    return Row(
        line,
        fields.get("task", ""),
        *_types(fields),
        first(ORIGINAL),
        first(TEXT),
        s_k if both else None,
        s_t if both else None,
        fields.get("parser", "") if both else "",
    )


def _types(fields: Mapping[str, str]) -> tuple[str, str]:
    """Object and action type in our words; of LIBERO-Para's, those that it does not use as they are."""
    if "object_type" in fields or "action_type" in fields:
        return fields.get("object_type", ""), fields.get("action_type", "")
    names = tuple(fields.get(name, "") for name in OFFICIAL)
    return _in_our_words(*names) if any(names) else ("", "")


@cache
def _in_our_words(high: str, mid: str, low: str) -> tuple[str, str]:
    try:
        cell = cell_of_official(high, mid, low)
    except PerturbationError:
        return ", ".join((high, mid, low)), "none"
    return str(cell.object_type), str(cell.action_type)


def _similarity(text: str, place: str) -> float | None:
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1 + ROUNDING:
        raise PerturbationError(f"{place}: '{text[:40]}' is no similarity; valid: 0 to 1")
    return value
