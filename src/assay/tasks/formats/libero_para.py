"""LIBERO-Para: 4,092 paraphrases of LIBERO-Goal's instructions.

    metadata.csv                               every paraphrase: its types, its original and two similarity scores
    bddl_files/libero_para/act_..._ver0.bddl   the same paraphrases as task files

``eval`` is the number of a task of LIBERO-Goal in alphabetical order; here tasks are identified by the original
instruction.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from assay import tasks
from assay.errors import BDDLError
from assay.tasks import bddl
from assay.tasks.checks import validation_reason
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
"""Paraphrase types for object names, as a mapping from Assay's name to the release's names."""
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
"""Paraphrase types for the action, as a mapping from Assay's name to the release's names."""
_NAME = re.compile(
    r"(?P<high>act|obj|comp)_(?P<mid>[a-z]+(?:\+[a-z]+)?)_(?P<low>.+)_eval\d+_ver(?P<number>\d+)"
)

Types = tuple[str, str]
"""Assay's names for a paraphrase's object type and action type."""


def official(object_type: str, action_type: str) -> tuple[str, str, str]:
    """Return the release's names for an object type and an action type: columns ``high``, ``mid`` and ``low``."""
    noun, action = OBJECT_TYPES.get(object_type), ACTION_TYPES.get(action_type)
    if noun is None or action is None:
        return ("act", *action) if action is not None else ("obj", *(noun or ("", "")))
    return ("comp", f"{noun[0]}+{action[0]}", f"{noun[1]}+{action[1]}")


TYPES: dict[tuple[str, str, str], Types] = {
    official(object_type, action_type): (object_type, action_type)
    for object_type in (NONE, *OBJECT_TYPES)
    for action_type in (NONE, *ACTION_TYPES)
    if (object_type, action_type) != (NONE, NONE)
}
"""Mapping from the release's names (columns ``high``, ``mid`` and ``low``) to Assay's object and action types."""

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
        return TYPES[self.high, self.mid, self.low]


COLUMNS = tuple(field.name for field in fields(PublishedParaphrase))
_ROW = TypeAdapter(PublishedParaphrase)


def read_metadata(file: Path) -> tuple[PublishedParaphrase, ...]:
    """Read the rows of a metadata file. Raises ReleaseError with the file, line and column."""
    rows = csv.DictReader(io.StringIO(text_of(file), newline=""), strict=True)
    paraphrases = []
    try:
        lacking = sorted(set(COLUMNS) - set(rows.fieldnames or ()))
        if lacking:
            raise ReleaseError(
                f"{file} lacks the columns {', '.join(lacking)}; expected LIBERO-Para's metadata.csv"
            )
        for row in rows:
            paraphrase = _ROW.validate_python({name: row[name] for name in COLUMNS})
            types_of((paraphrase.high, paraphrase.mid, paraphrase.low), f"{file}:{rows.line_num}")
            paraphrases.append(paraphrase)
    except csv.Error as error:
        raise ReleaseError(f"{file}:{rows.line_num}: invalid CSV: {error}") from None
    except ValidationError as error:
        raise ReleaseError(f"{file}:{rows.line_num}: {validation_reason(error)}") from None
    return tuple(paraphrases)


def read_tasks(folder: Path) -> tuple[ReleaseWording, ...]:
    """Read the task files.

    The types and the number are taken from the file name, the task from the goal, and the text from the content.
    """
    place = find_release(folder, "LIBERO-Para", *TASKS)
    ids = {task.goal: task.id for task in tasks.suite(SUITE)}
    wordings = []
    for file in sorted(place.glob("*_eval*_ver*.bddl")):
        name = _NAME.fullmatch(file.stem)
        if name is None:
            raise ReleaseError(f"{file}: the file name does not contain the type, task and version")
        try:
            task = bddl.read(file)
        except BDDLError as error:
            raise ReleaseError(str(error)) from None
        if task.goal not in ids:
            raise ReleaseError(f"{file}: no task in {SUITE} has this goal")
        object_type, action_type = types_of((name["high"], name["mid"], name["low"]), str(file))
        labels: dict[str, Label] = {
            "object_type": object_type,
            "action_type": action_type,
            "number": int(name["number"]),
        }
        wordings.append(ReleaseWording(ids[task.goal], instruction(task.instruction.text, str(file)), labels))
    if not wordings:
        raise ReleaseError(
            f"{place} does not contain the LIBERO-Para release: "
            "no task file is named like 'act_structural_coordination_eval0_ver0.bddl'"
        )
    return tuple(wordings)


def types_of(names: tuple[str, str, str], place: str) -> Types:
    """Return the types for the release's names. Raises ReleaseError if they are unknown."""
    if names not in TYPES:
        raise ReleaseError(f"{place}: LIBERO-Para has no type {', '.join(names)}")
    return TYPES[names]
