"""The human check: a sample of the grid for annotators, and how far they agree on return.

Each annotator says of each paraphrase whether it asks for the same as its original in the same scene.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from assay.errors import PerturbationError, did_you_mean
from assay.perturb.words.grid.table import COLUMNS as GRID_COLUMNS
from assay.perturb.words.grid.table import GridRow, open_table, rows
from assay.support.stats.significance import gwet_ac1
from assay.support.streams import stream

YES = frozenset({"yes", "y", "true", "same", "o"})
NO = frozenset({"no", "n", "false", "different", "x"})
_ITEM = ("item", "original", "paraphrase")
_NO_ANNOTATOR = frozenset({*_ITEM, *GRID_COLUMNS, "scene"})


class Marks(StrEnum):
    """What the digit 0 means on a sheet."""

    ZERO_X = "0X"
    """0 the same, X different: LIBERO-Para's protocol."""
    ONE_ZERO = "10"
    """1 the same, 0 different."""
    WORDS = "words"
    """There is no digit on it."""


@dataclass(frozen=True, slots=True)
class Item:
    """A paraphrase that annotators judged."""

    item: str
    """Its number on the sheet."""
    task: str
    object_type: str
    action_type: str
    """Empty where the sheet does not say."""
    original: str
    paraphrase: str


@dataclass(frozen=True, slots=True)
class Judgements:
    """What annotators said."""

    items: tuple[Item, ...]
    values: NDArray[np.int64]
    """(items, annotators): 1 yes, 0 no, -1 not judged."""


@dataclass(frozen=True, slots=True)
class Failing:
    """An item that too few of its annotators call the same."""

    item: Item
    yes: int
    judgements: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """What annotators said of a sample."""

    items: int
    annotators: int
    yes: float
    """The share of all judgements that are yes."""
    majority: float
    """The share of items that more than half of their annotators call the same."""
    thin: int
    """Items that fewer than three annotators judged: more than half of them is all of them."""
    strict: float
    """The share of items that at least ``strictness`` of their annotators call the same."""
    ac1: float
    """Gwet's AC1: agreement beyond chance; 1 is perfect."""
    low: float
    high: float
    """Its confidence interval."""
    failing: tuple[Failing, ...]
    """The items that are not strictly the same, those with the fewest yes first."""


def sample(grid: Sequence[GridRow], share: float, seed: int) -> dict[int, GridRow]:
    """A random share of a grid, at least one row, in random order, by place in it, from 1.

    Raises PerturbationError.
    """
    if not 0 < share <= 1:
        raise PerturbationError(f"the share to sample must be above 0 and at most 1, not {share}")
    if not grid:
        raise PerturbationError("there is no row to sample from")
    order = stream(seed, "words", "agreement").permutation(len(grid))
    return {int(index) + 1: grid[index] for index in order[: math.ceil(share * len(grid))]}


def write_annotation_sheet(
    chosen: Mapping[int, GridRow], path: Path, pictures: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Write a sheet for annotators: they fill the column ``same`` with yes or no.

    ``pictures`` has the file with a task's initial scene, by the task's id.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream_:
        writer = csv.writer(stream_, lineterminator="\n")
        writer.writerow(("item", *GRID_COLUMNS, *(("scene",) if pictures else ()), "same"))
        for item, row in chosen.items():
            types = (row.task, row.object_type, row.action_type)
            scene = (pictures[row.task],) if pictures else ()
            writer.writerow((item, *types, row.original, row.paraphrase, *scene, ""))


def read_sheets(paths: Sequence[Path], marks: Marks | None = None) -> Judgements:
    """The judgements of returned sheets.

    Every column that is not the sheet's own is one annotator. What 0 means follows from the other marks on a
    sheet, unless ``marks`` says it. Raises PerturbationError for a sheet from which it does not follow, for a
    cell that is neither yes nor no, for a sheet that is blank, has an item twice or is given twice, and for
    sheets whose items are different texts.
    """
    once_each(paths)
    items: dict[str, Item] = {}
    judged: list[dict[str, int]] = []
    for path in paths:
        lines: dict[str, int] = {}
        found: dict[str, dict[str, int]] = {}
        sheet = list(rows(path, _ITEM))
        meant = marks or _marks_of(path, [row for _, row in sheet])
        for line, row in sheet:
            item, pair = row["item"], (row["original"], row["paraphrase"])
            if lines.setdefault(item, line) != line:
                raise PerturbationError(f"{path}:{line}: item {item} is in line {lines[item]} already")
            task, thing, action = (row.get(name, "") for name in ("task", "object_type", "action_type"))
            known = items.setdefault(item, Item(item, task, thing, action, *pair))
            if (known.original, known.paraphrase) != pair:
                raise PerturbationError(
                    f"{path}:{line}: item {item} is another pair of texts in another sheet"
                )
            for name, cell in row.items():
                if name not in _NO_ANNOTATOR:
                    found.setdefault(name, {})[item] = _judgement(cell, meant, f"{path}:{line}: {name}")
        if all(said < 0 for each in found.values() for said in each.values()):
            raise PerturbationError(
                f"{path} has no judgement yet: annotators fill the column 'same' with yes or no"
            )
        judged += found.values()
    values = np.array([[each.get(item, -1) for each in judged] for item in items], dtype=np.int64)
    return Judgements(tuple(items.values()), values)


def _marks_of(path: Path, sheet: Sequence[Mapping[str, str]]) -> Marks:
    """What 0 means on a sheet, by what else is on it. Raises PerturbationError where it could be either."""
    said = {cell.strip().lower() for row in sheet for name, cell in row.items() if name not in _NO_ANNOTATOR}
    if "0" not in said:
        return Marks.ONE_ZERO if "1" in said else Marks.WORDS
    if ("x" in said) == ("1" in said):
        with_it = "both 1 and X" if "1" in said else "neither 1 nor X"
        raise PerturbationError(
            f"{path}: 0 may mean the same (0/X) or different (1/0), and there is {with_it} beside it: "
            f"say --marks {Marks.ZERO_X} or --marks {Marks.ONE_ZERO}"
        )
    return Marks.ZERO_X if "x" in said else Marks.ONE_ZERO


def once_each(paths: Sequence[Path]) -> None:
    """Raises PerturbationError where a file is given twice."""
    for path, count in Counter(path.resolve() for path in paths).items():
        if count > 1:
            raise PerturbationError(f"{path} is given {count} times: it counts once")


def agreement(judgements: Judgements, *, strictness: float = 0.8, confidence: float = 0.95) -> Agreement:
    """What annotators said, from judgements as `read_sheets` gives them.

    Raises PerturbationError if they are too few.
    """
    values = judgements.values
    said = [bool((row >= 0).any()) for row in values]
    judged = values[said] if values.size else values
    if judged.size == 0 or (judged >= 0).sum(axis=1).max() < 2 or len(judged) < 2:
        raise PerturbationError("agreement needs at least two items, and two judgements of one of them")
    yes = np.array([row[row >= 0].mean() for row in judged])
    value, low, high = gwet_ac1(judged, 2, confidence)
    strict = yes >= strictness - 1e-9
    items = [item for item, counts in zip(judgements.items, said, strict=True) if counts]
    failing = [
        Failing(item, int((row == 1).sum()), int((row >= 0).sum()))
        for item, row, passes in zip(items, judged, strict, strict=True)
        if not passes
    ]
    return Agreement(
        items=len(judged),
        annotators=int((judged >= 0).any(axis=0).sum()),
        yes=float(judged[judged >= 0].mean()),
        majority=float((yes > 0.5).mean()),
        thin=int(((judged >= 0).sum(axis=1) < 3).sum()),
        strict=float(strict.mean()),
        ac1=value,
        low=low,
        high=high,
        failing=tuple(sorted(failing, key=lambda each: each.yes / each.judgements)),
    )


def _judgement(cell: str, marks: Marks, where: str) -> int:
    said = cell.strip().lower()
    if not said:
        return -1
    digits = {Marks.ZERO_X: {"0": 1}, Marks.ONE_ZERO: {"1": 1, "0": 0}, Marks.WORDS: {}}[marks]
    if said in digits:
        return digits[said]
    if said in YES:
        return 1
    if said in NO:
        return 0
    raise PerturbationError(f"{where}: '{cell[:40]}' is neither yes nor no")


DECISION_COLUMNS = ("row", "task", "object_type", "action_type", "original", "paraphrase", "decision", "note")
"""Of a file of decisions; ``row`` counts the rows of the table from 1."""


class ReviewDecision(StrEnum):
    """What a reviewer says of a row."""

    ACCEPT = "accept"
    REJECT = "reject"
    NONE = ""
    """Not looked at yet."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What came of a review."""

    accepted: int
    rejected: int
    undecided: int
    """Rows that nobody decided; they are kept."""
    by_cell: Counter[tuple[str, str]]
    """Rejected rows by object type and action type."""


def write_review_sheet(table: Sequence[GridRow], path: Path) -> None:
    """Write a file of decisions that are still to be made: the column ``decision`` takes accept or reject."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(DECISION_COLUMNS)
        for number, row in enumerate(table, start=1):
            texts = (row.task, row.object_type, row.action_type, row.original, row.paraphrase)
            writer.writerow((number, *texts, "", ""))


def read_decisions(path: Path, table: Sequence[GridRow]) -> list[ReviewDecision]:
    """What was decided on each row of a table.

    Raises PerturbationError that names the line, for a word that is no decision, for a row that comes twice or is
    another text in the table, and for a file in which nothing is decided.
    """
    found = [ReviewDecision.NONE] * len(table)
    lines: dict[int, int] = {}
    for line, said in rows(path, ("row", "paraphrase", "decision")):
        number = int(said["row"]) if said["row"].isdecimal() else 0
        if not 1 <= number <= len(table):
            raise PerturbationError(
                f"{path}:{line}: there is no row '{said['row'][:40]}' in the table, which has {len(table)}"
            )
        if lines.setdefault(number, line) != line:
            raise PerturbationError(f"{path}:{line}: row {number} is in line {lines[number]} already")
        if said["paraphrase"] != table[number - 1].paraphrase:
            raise PerturbationError(
                f"{path}:{line}: row {number} of the table is '{table[number - 1].paraphrase[:80]}', "
                f"not '{said['paraphrase'][:80]}': the decisions are about another table"
            )
        word = said["decision"].strip().lower()
        if word not in tuple(ReviewDecision):
            valid = did_you_mean(word, (ReviewDecision.ACCEPT, ReviewDecision.REJECT))
            raise PerturbationError(f"{path}:{line}: '{word[:40]}' is no decision: {valid}")
        found[number - 1] = ReviewDecision(word)
    if not any(found):
        raise PerturbationError(f"{path} has no decision yet: the column 'decision' takes accept or reject")
    return found


def keep(source: Path, table: Sequence[GridRow], decisions: Sequence[ReviewDecision], out: Path) -> Reviewed:
    """Write a table without the rows that were rejected, with all of its columns; returns what came of it."""
    with open_table(source) as reader, out.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(
            stream, list(reader.fieldnames or ()), lineterminator="\n", extrasaction="ignore"
        )
        writer.writeheader()
        for row, decision in zip(reader, decisions, strict=True):
            if decision is not ReviewDecision.REJECT:
                writer.writerow(row)
    counts = Counter(decisions)
    return Reviewed(
        accepted=counts[ReviewDecision.ACCEPT],
        rejected=counts[ReviewDecision.REJECT],
        undecided=counts[ReviewDecision.NONE],
        by_cell=Counter(
            (row.object_type, row.action_type)
            for row, decision in zip(table, decisions, strict=True)
            if decision is ReviewDecision.REJECT
        ),
    )
