"""LIBERO-Para: 4,092 paraphrases of LIBERO-Goal's instructions, as a table with scores and as task files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from assay import tasks
from assay.errors import BDDLError, PerturbationError
from assay.perturb.words.grid.cells import cell_of_official
from assay.perturb.words.releases.base import Label, ReleaseError, Wording, found, instruction, text_of
from assay.tasks import Goal, bddl
from assay.tasks.checks import quoted

TABLES = ("metrics/libero_para_metadata.csv", "libero_para_metadata.csv", "metadata.csv")
TASKS = ("libero/libero/bddl_files/libero_para", "bddl_files/libero_para", "libero_para", "")
COLUMNS = (
    "high",
    "mid",
    "low",
    "eval",
    "batch_idx",
    "new_instruction",
    "original_instruction",
    "structural_similarity",
    "keyword_similarity",
)
_SUITE = "libero_goal"
_NAME = re.compile(
    r"(?P<high>act|obj|comp)_(?P<mid>[a-z]+(?:\+[a-z]+)?)_(?P<low>.+)_eval\d+_ver(?P<number>\d+)"
)


def read_table(folder: Path) -> tuple[Wording, ...]:
    """The rows of the metadata: cell, number, and the published similarities ``s_k`` and ``s_t``."""
    file = found(folder, "LIBERO-Para", *TABLES)
    rows = csv.DictReader(io.StringIO(text_of(file)), restval="", strict=True)
    try:
        missing = [column for column in COLUMNS if column not in (rows.fieldnames or ())]
        if missing:
            raise ReleaseError(f"{file}: lacks the columns {', '.join(missing)}")
        return tuple(_row(row, f"{file}:{rows.line_num}") for row in rows)
    except csv.Error as error:
        raise ReleaseError(f"{file}:{rows.line_num}: is not CSV: {error}") from None


def read_tasks(folder: Path) -> tuple[Wording, ...]:
    """The task files: cell and number from their names, the task from their goals, the text from inside."""
    place = found(folder, "LIBERO-Para", *TASKS)
    wordings = tuple(_task_files(place))
    if not wordings:
        raise ReleaseError(
            f"{place} holds no LIBERO-Para release: "
            "no task file is called like 'act_structural_coordination_eval0_ver0.bddl'"
        )
    return wordings


def _task_files(place: Path) -> Iterator[Wording]:
    for file in sorted(place.glob("*_eval*_ver*.bddl")):
        name = _NAME.fullmatch(file.stem)
        if name is None:
            raise ReleaseError(f"{file}: the name says no type, task and version")
        try:
            task = bddl.read(file)
        except BDDLError as error:
            raise ReleaseError(str(error)) from None
        if task.goal not in _goals():
            raise ReleaseError(f"{file}: its goal is that of no task of {_SUITE}")
        labels = _cell(name["high"], name["mid"], name["low"], str(file)) | {"number": int(name["number"])}
        yield Wording(_goals()[task.goal], instruction(task.instruction.text, str(file)), labels)


def _row(row: dict[str, str], place: str) -> Wording:
    original = " ".join(row["original_instruction"].lower().split())
    if original not in _originals():
        raise ReleaseError(f"{place}: no task of {_SUITE} is {quoted(original)}")
    try:
        scores: dict[str, Label] = {
            "number": int(row["batch_idx"]),
            "s_k": float(row["keyword_similarity"]),
            "s_t": float(row["structural_similarity"]),
        }
    except (ValueError, TypeError):
        raise ReleaseError(f"{place}: batch_idx and the similarities must be numbers") from None
    labels = _cell(row["high"], row["mid"], row["low"], place) | scores
    return Wording(_originals()[original], instruction(row["new_instruction"], place), labels)


def _cell(high: str, mid: str, low: str, place: str) -> dict[str, Label]:
    try:
        cell = cell_of_official(high, mid, low)
    except PerturbationError as error:
        raise ReleaseError(f"{place}: {error}") from None
    return {"object_type": cell.object_type.value, "action_type": cell.action_type.value}


@cache
def _originals() -> dict[str, str]:
    return {task.instruction.text: task.id for task in tasks.suite(_SUITE)}


@cache
def _goals() -> dict[Goal, str]:
    return {task.goal: task.id for task in tasks.suite(_SUITE)}
