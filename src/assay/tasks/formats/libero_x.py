"""LIBERO-X: task files for four levels, and five rewordings of every instruction on the fourth.

bddl/LEVEL4/KITCHEN_SCENE21_LEVEL4__T107__A1_open_it.bddl    scene, number, variant and instruction of a task
LEVEL5/L5-1.jsonl                                            rewordings of one form
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from assay import tasks
from assay.errors import TaskError
from assay.tasks import Task
from assay.tasks.checks import validation_reason
from assay.tasks.formats import Label, ReleaseError, ReleaseWording, find_release, instruction, text_of

FORMS = {1: "synonym", 2: "concise", 3: "reorder", 4: "passive", 5: "verbose"}
"""Mapping from a file's number to Assay's name for its form of rewording."""
LEVELS = (1, 2, 3, 4)
_FOLDERS = ("libero/libero_x/", "libero_x/", "")
_NAME = re.compile(
    r"(?P<scene>\w+?_SCENE\d+)_(?:LEVEL\d__T(?P<number>\d+)_(?:_(?P<variant>A\d+)_)?)?(?P<words>(?!_).+)"
)
BAD_NAME = "the file name does not have LIBERO-X's form ..._SCENE21_LEVEL4__T107__A1_..."


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file, or a line in a file, that does not follow the release's format."""

    level: int
    what: str
    """Path of the file, with the line number if the error is on one line."""
    reason: str
    """Reason without the location, so that equal reasons can be counted."""


@dataclass(frozen=True)
class TaskFile:
    """A task file, with the fields of its name and its task."""

    path: Path
    level: int
    scene: str
    number: str
    """Number of the task; empty on levels whose file names have no number."""
    variant: str
    """``A1`` or ``A2`` on level 4, if the target is a variant of a known object among similar objects.

    Empty if the target belongs to a category unseen in training, or the task only changes the state of an object.
    """
    words: str
    """Instruction as spelled in the file name."""

    @property
    def wording(self) -> str:
        """Id under which level 5 lists the rewordings of this task."""
        return _id(int(self.number or 0), self.variant)

    @cached_property
    def task(self) -> Task:
        """The task in the file. Raises TaskError if it cannot be read."""
        return tasks.load(str(self.path))

    @cached_property
    def problem(self) -> Unreadable | None:
        """Reason why the file does not contain a valid task; None if it does."""
        try:
            _ = self.task
        except TaskError as error:
            place = re.escape(str(self.path))
            return Unreadable(self.level, self.path.name, re.sub(rf"{place}(:\d+)*:? *", "", str(error)))
        return None


@dataclass(frozen=True, slots=True)
class Checkout:
    """Contents of a folder that holds the release."""

    files: Mapping[int, tuple[TaskFile, ...]]
    """Task files by level. All files on level 1, which define the tasks, could be read."""
    wordings: tuple[ReleaseWording, ...]
    """Rewordings on level 5."""
    unreadable: tuple[Unreadable, ...]
    """Unreadable files and lines on levels 1 and 5, and files whose names cannot be parsed."""


def task_folder(folder: Path) -> Path:
    """Return the folder that contains the task files of each level."""
    return find_release(folder, "LIBERO-X", *(f"{prefix}bddl/LEVEL1" for prefix in _FOLDERS)).parent


def read(folder: Path) -> Checkout:
    """Read the release from a folder.

    Raises ReleaseError if there is no task on level 1, because level 1 is the control for the other levels.
    """
    place = task_folder(folder)
    bad: list[Unreadable] = []
    files: dict[int, tuple[TaskFile, ...]] = {}
    for level in LEVELS:
        names = {
            path: _NAME.fullmatch(path.stem) for path in sorted((place / f"LEVEL{level}").glob("*.bddl"))
        }
        bad += [Unreadable(level, path.name, BAD_NAME) for path, name in names.items() if name is None]
        files[level] = tuple(
            TaskFile(path, level, **name.groupdict("")) for path, name in names.items() if name is not None
        )
    bad += [file.problem for file in files[1] if file.problem is not None]
    files[1] = tuple(file for file in files[1] if file.problem is None)
    if not files[1]:
        why = f": {bad[0].what}: {bad[0].reason}" if bad else ""
        raise ReleaseError(
            f"{place / 'LEVEL1'}: no task file{why}; level 1 is the control for the other levels"
        )
    return Checkout(files, _wordings(place.parent / "LEVEL5", files[4], bad), tuple(bad))


def pairs(files: Mapping[int, tuple[TaskFile, ...]]) -> Iterator[tuple[TaskFile | None, TaskFile]]:
    """Pair every file with its counterpart on level 1 (a file on level 1 with itself), or with None.

    Files are matched by number, by scene and words, or else, if readable, by scene and goal.
    """
    named = {(file.scene, file.words): file for file in files[1]}
    scenes = defaultdict(list)
    for file in files[1]:
        scenes[file.scene].append(file)
    numbered: dict[str, TaskFile] = {}
    for file in (candidate for level in LEVELS for candidate in files[level]):
        base = numbered.get(file.number) or named.get((file.scene, file.words))
        if base is None and file.problem is None:
            same = (other for other in scenes[file.scene] if other.task.goal == file.task.goal)
            base = next(same, None)
        if file.number and not file.variant and base is not None:
            numbered.setdefault(file.number, base)
        yield base, file


class _Row(BaseModel):
    """A line of a file on level 5."""

    task_desc: str
    variant: Literal["", "A1", "A2"]
    task_id: int


def _wordings(
    folder: Path, level4: tuple[TaskFile, ...], bad: list[Unreadable]
) -> tuple[ReleaseWording, ...]:
    """Read the rewordings in the five files, each with its form and its task file on level 4, if any.

    The task id is ``libero_x/`` with the release's number and variant: ``libero_x/107/A1``, ``libero_x/100``.
    """
    files = {file.wording: file.path.stem for file in level4 if file.number}
    wordings: list[ReleaseWording] = []
    for form, name in FORMS.items():
        file = folder / f"L5-{form}.jsonl"
        try:
            lines = text_of(file).splitlines()
        except ReleaseError as error:
            bad.append(Unreadable(5, f"LEVEL5/{file.name}", str(error).removeprefix(f"{file} ")))
            continue
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            place = f"{file.name}:{number}"
            try:
                row = _Row.model_validate_json(line)
                id = _id(row.task_id, row.variant)
                labels: dict[str, Label] = {"form": name, "number": form, "file": files.get(id)}
                wordings.append(ReleaseWording(id, instruction(row.task_desc, place), labels))
            except ValidationError as error:
                bad.append(Unreadable(5, place, validation_reason(error)))
            except ReleaseError as error:
                bad.append(Unreadable(5, place, str(error).removeprefix(f"{place}: ")))
    return tuple(wordings)


def _id(number: int, variant: str) -> str:
    return f"libero_x/{number}/{variant}" if variant else f"libero_x/{number}"
