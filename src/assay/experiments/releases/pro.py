"""LIBERO-PRO: its five tables of alternatives for the objects, places, goals, rooms and words of a task.

The release draws one alternative for each thing and applies them together; here every entry of the tables is
a variant of its own, so that nothing hangs on a draw and every entry is told apart in the results.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from assay.episodes.spec import Label
from assay.errors import BDDLError
from assay.experiments.base import Experiment, Variant
from assay.experiments.releases.base import Variants, release
from assay.perturb import Perturbation, Say
from assay.perturb.releases.values import Exchange, Recategorise, Unavailable
from assay.perturb.words.releases import ReleaseError, pro
from assay.perturb.words.releases.base import found, instruction, task_of_file, text_of
from assay.perturb.words.rewordings.other_task import OtherTask
from assay.perturb.world import Room
from assay.tasks import Arena, bddl
from assay.tasks.checks import quoted

ROOMS = (Arena.TABLE, Arena.KITCHEN, Arena.LIVING_ROOM, Arena.STUDY, Arena.FLOOR)
"""The rooms that the release exchanges for one another."""
_Row = tuple[str, Perturbation, dict[str, Label]]


def libero_pro(folder: str = "") -> Experiment:
    """The tables in a checkout, or in its folder ``libero_ood``."""
    return release(
        "libero-pro",
        "LIBERO-PRO as released: every entry of its five tables.",
        folder,
        _read,
        seeds=tuple(range(50)),
    )


def _read(folder: Path) -> Variants:
    variants: dict[str, list[Variant]] = defaultdict(list)
    for name, rows, axis in (
        ("object", _objects(folder), "world"),
        ("position", _positions(folder), "world"),
        ("task", _goals(folder), "words"),
        ("environment", _rooms(folder), "world"),
    ):
        for task, change, labels in rows:
            all_labels: dict[str, Label] = {"axis": axis, "plausible": True, "table": name, **labels}
            variants[task].append(Variant(f"libero-pro/{name}", (change,), all_labels))
    for wording in pro.read(folder):
        said: dict[str, Label] = {"axis": "words", "plausible": True, "table": "semantic", **wording.labels}
        variants[wording.task].append(Variant("libero-pro/semantic", (Say(wording.text),), said))
    return variants


def _objects(folder: Path) -> Iterator[_Row]:
    for task, content, place in _table(folder, "ood_object.yaml"):
        for old, candidates in _mapping(content, place).items():
            for new in _texts(candidates, place):
                yield task, Recategorise(old, new), {"old": old, "new": new}


def _positions(folder: Path) -> Iterator[_Row]:
    for task, content, place in _table(folder, "ood_spatial_relation.yaml"):
        for first, candidates in _mapping(content, place).items():
            for second in _texts(candidates, place):
                yield task, Exchange(first, second), {"first": first, "second": second}


def _goals(folder: Path) -> Iterator[_Row]:
    for task, content, place in _table(folder, "ood_task.yaml"):
        for text, entry in _mapping(content, place).items():
            yield task, _goal(instruction(text, place), entry, place), {"asked": text}


def _goal(text: str, entry: object, place: str) -> Perturbation:
    """Another goal; what makes none, as three entries of the release do, is not available."""
    stated = entry.get("goal") if isinstance(entry, dict) else None
    try:
        goal = bddl.parse_goal(str(stated))
    except BDDLError as error:
        return Unavailable(f"{place}: {quoted(text)}: goal: {error.reason}: {quoted(str(stated), most=120)}")
    return OtherTask(text, tuple(str(atom) for atom in goal.atoms))


def _rooms(folder: Path) -> Iterator[_Row]:
    for task, content, place in _table(folder, "ood_environment.yaml"):
        (current,) = _texts(content, place)[:1] or [""]
        if current not in {room.workspace for room in ROOMS}:
            raise ReleaseError(f"{place}: there is no workspace {quoted(current)}")
        for room in ROOMS:
            if room.workspace != current:
                yield task, Room(room), {"room": room.value}


def _table(folder: Path, name: str) -> Iterator[tuple[str, Any, str]]:
    """The rows of a table: the task's id, what it says, and where that stands."""
    file = found(folder, "LIBERO-PRO", f"libero_ood/{name}", name)
    try:
        content = yaml.safe_load(text_of(file))
    except yaml.YAMLError as error:
        raise ReleaseError(f"{file}: is not YAML: {' '.join(str(error).split())[:200]}") from None
    for suite, rows in _mapping(content, str(file)).items():
        for task, row in _mapping(rows, f"{file}: {suite}").items():
            place = f"{file}: {suite}: {quoted(task, most=120)}"
            yield task_of_file(task, f"{file}: {suite}", suite=suite), row, place


def _mapping(value: object, place: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ReleaseError(f"{place}: must be a mapping")
    return value


def _texts(value: object, place: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ReleaseError(f"{place}: must have lists of names")
    return value
