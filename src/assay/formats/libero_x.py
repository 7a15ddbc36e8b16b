"""LIBERO-X: task files on four levels, and five rewordings of every instruction of the fourth.

bddl/LEVEL4/KITCHEN_SCENE21_LEVEL4__T107__A1_open_it.bddl    scene, number, variant and words of a task
LEVEL5/L5-1.jsonl                                            one form of rewording
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay import tasks
from assay.formats.release import Label, ReleaseError, Wording, found, instruction, text_of
from assay.tasks import Task

FORMS = {1: "synonym", 2: "concise", 3: "reorder", 4: "passive", 5: "verbose"}
"""Number of a file -> what it does to an instruction, in our words for it."""
LEVELS = (1, 2, 3, 4)
_FOLDERS = ("libero/libero_x/", "libero_x/", "")
_NAME = re.compile(
    r"(?P<scene>\w+?_SCENE\d+)_(?:LEVEL\d__T(?P<number>\d+)_(?:_(?P<variant>A\d+)_)?)?(?P<words>(?!_).+)"
)
_VARIANT = re.compile(r"(?:A\d+)?")


@dataclass(frozen=True)
class TaskFile:
    """A task file: what its name says, and the task in it. Raises ReleaseError where the name says nothing."""

    path: Path
    level: int

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.path.stem):
            raise ReleaseError(
                f"{self.path}: is not called like a task of LIBERO-X: ..._SCENE21_LEVEL4__T107__A1_..."
            )

    @property
    def _name(self) -> dict[str, str]:
        match = _NAME.fullmatch(self.path.stem)
        assert match is not None
        return match.groupdict("")

    @property
    def scene(self) -> str:
        """Its scene's name."""
        return self._name["scene"]

    @property
    def words(self) -> str:
        """The task in the words of the name."""
        return self._name["words"]

    @property
    def number(self) -> str:
        """The task's number; empty on the levels whose files have none."""
        return self._name["number"]

    @property
    def variant(self) -> str:
        """``A1`` or ``A2``, or nothing."""
        return self._name["variant"]

    @property
    def wording(self) -> str:
        """The id under which level 5 rewords it."""
        return _id(int(self.number or 0), self.variant)

    @cached_property
    def task(self) -> Task:
        """The task in it."""
        return tasks.load(str(self.path))


def task_folder(folder: Path) -> Path:
    """Where the levels' folders of task files are."""
    return found(folder, "LIBERO-X", *(f"{each}bddl/LEVEL1" for each in _FOLDERS)).parent


def task_files(folder: Path) -> dict[int, list[TaskFile]]:
    """The task files of each level. Raises ReleaseError where there is none on level 1."""
    place = task_folder(folder)
    files = {level: _level(place / f"LEVEL{level}", level) for level in LEVELS}
    if not files[1]:
        raise ReleaseError(f"{place / 'LEVEL1'}: no task file there: level 1 is the control of the others")
    return files


def pairs(files: dict[int, list[TaskFile]]) -> Iterator[tuple[TaskFile | None, TaskFile]]:
    """Every file and the one on level 1 that it goes with, itself on level 1; None where there is none.

    What goes together is told by number, or by scene and words, or else by scene and goal.
    """
    named = {(file.scene, file.words): file for file in files[1]}
    scenes = defaultdict(list)
    for file in files[1]:
        scenes[file.scene].append(file)
    numbered: dict[str, TaskFile] = {}
    for file in (each for level in LEVELS for each in files[level]):
        base = numbered.get(file.number) or named.get((file.scene, file.words))
        if base is None:
            same = (other for other in scenes[file.scene] if other.task.goal == file.task.goal)
            base = next(same, None)
        if file.number and not file.variant and base is not None:
            numbered.setdefault(file.number, base)
        yield base, file


def wordings(folder: Path) -> tuple[Wording, ...]:
    """The lines of the five files: form, and the task file of level 4 they belong to, where it is there.

    The task is ``libero_x/`` with the release's number and variant: ``libero_x/107/A1``, ``libero_x/100``.
    """
    first = found(folder, "LIBERO-X", *(f"{each}LEVEL5/L5-1.jsonl" for each in _FOLDERS), "L5-1.jsonl")
    level4 = _level(first.parent / "../bddl/LEVEL4", 4)
    files = {file.wording: file.path.stem for file in level4 if file.number}
    return tuple(
        wording for form in FORMS for wording in _lines(first.with_name(f"L5-{form}.jsonl"), form, files)
    )


def _level(folder: Path, level: int) -> list[TaskFile]:
    return [TaskFile(path, level) for path in sorted(folder.glob("*.bddl"))]


def _lines(file: Path, form: int, files: dict[str, str]) -> Iterator[Wording]:
    for number, line in enumerate(text_of(file).splitlines(), start=1):
        if not line.strip():
            continue
        place = f"{file}:{number}"
        try:
            content = json.loads(line)
            text, variant, task = content["task_desc"], content["variant"], int(content["task_id"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise ReleaseError(
                f"{place}: must be JSON with task_desc, variant and a numeric task_id"
            ) from None
        if not isinstance(variant, str) or not _VARIANT.fullmatch(variant):
            raise ReleaseError(f"{place}: the variant must be '', 'A1' or 'A2'")
        id = _id(task, variant)
        labels: dict[str, Label] = {"form": FORMS[form], "number": form, "file": files.get(id)}
        yield Wording(id, instruction(text, place), labels)


def _id(number: int, variant: str) -> str:
    return f"libero_x/{number}/{variant}" if variant else f"libero_x/{number}"
