"""A page on which a person accepts or rejects paraphrases: one file that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from assay.perturb.words.grid.rules import Fault
from assay.perturb.words.grid.table import Row
from assay.perturb.words.human_check import DECISION_COLUMNS
from assay.report.rendering import rendered


@dataclass(frozen=True, slots=True)
class Shown:
    """A row of the table on the page."""

    number: int
    """In the table, from 1."""
    row: Row
    flaws: tuple[str, ...]
    """What the rules say against it."""


@dataclass(frozen=True, slots=True)
class CellPart:
    """The rows of a task in one cell."""

    object_type: str
    action_type: str
    shown: tuple[Shown, ...]


@dataclass(frozen=True, slots=True)
class TaskPart:
    """The rows of a task."""

    task: str
    original: str
    picture: str
    """Of its initial scene: base64 of a PNG; empty where it has none."""
    cells: tuple[CellPart, ...]


def review_page(
    table: Sequence[Row], faults: Sequence[Fault], pictures: Mapping[str, Path], *, name: str
) -> str:
    """The page for a table of that name: its rows by task and cell, with what the rules say against them."""
    flaws: dict[int, list[str]] = {}
    for fault in faults:
        flaws.setdefault(fault.line, []).append(f"{fault.rule}: {fault.reason}")
    shown = [Shown(number, row, tuple(flaws.get(row.line, ()))) for number, row in enumerate(table, start=1)]
    shown.sort(key=lambda each: (each.row.task, each.row.object_type, each.row.action_type, each.number))
    return rendered(
        "review.html.jinja",
        name=name,
        count=len(table),
        columns=DECISION_COLUMNS,
        tasks=[
            TaskPart(task, original, _encoded(pictures.get(task)), _cells(tuple(rows)))
            for (task, original), rows in groupby(shown, key=lambda each: (each.row.task, each.row.original))
        ],
    )


def _cells(shown: Sequence[Shown]) -> tuple[CellPart, ...]:
    return tuple(
        CellPart(thing, action, tuple(rows))
        for (thing, action), rows in groupby(
            shown, key=lambda each: (each.row.object_type, each.row.action_type)
        )
    )


def _encoded(picture: Path | None) -> str:
    return base64.b64encode(picture.read_bytes()).decode() if picture is not None else ""
