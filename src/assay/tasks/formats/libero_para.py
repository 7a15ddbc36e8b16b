"""LIBERO-Para: 4,092 paraphrases of LIBERO-Goal's instructions.

    metadata.csv                               every paraphrase: its types, the original, both similarities
    bddl_files/libero_para/act_..._ver0.bddl   the same paraphrases as task files

``eval`` counts the tasks of LIBERO-Goal in alphabetical order; the task is identified by its original instruction.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from assay import tasks
from assay.errors import BDDLError
from assay.tasks import Goal, bddl
from assay.tasks.formats import Label, ReleaseError, ReleaseWording, find_release, instruction, text_of

SUITE = "libero_goal"
TABLES = ("metrics/libero_para_metadata.csv", "libero_para_metadata.csv", "metadata.csv")
TASKS = ("libero/libero/bddl_files/libero_para", "bddl_files/libero_para", "libero_para", "")
NONE = "none"
OBJECT_TYPES = {
    "addition": ("lexical", "addition_deletion"),
    "contextual": ("lexical", "same_polarity_contextual"),
    "habitual": ("lexical", "same_polarity_habitual"),
}
"""Paraphrase types of object names: Assay's name -> the release's names."""
ACTION_TYPES = {
    **OBJECT_TYPES,
    "coordination": ("structural", "coordination"),
    "subordination": ("structural", "subordination"),
    "need": ("pragmatical", "need_statement"),
    "embedded": ("pragmatical", "embedded_imperative"),
    "permission": ("pragmatical", "permission_directive"),
    "question": ("pragmatical", "question_directive"),
    "hint": ("pragmatical", "hint"),
}
"""Paraphrase types of the action: Assay's name -> the release's names."""
_NAME = re.compile(
    r"(?P<high>act|obj|comp)_(?P<mid>[a-z]+(?:\+[a-z]+)?)_(?P<low>.+)_eval\d+_ver(?P<number>\d+)"
)
_LANGUAGE = re.compile(r"\(:language\s+([^()]*)\)")
"""Pattern of the instruction in a task file."""
PLACEHOLDER = "do it"
"""Placeholder for the instruction in the text that task files share."""

Types = tuple[str, str]
"""An object type and an action type, by Assay's names."""


def official(object_type: str, action_type: str) -> tuple[str, str, str]:
    """Return the release's names of two types: its columns ``high``, ``mid`` and ``low``."""
    thing, action = OBJECT_TYPES.get(object_type), ACTION_TYPES.get(action_type)
    if thing is None or action is None:
        return ("act", *action) if action is not None else ("obj", *(thing or ("", "")))
    return ("comp", f"{thing[0]}+{action[0]}", f"{thing[1]}+{action[1]}")


_TYPES: dict[tuple[str, str, str], Types] = {
    official(thing, action): (thing, action)
    for thing in (NONE, *OBJECT_TYPES)
    for action in (NONE, *ACTION_TYPES)
    if (thing, action) != (NONE, NONE)
}

Similarity = Annotated[float, Field(ge=0, le=1 + 1e-6, allow_inf_nan=False)]
"""Similarity from 0 to 1; published values may exceed 1 by rounding."""


@dataclass(frozen=True, slots=True)
class PublishedParaphrase:
    """A row of the metadata file, with its columns as fields."""

    high: str
    mid: str
    low: str
    eval: int
    batch_idx: int
    new_instruction: str
    original_instruction: str
    structural_similarity: Similarity
    keyword_similarity: Similarity

    @property
    def types(self) -> Types:
        """Object type and action type of the paraphrase."""
        return _TYPES[self.high, self.mid, self.low]


COLUMNS = tuple(field.name for field in fields(PublishedParaphrase))
_ROW = TypeAdapter(PublishedParaphrase)


def read_metadata(file: Path) -> tuple[PublishedParaphrase, ...]:
    """Read the rows of a metadata file. Raises ReleaseError that names file, line and column."""
    return tuple(row for row, _ in _rows(file))


def read_tasks(folder: Path) -> tuple[ReleaseWording, ...]:
    """Read the task files: types and number from the file name, the task from the goal, the paraphrase from the
    content.
    """
    place = find_release(folder, "LIBERO-Para", *TASKS)
    wordings = tuple(_task_files(place))
    if not wordings:
        raise ReleaseError(
            f"{place} holds no LIBERO-Para release: "
            "no task file is called like 'act_structural_coordination_eval0_ver0.bddl'"
        )
    return wordings


def _rows(file: Path) -> Iterator[tuple[PublishedParaphrase, str]]:
    """Yield the rows of a metadata file, each with its location for error messages."""
    rows = csv.DictReader(io.StringIO(text_of(file), newline=""), strict=True)
    try:
        lacking = sorted(set(COLUMNS) - set(rows.fieldnames or ()))
        if lacking:
            raise ReleaseError(
                f"{file}: has no column {', '.join(lacking)}; valid: LIBERO-Para's metadata.csv"
            )
        for row in rows:
            place = f"{file}:{rows.line_num}"
            paraphrase = _ROW.validate_python({name: row[name] for name in COLUMNS})
            types_of((paraphrase.high, paraphrase.mid, paraphrase.low), place)
            yield paraphrase, place
    except csv.Error as error:
        raise ReleaseError(f"{file}:{rows.line_num}: is not CSV: {error}") from None
    except ValidationError as error:
        raise ReleaseError(f"{file}:{rows.line_num}: {reason(error)}") from None


def _task_files(place: Path) -> Iterator[ReleaseWording]:
    homes: dict[str, str] = {}
    for file in sorted(place.glob("*_eval*_ver*.bddl")):
        name = _NAME.fullmatch(file.stem)
        if name is None:
            raise ReleaseError(f"{file}: the name says no type, task and version")
        content = text_of(file)
        language = _LANGUAGE.search(content)
        if language is None:
            raise ReleaseError(f"{file}: has no (:language ...) with an instruction")
        # Files of a task differ in what they say alone, so that the rest is parsed once for each task.
        rest = f"{content[: language.start(1)]}{PLACEHOLDER}{content[language.end(1) :]}"
        if rest not in homes:
            homes[rest] = _home(rest, file)
        types = types_of((name["high"], name["mid"], name["low"]), str(file))
        yield ReleaseWording(
            homes[rest], instruction(language[1], str(file)), _labels(types, int(name["number"]))
        )


def _home(text: str, file: Path) -> str:
    """Return the id of the task with the goal of a task file."""
    try:
        goal = bddl.parse(text, id=file.stem, file=file).goal
    except BDDLError as error:
        raise ReleaseError(str(error)) from None
    if goal not in _goals():
        raise ReleaseError(f"{file}: its goal is that of no task of {SUITE}")
    return _goals()[goal]


def _labels(types: Types, number: int) -> dict[str, Label]:
    return {"object_type": types[0], "action_type": types[1], "number": number}


def types_of(names: tuple[str, str, str], place: str) -> Types:
    """Return the types for the release's names. Raises ReleaseError for unknown names."""
    if names not in _TYPES:
        raise ReleaseError(f"{place}: LIBERO-Para has no type {', '.join(names)}")
    return _TYPES[names]


def reason(error: ValidationError) -> str:
    """Return the first validation error and its location, on one line."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return " ".join(f"{place}: {first['msg']}".split())[:200].removeprefix(": ")


@cache
def _goals() -> dict[Goal, str]:
    return {task.goal: task.id for task in tasks.suite(SUITE)}
