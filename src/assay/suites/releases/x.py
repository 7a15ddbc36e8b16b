"""LIBERO-X: task files on four levels, and rewordings of the fourth.

The tasks are those of level 1, which are the control. The other levels' files are that task with the scene,
the goal and the words of the file: what goes together is told by the numbers and names of the files, and
where those differ, by scene and goal. A file that nothing on level 1 goes with is a task of its own, and its
own control.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay import tasks
from assay.perturb import Say
from assay.perturb.words.releases import ReleaseError, x
from assay.perturb.words.releases.base import found
from assay.suites.base import Suite, Variant
from assay.suites.labels import families
from assay.suites.releases.base import Variants, named, release
from assay.suites.releases.values import FromFile
from assay.suites.spec import Label
from assay.tasks import Task

FOLDERS = ("libero/libero_x", "libero_x", "")
LEVELS = (1, 2, 3, 4)
_NAME = re.compile(
    r"(?P<scene>\w+?_SCENE\d+)_(?:LEVEL\d__T(?P<task>\d+)_(?:_(?P<variant>A\d+)_)?)?(?P<words>.+)"
)


@dataclass(frozen=True)
class _File:
    """A task file: what its name says, and the task in it."""

    path: Path
    level: int

    @cached_property
    def name(self) -> re.Match[str]:
        match = _NAME.fullmatch(self.path.stem)
        if match is None:
            raise ReleaseError(
                f"{self.path}: is not called like a task of LIBERO-X: ..._SCENE21_LEVEL4__T107__A1_..."
            )
        return match

    @property
    def said(self) -> tuple[str, str]:
        """The scene, and the task in the words of the name."""
        return self.name["scene"], self.name["words"]

    @property
    def wording(self) -> str:
        """The id under which level 5 rewords it."""
        parts = ("libero_x", str(int(self.name["task"] or 0)), self.name["variant"])
        return "/".join(part for part in parts if part)

    @cached_property
    def task(self) -> Task:
        return tasks.load(str(self.path))


def libero_x(folder: str = "") -> Suite:
    """The task files and rewordings in a checkout, or in its folder ``libero_x``."""
    return release(
        "libero-x",
        "LIBERO-X as released: level 1 is the control, levels 2 to 5 change it.",
        folder,
        _read,
        tasks=_selection(folder) if folder else "all",
        seeds=tuple(range(10)),
    )


def _selection(folder: str) -> str:
    """The tasks: level 1, and what nothing there goes with."""
    return ",".join(dict.fromkeys(str(base.path) for base, _ in _pairs(_files(named("libero-x", folder)))))


def _read(folder: Path) -> Variants:
    rewordings = defaultdict(list)
    for each in x.read(folder):
        rewordings[each.task].append(each)
    variants: dict[str, list[Variant]] = defaultdict(list)
    for base, file in _pairs(_files(folder)):
        if file.level == 1:
            continue
        task = file.task
        scene = () if file is base else (FromFile(task.id),)
        labels: dict[str, Label] = {"axis": "world", "plausible": True, "level": file.level}
        labels |= {f"label:{name}": value for name, value in families(task).items()}
        condition = f"libero-x/level{file.level}"
        variants[base.task.id].append(Variant(condition, (*scene, Say(task.instruction.text)), labels))
        for wording in rewordings[file.wording] if file.level == 4 else ():
            form = str(wording.labels["form"])
            reworded: dict[str, Label] = labels | {"axis": "words+world", "level": 5, "form": form}
            variants[base.task.id].append(
                Variant(f"libero-x/level5/{form}", (*scene, Say(wording.text)), reworded)
            )
    return variants


def _files(folder: Path) -> dict[int, list[_File]]:
    place = found(folder, "LIBERO-X", *(f"{each}/bddl/LEVEL1".lstrip("/") for each in FOLDERS)).parent
    return {
        level: [_File(path, level) for path in sorted((place / f"LEVEL{level}").glob("*.bddl"))]
        for level in LEVELS
    }


def _pairs(files: dict[int, list[_File]]) -> Iterator[tuple[_File, _File]]:
    """Every file and the one on level 1 that it goes with: itself, where there is none."""
    named = {file.said: file for file in files[1]}
    scenes = defaultdict(list)
    for file in files[1]:
        scenes[file.name["scene"]].append(file)
    numbered: dict[str, _File] = {}
    for level in LEVELS:
        for file in files[level]:
            base = numbered.get(file.name["task"] or "") or named.get(file.said)
            if base is None:
                same = (other for other in scenes[file.name["scene"]] if other.task.goal == file.task.goal)
                base = next(same, file)
            if file.name["task"] and not file.name["variant"] and base is not file:
                numbered.setdefault(file.name["task"], base)
            yield base, file
