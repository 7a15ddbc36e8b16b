"""Reader and writer for CSV tables of paraphrases.

Supported are the tables written by ``assay words generate`` and ``assay words llm``, LIBERO-Para's ``metadata.csv``,
and other tables with the text and its task or its original.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.words.distance.pride import ALPHA
from assay.perturb.words.grid.cells import ActionType, ObjectType, cell_of
from assay.perturb.words.grid.generate import Paraphrase
from assay.tasks import Task
from assay.tasks.formats.libero_para import SUITE, TYPES
from assay.tasks.language.lexicon import lexicon
from assay.tasks.language.meaning import read_task

COLUMNS = ("task", "object_type", "action_type", "original", "paraphrase")
"""Columns of a written table."""
ORIGINAL = ("original", "original_instruction")
TEXT = ("paraphrase", "new_instruction")
"""Column names of the original instruction and of the paraphrase: Assay's and LIBERO-Para's."""
SCORES = (("s_k", "s_t"), ("keyword_similarity", "structural_similarity"))
"""Column names of keyword and structural similarity: Assay's and LIBERO-Para's."""
ROUNDING = 1e-6
"""Amount by which a published similarity may exceed 1."""
Key = tuple[str, str]
"""An object type and an action type."""


@dataclass(frozen=True, slots=True)
class GridRow:
    """A row of a table; only its scores are validated."""

    line: int
    """Number of the row's last line in the file, counted from 1."""
    task: str
    """Task id; empty if the table has no such column and the task is inferred from the original."""
    object_type: str
    action_type: str
    """Object type and action type in Assay's terms; empty if not given."""
    original: str
    """Original instruction; empty if not given."""
    paraphrase: str
    s_k: float | None = None
    s_t: float | None = None
    """Keyword and structural similarity to the original, from 0 to 1; None unless the table has both."""
    parser: str = ""
    """Parser that ``assay words score`` used for the similarities; empty for scores from elsewhere."""

    @property
    def key(self) -> Key:
        """Object type and action type."""
        return self.object_type, self.action_type

    @property
    def pd(self) -> float | None:
        """Paraphrase distance from the original; None if not scored."""
        if self.s_k is None or self.s_t is None:
            return None
        return 1 - (ALPHA * self.s_k + (1 - ALPHA) * self.s_t)


def write(
    paraphrases: Iterable[Paraphrase],
    path: Path,
    more: Mapping[str, Callable[[Paraphrase], str]] = MappingProxyType({}),
) -> None:
    """Write paraphrases to a CSV file; ``more`` contains further columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow((*COLUMNS, *more))
        for paraphrase in paraphrases:
            task, cell = paraphrase.task, paraphrase.cell
            own = (task.id, cell.object_type, cell.action_type, task.instruction.text, paraphrase.text)
            writer.writerow((*own, *(value(paraphrase) for value in more.values())))


def read(path: Path, *, with_cells: bool = False) -> tuple[GridRow, ...]:
    """Return the rows of a table, ignoring further columns. ``with_cells`` requires the columns of the cell.

    Raises PerturbationError if the file is invalid.
    """
    cells = (("object_type", "high"), ("action_type", "low")) if with_cells else ()
    return tuple(_row(path, line, fields) for line, fields in rows(path, (("task", *ORIGINAL), *cells, TEXT)))


def read_grid(path: Path) -> tuple[GridRow, ...]:
    """Return the rows of a table with cells, and fill in their tasks. Raises PerturbationError if there are no rows."""
    table = with_tasks(read(path, with_cells=True))
    if not table:
        raise PerturbationError(f"{path} has no rows below its header")
    return table


def with_tasks(table: Sequence[GridRow]) -> tuple[GridRow, ...]:
    """Return the rows with missing tasks and originals filled in, each from the other.

    A row without a task gets the built-in task whose instruction is its original. If several suites have such a task,
    the first suite with the originals of all these rows is used, and libero_90 only if no other suite has it. Rows
    whose task remains ambiguous are returned unchanged.
    """
    originals = {plain(row.original) for row in table if not row.task}
    suites = {name: _by_instruction(tasks.suite(name)) for name in tasks.suites()}
    of_all = next((suite for suite in suites.values() if originals <= suite.keys()), None)
    places = (of_all,) if of_all is not None else (_by_instruction(tasks.resolve("all")), suites["libero_90"])

    texts = {id: text for suite in suites.values() for text, ids in suite.items() for id in ids}

    def complete(row: GridRow) -> GridRow:
        if row.task:
            return replace(row, original=row.original or texts.get(row.task, ""))
        original = plain(row.original)
        ids = next((place[original] for place in places if original in place), [])
        task = ids[0] if len(ids) == 1 else ""
        return replace(row, task=task, original=texts.get(task, row.original))

    return tuple(map(complete, table))


def _by_instruction(among: Iterable[Task]) -> dict[str, list[str]]:
    """Map each instruction to the ids of its tasks."""
    ids: dict[str, list[str]] = {}
    for task in among:
        ids.setdefault(plain(task.instruction.text), []).append(task.id)
    return ids


@cache
def plain(text: str) -> str:
    """Return an instruction in lower case with single spaces, for comparison."""
    return " ".join(text.lower().split())


def rows(path: Path, required: Iterable[str | tuple[str, ...]]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number and the fields of each row in a CSV file with the required columns.

    A tuple lists alternative names of a column. Raises PerturbationError if a column is missing.
    """
    wanted = [(names,) if isinstance(names, str) else names for names in required]
    with open_table(path) as reader:
        missing = [names for names in wanted if not set(names) & set(reader.fieldnames or ())]
        if missing:
            lacking, needed = (
                ", ".join(" or ".join(names) for names in columns) for columns in (missing, wanted)
            )
            raise PerturbationError(
                f"{path} lacks the column{'s' * (len(missing) > 1)} {lacking}; required: {needed}"
            )
        for row in reader:
            yield reader.line_num, {name: value or "" for name, value in row.items() if name is not None}


@contextmanager
def open_table(path: Path) -> Iterator[csv.DictReader[str]]:
    """Open a CSV file for reading by column. Raises PerturbationError if it is not a CSV file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            yield csv.DictReader(stream)
    except (UnicodeDecodeError, csv.Error) as error:
        raise PerturbationError(f"{path} is not a CSV file in UTF-8: {error}") from None
    except OSError as error:
        raise PerturbationError(f"{path} cannot be read: {error.strerror or error}") from None


def _row(path: Path, line: int, fields: Mapping[str, str]) -> GridRow:
    def first(names: Iterable[str]) -> str:
        return next((fields[name] for name in names if fields.get(name)), "")

    scores: list[float] = []
    for names in zip(*SCORES, strict=True):
        text = first(names)
        if not text.strip():
            continue
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1 + ROUNDING:
            raise PerturbationError(
                f"{path}:{line}: {names[0]}: '{text[:40]}' is not a similarity: expected 0 to 1"
            )
        scores.append(value)
    types = fields.get("object_type", ""), fields.get("action_type", "")
    official = fields.get("high", ""), fields.get("mid", ""), fields.get("low", "")
    if "object_type" not in fields and "action_type" not in fields and any(official):
        # Unknown values are joined unchanged, so that `cell_of` can report them.
        types = TYPES.get(official, (", ".join(official), "none"))
    both = len(scores) == 2
    s_k, s_t = scores if both else (None, None)
    return GridRow(
        line,
        fields.get("task", ""),
        *types,
        first(ORIGINAL),
        first(TEXT),
        s_k,
        s_t,
        fields.get("parser", "") if both else "",
    )


@dataclass(frozen=True, slots=True)
class CellStats:
    """Statistics of the paraphrases of one cell."""

    count: int
    scored: int
    """Number of rows with both similarities, over which the means are taken; if it is 0, they are None."""
    pd: float | None
    keyword_distance: float | None
    """Mean of 1 - S_K."""
    structural_distance: float | None
    """Mean of 1 - S_T."""


@dataclass(frozen=True, slots=True)
class GridStats:
    """Statistics of a table of paraphrases."""

    paraphrases: int
    cells: dict[Key, CellStats]
    """Cells that have paraphrases, row by row."""
    originals: dict[str, int]
    """Original instruction -> number of its paraphrases, in decreasing order."""

    def total(self, *, object: str | None = None, action: str | None = None) -> int:
        """Return the number of paraphrases with the given object type and action type; None stands for any type."""
        return sum(
            cell.count
            for key, cell in self.cells.items()
            if object in (None, key[0]) and action in (None, key[1])
        )


def grid_stats(table: Iterable[GridRow]) -> GridStats:
    """Count paraphrases, and average their distances; duplicates count twice.

    Raises PerturbationError for a row with invalid types.
    """
    table = tuple(table)
    members: dict[Key, list[GridRow]] = {(thing, action): [] for thing in ObjectType for action in ActionType}
    for row in table:
        try:
            cell_of(*row.key)
        except PerturbationError as error:
            raise PerturbationError(f"line {row.line}: {error}") from None
        members[row.key].append(row)
    return GridStats(
        len(table),
        {key: _cell(mine) for key, mine in members.items() if mine},
        dict(Counter(plain(row.original) for row in table).most_common()),
    )


def _cell(table: Sequence[GridRow]) -> CellStats:
    scored = [(row.s_k, row.s_t) for row in table if row.s_k is not None and row.s_t is not None]
    if not scored:
        return CellStats(len(table), 0, None, None, None)
    # A published similarity may be above 1 by rounding.
    keywords, structure = (max(0.0, 1 - sum(values) / len(scored)) for values in zip(*scored, strict=True))
    distance = ALPHA * keywords + (1 - ALPHA) * structure
    return CellStats(len(table), len(scored), distance, keywords, structure)


def object_names(originals: Iterable[str]) -> dict[str, dict[str, list[str]]]:
    """Return noun -> name -> task ids: the names of each object in libero_goal's instructions, in order of mention."""
    wanted = {plain(original) for original in originals}
    names: dict[str, dict[str, list[str]]] = {}
    for task in tasks.suite(SUITE):
        if plain(task.instruction.text) in wanted:
            for mention in read_task(task, lexicon()).mentions:
                names.setdefault(mention.noun.name, {}).setdefault(mention.form, []).append(task.id)
    return names
