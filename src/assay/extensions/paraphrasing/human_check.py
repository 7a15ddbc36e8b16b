"""Human evaluation of paraphrases: annotation sheets with annotator agreement, and the authors' review.

Each annotator judges whether a paraphrase asks for the same action as its original in the same scene (LIBERO-Para,
A.5). A reviewer accepts or rejects each row of a table; rejected rows are dropped.
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

from assay.errors import PerturbationError, did_you_mean
from assay.perturb.words.grid.table import COLUMNS, GridRow, rows
from assay.support.stats.significance import gwet_ac1
from assay.support.streams import stream

YES = frozenset({"yes", "y", "true", "same", "o"})
NO = frozenset({"no", "n", "false", "different", "x"})
MIN_JUDGEMENTS = 3
ANNOTATION_COLUMNS = ("item", *COLUMNS, "same")
DECISION_COLUMNS = ("row", *COLUMNS, "decision", "note")
"""Columns of a review sheet; ``row`` is the row number in the table, starting at 1."""
_ITEM = ("item", "original", "paraphrase")
_OWN_COLUMNS = frozenset({*_ITEM, *COLUMNS, "scene"})


class Marks(StrEnum):
    """Meaning of the digit 0 on a sheet."""

    ZERO_X = "0X"
    """0 means the same, X different, as in LIBERO-Para's protocol."""
    ONE_ZERO = "10"
    """1 means the same, 0 different."""
    WORDS = "words"
    """The sheet contains words instead of digits."""


_DIGITS: Mapping[Marks, Mapping[str, int]] = {
    Marks.ZERO_X: {"0": 1},
    Marks.ONE_ZERO: {"1": 1, "0": 0},
    Marks.WORDS: {},
}


@dataclass(frozen=True, slots=True)
class Item:
    """A paraphrase judged by annotators."""

    item: str
    """Number of the item on the sheet."""
    task: str
    object_type: str
    action_type: str
    """Object and action types; empty if the sheet does not have these columns."""
    original: str
    paraphrase: str


Judgements = dict[Item, list[int]]
"""Item -> judgement of each annotator: 1 for yes, 0 for no, -1 if not judged."""


@dataclass(frozen=True, slots=True)
class Failing:
    """An item that too few annotators judged to have the same meaning."""

    item: Item
    yes: int
    judgements: int


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """Agreement between annotators on a sample."""

    items: int
    annotators: int
    yes: float
    """Fraction of yes among all judgements."""
    majority: float
    """Fraction of items that more than half of their annotators judged to have the same meaning."""
    thin: int
    """Number of items with fewer than three judgements, whose majority is unreliable."""
    strict: float
    """Fraction of items that at least a fraction ``strictness`` of their annotators judged to have the same meaning."""
    ac1: float
    """Gwet's AC1, the agreement beyond chance; 1 is perfect."""
    low: float
    high: float
    """Confidence interval of ``ac1``."""
    failing: tuple[Failing, ...]
    """Items that fail the strict criterion, sorted by increasing fraction of yes."""


class ReviewDecision(StrEnum):
    """A reviewer's decision on a row."""

    ACCEPT = "accept"
    REJECT = "reject"
    NONE = ""
    """Not decided yet."""


def sample(grid: Sequence[GridRow], share: float, seed: int) -> dict[int, GridRow]:
    """Draw a random fraction of a grid, at least one row, in random order; keys are row numbers from 1.

    Raises PerturbationError.
    """
    if not 0 < share <= 1:
        raise PerturbationError(f"--share {share}: expected a fraction greater than 0 and at most 1")
    if not grid:
        raise PerturbationError("the table has no rows to sample from")
    order = stream(seed, "words", "agreement").permutation(len(grid))
    return {int(index) + 1: grid[index] for index in order[: math.ceil(share * len(grid))]}


def write_sheet(
    path: Path,
    chosen: Mapping[int, GridRow],
    header: Sequence[str],
    pictures: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write a sheet to be filled in, with `ANNOTATION_COLUMNS` for annotators or `DECISION_COLUMNS` for a reviewer.

    The columns after the texts are left blank: ``same`` takes yes or no, ``decision`` accept or reject.
    ``pictures`` maps task ids to image files of their initial scenes, which are listed in a column after the
    texts.
    """
    texts, blanks = header[: 1 + len(COLUMNS)], header[1 + len(COLUMNS) :]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*texts, *(["scene"] if pictures else []), *blanks))
        for number, row in chosen.items():
            cells = (number, row.task, row.object_type, row.action_type, row.original, row.paraphrase)
            writer.writerow((*cells, *([pictures[row.task]] if pictures else []), *("" for _ in blanks)))


def read_sheets(paths: Sequence[Path], marks: Marks | None = None) -> Judgements:
    """Read returned sheets; every column that is not a standard column of the sheet is one annotator.

    The meaning of 0 is inferred from the other marks on a sheet unless ``marks`` sets it. Raises PerturbationError
    for an ambiguous 0, a cell that is neither yes nor no, a blank sheet, a duplicate item or sheet, and for
    sheets whose items have different texts.
    """
    check_distinct(paths)
    items: dict[str, Item] = {}
    columns: list[dict[str, int]] = []
    for path in paths:
        lines: dict[str, int] = {}
        judgements: dict[str, dict[str, int]] = {}
        sheet = list(rows(path, _ITEM))
        values = {"": -1, **dict.fromkeys(YES, 1), **dict.fromkeys(NO, 0)}
        values |= _DIGITS[marks or _infer_marks(path, [row for _, row in sheet])]
        for line, row in sheet:
            number, pair = row["item"], (row["original"], row["paraphrase"])
            if lines.setdefault(number, line) != line:
                raise PerturbationError(f"{path}:{line}: item {number} is already on line {lines[number]}")
            task, object_type, action_type = (row.get(name, "") for name in COLUMNS[:3])
            item = items.setdefault(number, Item(number, task, object_type, action_type, *pair))
            if (item.original, item.paraphrase) != pair:
                raise PerturbationError(f"{path}:{line}: item {number} has different texts on another sheet")
            for name, cell in row.items():
                if name not in _OWN_COLUMNS:
                    if (mark := cell.strip().lower()) not in values:
                        raise PerturbationError(f"{path}:{line}: {name}: '{cell[:40]}' is neither yes nor no")
                    judgements.setdefault(name, {})[number] = values[mark]
        if all(value < 0 for column in judgements.values() for value in column.values()):
            raise PerturbationError(
                f"{path} contains no judgements yet: annotators enter yes or no in the column 'same'"
            )
        columns += judgements.values()
    return {item: [column.get(number, -1) for column in columns] for number, item in items.items()}


def _infer_marks(path: Path, sheet: Sequence[Mapping[str, str]]) -> Marks:
    """Infer the meaning of 0 from the other marks. Raises PerturbationError if it is ambiguous."""
    cells = {cell.strip().lower() for row in sheet for name, cell in row.items() if name not in _OWN_COLUMNS}
    if "0" not in cells:
        return Marks.ONE_ZERO if "1" in cells else Marks.WORDS
    if ("x" in cells) == ("1" in cells):
        others = "both 1 and X" if "1" in cells else "neither 1 nor X"
        raise PerturbationError(
            f"{path}: 0 may mean the same (0/X) or different (1/0), and the sheet contains {others}: "
            f"pass --marks {Marks.ZERO_X} or --marks {Marks.ONE_ZERO}"
        )
    return Marks.ZERO_X if "x" in cells else Marks.ONE_ZERO


def check_distinct(paths: Sequence[Path]) -> None:
    """Raise PerturbationError if a file is given more than once."""
    for path, count in Counter(path.resolve() for path in paths).items():
        if count > 1:
            raise PerturbationError(f"{path} is given {count} times")


def agreement(
    judgements: Judgements, *, strictness: float = 0.8, confidence: float = 0.95
) -> AnnotatorAgreement:
    """Compute the agreement between annotators. Raises PerturbationError if there are too few judgements."""
    items = [item for item, marks in judgements.items() if max(marks) >= 0]
    judged = np.array([judgements[item] for item in items])  # (items, annotators)
    counts = (judged >= 0).sum(axis=-1)
    if len(items) < 2 or counts.max() < 2:
        raise PerturbationError(
            "agreement needs at least two items, one of them with at least two judgements"
        )
    agreeing = (judged == 1).sum(axis=1)
    yes = agreeing / counts
    ac1, low, high = gwet_ac1(judged, 2, confidence)
    strict = yes >= strictness - 1e-9
    failing = [
        Failing(items[place], int(agreeing[place]), int(counts[place])) for place in np.flatnonzero(~strict)
    ]
    return AnnotatorAgreement(
        items=len(items),
        annotators=int((judged >= 0).any(axis=0).sum()),
        yes=float(judged[judged >= 0].mean()),
        majority=float((yes > 0.5).mean()),
        thin=int((counts < MIN_JUDGEMENTS).sum()),
        strict=float(strict.mean()),
        ac1=ac1,
        low=low,
        high=high,
        failing=tuple(sorted(failing, key=lambda failure: failure.yes / failure.judgements)),
    )


def read_decisions(path: Path, table: Sequence[GridRow]) -> list[ReviewDecision]:
    """Read the decision on each row of a table.

    Raises PerturbationError, naming the line, for an invalid decision, a duplicate row, or a row whose text
    differs from the table, and also for a file without decisions.
    """
    decisions = [ReviewDecision.NONE] * len(table)
    lines: dict[int, int] = {}
    for line, fields in rows(path, ("row", "paraphrase", "decision")):
        number = int(fields["row"]) if fields["row"].isdecimal() else 0
        if not 1 <= number <= len(table):
            raise PerturbationError(
                f"{path}:{line}: row '{fields['row'][:40]}' is not in the table, which has {len(table)} rows"
            )
        if lines.setdefault(number, line) != line:
            raise PerturbationError(f"{path}:{line}: row {number} is already on line {lines[number]}")
        if fields["paraphrase"] != table[number - 1].paraphrase:
            raise PerturbationError(
                f"{path}:{line}: row {number} of the table is '{table[number - 1].paraphrase[:80]}', "
                f"not '{fields['paraphrase'][:80]}': the decisions belong to another table"
            )
        word = fields["decision"].strip().lower()
        if word not in tuple(ReviewDecision):
            valid = did_you_mean(word, (ReviewDecision.ACCEPT, ReviewDecision.REJECT))
            raise PerturbationError(f"{path}:{line}: '{word[:40]}' is not a decision: {valid}")
        decisions[number - 1] = ReviewDecision(word)
    if not any(decisions):
        raise PerturbationError(
            f"{path} contains no decisions yet: enter accept or reject in the column 'decision'"
        )
    return decisions
