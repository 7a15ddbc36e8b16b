"""A self-contained page on which a person accepts or rejects paraphrases."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from assay.perturb.words.grid.rules import Fault
from assay.perturb.words.grid.table import GridRow
from assay.perturb.words.human_check import DECISION_COLUMNS
from assay.report.rendering import render


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """A row of the table on the page."""

    number: int
    """In the table, from 1."""
    row: GridRow
    flaws: tuple[str, ...]
    """Violated rules."""


def review_page(
    table: Sequence[GridRow], faults: Sequence[Fault], pictures: Mapping[str, Path], *, name: str
) -> str:
    """The page of a table: its rows by task and cell, with violated rules and images of the initial scenes."""
    flaws: dict[int, list[str]] = {}
    for fault in faults:
        flaws.setdefault(fault.line, []).append(f"{fault.rule}: {fault.reason}")
    rows = [
        ReviewRow(number, row, tuple(flaws.get(row.line, ()))) for number, row in enumerate(table, start=1)
    ]
    rows.sort(key=lambda row: (row.row.task, row.row.object_type, row.row.action_type, row.number))
    tasks = []
    for (task, original), own in groupby(rows, key=lambda row: (row.row.task, row.row.original)):
        cells = groupby(own, key=lambda row: (row.row.object_type, row.row.action_type))
        image = pictures.get(task)
        tasks.append(
            {
                "task": task,
                "original": original,
                "picture": base64.b64encode(image.read_bytes()).decode() if image is not None else "",
                "cells": [
                    {"object_type": object_type, "action_type": action_type, "rows": tuple(in_cell)}
                    for (object_type, action_type), in_cell in cells
                ],
            }
        )
    return render("review.html.jinja", name=name, count=len(table), columns=DECISION_COLUMNS, tasks=tasks)
