"""LIBERO-plus: its classification of ten thousand task names, its language task files and its joint angles.

The names of its tasks contain the perturbation as a suffix, which its own code leaks into the instruction. Here
the suffix is only decoded: a language task has its file's instruction, any other task the built-in one.

    ..._view_345_15_100_0_0_initstate_0             camera viewpoint
    ..._view_0_0_100_0_0_initstate_17               initial joint angles
    ..._view_0_0_100_0_0_initstate_0_noise_42       image corruption
    ..._language_28_view_0_0_100_0_0_initstate_0    rewording
    ..._add_3, ..._moved_level2_sample1             objects added or moved, by a task file
    ..._light_41, ..._table_9, ..._tb_20            light and textures, by a task file
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from assay import tasks
from assay.errors import BDDLError
from assay.tasks import bddl, formats
from assay.tasks.checks import quote, validation_reason
from assay.tasks.formats import ReleaseError, ReleaseWording

CLASSIFICATIONS = (
    "libero/libero/benchmark/task_classification.json",
    "benchmark/task_classification.json",
    "task_classification.json",
    "task_classification_sample.json",
)
TASKS = ("libero/libero/bddl_files", "bddl_files", "bddl")
JOINTS = "libero/libero/envs/robots/mounted_panda_variants.txt"
LANGUAGE = "Language Instructions"
MIXED = "libero_mix"
_LANGUAGE = re.compile(r"_language_(?P<number>\d+)")
_SUFFIX = re.compile(
    r"(?:_language_(?P<language>\d+))?"
    r"(?:_view_(?P<view>\d+_\d+_\d+_\d+_\d+)_initstate_(?P<start>\d+)(?:_noise_(?P<noise>\d+))?"
    r"|_(?P<file>add|light|table|tb)_\d+|(?:_moved)?_(?P<moved>level)\d_sample\d+)?"
)
_START = re.compile(r"class \w+?(\d+)\(.*?np\.array\(\[(.*?)\]\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Suffix:
    """The perturbation encoded in a task name, not including the rewording."""

    view: tuple[int, int, int, int, int] | None
    """Camera viewpoint: azimuth and elevation in degrees, distance in percent, pan and tilt in degrees."""
    start: int
    """Number of the initial arm pose; 0 is LIBERO's default."""
    noise: int | None
    """Number of the image corruption."""
    file: str | None
    """Kind of change made by the task file: ``add``, ``level``, ``light``, ``table`` or ``tb``."""


class _Row(BaseModel):
    """A task in the classification file."""

    id: int
    name: str
    category: str
    difficulty_level: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A task in the classification."""

    suite: str
    id: int
    """Number of the task in the release."""
    name: str
    category: str
    """Category, such as ``Language Instructions`` or ``Camera Viewpoints``."""
    difficulty: int | None
    """Difficulty from 1 to 5; None if the release does not rate the task."""
    task: str
    """Id of the built-in task that this task modifies."""
    suffix: str
    """Suffix that encodes the perturbation: ``_language_28_view_0_0_100_0_0_initstate_0``."""

    @property
    def language(self) -> int | None:
        """Number of the rewording; None if the instruction is the original one."""
        number = _LANGUAGE.match(self.suffix)
        return int(number["number"]) if number else None

    def decode(self) -> Suffix:
        """Decode the suffix of the name. Raises ReleaseError if the suffix is unknown."""
        match = _SUFFIX.fullmatch(self.suffix)
        if match is None:
            raise ReleaseError(f"LIBERO-plus: unknown suffix '{self.suffix}' in '{self.name}'")
        a, b, c, d, e = (int(number) for number in (match["view"] or "0_0_100_0_0").split("_"))
        return Suffix(
            view=(a, b, c, d, e) if match["view"] else None,
            start=int(match["start"] or 0),
            noise=int(match["noise"]) if match["noise"] else None,
            file=match["file"] or match["moved"],
        )


def read_classification(folder: Path) -> tuple[Entry, ...]:
    """Read all tasks of the classification."""
    file = formats.find_release(folder, "LIBERO-plus", *CLASSIFICATIONS)
    try:
        rows = TypeAdapter(dict[str, list[_Row]]).validate_json(formats.text_of(file))
    except ValidationError as error:
        raise ReleaseError(f"{file}: {validation_reason(error)}") from None
    entries = []
    for suite, row in ((suite, row) for suite, listed in rows.items() for row in listed):
        split = formats.task_and_suffix(row.name)
        if split is None or (suite != MIXED and not split[0].startswith(f"{suite}/")):
            name = quote(row.name, limit=120)
            raise ReleaseError(f"{file}: {name} does not begin with the name of a task in {quote(suite)}")
        entries.append(Entry(suite, row.id, row.name, row.category, row.difficulty_level, *split))
    return tuple(entries)


def wordings(folder: Path) -> tuple[ReleaseWording, ...]:
    """Read the instructions in the language task files, with their numbers and, if classified, their difficulties.

    Duplicates of the four suites in the folder ``libero_mix`` are read only once.
    """
    place = formats.find_release(folder, "LIBERO-plus", *TASKS)
    difficulty = {(entry.task, entry.language): entry.difficulty for entry in read_classification(folder)}
    read: dict[str, ReleaseWording] = {}
    for suite in (*tasks.suites(), MIXED):
        for file in sorted((place / suite).glob("*_language_*.bddl")):
            split = formats.task_and_suffix(file.stem)
            match = _LANGUAGE.fullmatch(split[1]) if split else None
            if split is None or match is None:
                raise ReleaseError(f"{file} is not named TASK_language_NUMBER.bddl after a built-in task")
            if file.stem in read:
                continue
            try:
                text = formats.instruction(bddl.read(file).instruction.text, str(file))
            except BDDLError as error:
                raise ReleaseError(str(error)) from None
            task, number = split[0], int(match["number"])
            labels = {"number": number, "difficulty": difficulty.get((task, number))}
            read[file.stem] = ReleaseWording(task, text, labels)
    if not read:
        raise ReleaseError(
            f"{place} does not contain the LIBERO-plus release: no task file is named like '..._language_1.bddl'"
        )
    return tuple(read.values())


def starts(folder: Path) -> dict[int, tuple[float, ...]]:
    """Read the numbered initial arm poses, as joint angles in radians. The result is empty if there is no table."""
    file = folder / JOINTS
    if not file.is_file():
        return {}
    try:
        return {
            int(number): tuple(float(angle) for angle in angles.split(","))
            for number, angles in _START.findall(formats.text_of(file))
        }
    except ValueError:
        raise ReleaseError(f"{file}: the joint angles are not all numbers") from None
