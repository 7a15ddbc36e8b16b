"""The review of a table of paraphrases: a person accepts or rejects each row, and the rejected ones are dropped."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from assay.errors import PerturbationError, did_you_mean
from assay.perturb.words.grid.table import Row, open_table, rows

COLUMNS = ("row", "task", "object_type", "action_type", "original", "paraphrase", "decision", "note")
"""Of a file of decisions; ``row`` counts the rows of the table from 1."""


class Decision(StrEnum):
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


def write_sheet(table: Sequence[Row], path: Path) -> None:
    """Write a file of decisions that are still to be made: the column ``decision`` takes accept or reject."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for number, row in enumerate(table, start=1):
            texts = (row.task, row.object_type, row.action_type, row.original, row.paraphrase)
            writer.writerow((number, *texts, "", ""))


def read_decisions(path: Path, table: Sequence[Row]) -> list[Decision]:
    """What was decided on each row of a table.

    Raises PerturbationError that names the line, for a word that is no decision, for a row that comes twice or is
    another text in the table, and for a file in which nothing is decided.
    """
    found = [Decision.NONE] * len(table)
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
        if word not in tuple(Decision):
            valid = did_you_mean(word, (Decision.ACCEPT, Decision.REJECT))
            raise PerturbationError(f"{path}:{line}: '{word[:40]}' is no decision: {valid}")
        found[number - 1] = Decision(word)
    if not any(found):
        raise PerturbationError(f"{path} has no decision yet: the column 'decision' takes accept or reject")
    return found


def keep(source: Path, table: Sequence[Row], decisions: Sequence[Decision], out: Path) -> Reviewed:
    """Write a table without the rows that were rejected, with all of its columns; returns what came of it."""
    with open_table(source) as reader, out.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(
            stream, list(reader.fieldnames or ()), lineterminator="\n", extrasaction="ignore"
        )
        writer.writeheader()
        for row, decision in zip(reader, decisions, strict=True):
            if decision is not Decision.REJECT:
                writer.writerow(row)
    counts = Counter(decisions)
    return Reviewed(
        accepted=counts[Decision.ACCEPT],
        rejected=counts[Decision.REJECT],
        undecided=counts[Decision.NONE],
        by_cell=Counter(
            (row.object_type, row.action_type)
            for row, decision in zip(table, decisions, strict=True)
            if decision is Decision.REJECT
        ),
    )
