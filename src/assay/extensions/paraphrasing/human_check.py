"""Human evaluation of paraphrases: annotation sheets, agreement between annotators, and a review.

Each annotator judges whether a paraphrase asks for the same action as its original in the same scene (LIBERO-Para,
A.5). A reviewer accepts or rejects each row of a table; rejected rows are dropped.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np

from assay.errors import PerturbationError, did_you_mean
from assay.perturb.words.grid.table import COLUMNS, GridRow, rows
from assay.support.stats.significance import gwet_ac1
from assay.support.streams import stream

Marks = Literal["0X", "10"]
"""Meaning of the digit 0 on a sheet: same (0X, as in LIBERO-Para's protocol), or different (10)."""
_JUDGEMENTS = {
    "": -1,
    **dict.fromkeys(("yes", "y", "true", "same", "o", "1"), 1),
    **dict.fromkeys(("no", "n", "false", "different", "x"), 0),
}
"""Mark on a sheet -> judgement (1 for yes, 0 for no, -1 for none). The meaning of the mark 0 is an option."""
MIN_JUDGEMENTS = 3
"""Minimum number of judgements for a reliable majority vote on a paraphrase."""
ACCEPT, REJECT = "accept", "reject"
ANNOTATION_COLUMNS = ("item", *COLUMNS, "same")
DECISION_COLUMNS = ("row", *COLUMNS, "decision", "note")
"""Columns of a review sheet; ``row`` is the row number in the table, starting at 1."""
_ITEM = ("item", "original", "paraphrase")
_OWN_COLUMNS = frozenset({*_ITEM, *COLUMNS, "scene"})


@dataclass(frozen=True, slots=True)
class Item:
    """A paraphrase judged by annotators."""

    item: str
    """Number of the item on the sheet."""
    task: str
    """Id of the task; empty if the sheet does not have this column."""
    object_type: str
    """Object type of the cell; empty if the sheet does not have this column."""
    action_type: str
    """Action type of the cell; empty if the sheet does not have this column."""
    original: str
    paraphrase: str


Judgements = dict[Item, list[int]]
"""Item -> judgement of each annotator: 1 for yes, 0 for no, -1 if not judged."""


@dataclass(frozen=True, slots=True)
class Failing:
    """An item for which too few annotators judged that the meaning is the same."""

    item: Item
    yes: int
    """Number of annotators who judged that the meaning is the same."""
    judgements: int
    """Number of annotators who judged the item."""


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """Agreement between annotators on a sample."""

    items: int
    """Number of items with at least one judgement."""
    annotators: int
    """Number of annotators with at least one judgement."""
    yes: float
    """Fraction of all judgements that are yes (same meaning)."""
    majority: float
    """Fraction of items for which more than half of the judgements are yes (same meaning)."""
    thin: int
    """Number of items with fewer than three judgements, whose majority vote is unreliable."""
    strict: float
    """Fraction of items with at least the fraction ``strictness`` of yes judgements (same meaning)."""
    ac1: float
    """Gwet's AC1, the agreement beyond chance; 1 is perfect."""
    low: float
    """Lower confidence limit of Gwet's AC1."""
    high: float
    """Upper confidence limit of Gwet's AC1."""
    failing: tuple[Failing, ...]
    """Items that fail the strict criterion, sorted by increasing fraction of yes judgements."""


def sample(grid: Sequence[GridRow], share: float, seed: int) -> dict[int, GridRow]:
    """Sample a fraction of a grid's rows (at least one), in random order; keys are row numbers, starting at 1."""
    if not 0 < share <= 1:
        raise PerturbationError(f"--share {share}: expected a fraction greater than 0 and at most 1")
    if not grid:
        raise PerturbationError("the tables have no rows to sample from")
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
    """Read returned sheets, in which every column that is not a standard column holds one annotator's judgements.

    Raises PerturbationError if a 0 occurs but ``marks`` is not given, a cell is neither yes nor no, a sheet is
    blank, an item or a sheet occurs twice, or an item has different texts on two sheets.
    """
    check_distinct(paths)
    values = _JUDGEMENTS if marks is None else {**_JUDGEMENTS, "0": int(marks == "0X")}
    items: dict[str, Item] = {}
    columns: list[dict[str, int]] = []
    for path in paths:
        lines: dict[str, int] = {}
        judgements: dict[str, dict[str, int]] = {}
        for line, row in rows(path, _ITEM):
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
                        hint = "; pass --marks 0X (0 means same) or --marks 10 (0 means different)" * (
                            mark == "0"
                        )
                        raise PerturbationError(
                            f"{path}:{line}: {name}: '{cell[:40]}' is neither yes nor no{hint}"
                        )
                    judgements.setdefault(name, {})[number] = values[mark]
        if all(value < 0 for column in judgements.values() for value in column.values()):
            raise PerturbationError(
                f"{path} contains no judgements yet: annotators enter yes or no in the column 'same'"
            )
        columns += judgements.values()
    return {item: [column.get(number, -1) for column in columns] for number, item in items.items()}


def check_distinct(paths: Sequence[Path]) -> None:
    """Raise PerturbationError if a file is given more than once."""
    for path, count in Counter(path.resolve() for path in paths).items():
        if count > 1:
            raise PerturbationError(f"{path} was given {count} times")


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


def read_decisions(path: Path, table: Sequence[GridRow]) -> list[str]:
    """Read the decision on each row of a table: ``accept``, ``reject``, or empty if undecided.

    Raises PerturbationError for an invalid decision, a duplicate row, a row whose text differs from that in the
    table, or a file without decisions.
    """
    decisions = [""] * len(table)
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
        decision = fields["decision"].strip().lower()
        if decision not in ("", ACCEPT, REJECT):
            advice = did_you_mean(decision, (ACCEPT, REJECT))
            raise PerturbationError(f"{path}:{line}: '{decision[:40]}' is not a decision: {advice}")
        decisions[number - 1] = decision
    if not any(decisions):
        raise PerturbationError(
            f"{path} contains no decisions yet: enter accept or reject in the column 'decision'"
        )
    return decisions
