"""LIBERO-X: task files on four levels, and rewordings of the fourth.

The tasks are those of level 1, which are the control. The other levels' files are that task with the scene,
the goal and the words of the file: what goes together is told by the numbers and names of the files, and
where those differ, by scene and goal. A file that nothing on level 1 goes with has no control, and a
rewording without its file no scene: neither can begin. They are counted with the first task.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay import tasks
from assay.episodes.spec import Label
from assay.experiments.base import Experiment, Variant
from assay.experiments.labels import families
from assay.experiments.releases.base import Variants, named, release
from assay.perturb import Perturbation, Say
from assay.perturb.releases.values import FromFile, Unavailable
from assay.perturb.words.releases import ReleaseError, x
from assay.perturb.words.releases.base import Wording, found
from assay.tasks import Task

FOLDERS = ("libero/libero_x", "libero_x", "")
LEVELS = (1, 2, 3, 4)
NO_CONTROL = "its file of level 1, the control, is not in the checkout"
NO_SCENE = "its file of level 4 is not in the checkout"
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


def libero_x(folder: str = "") -> Experiment:
    """The task files and rewordings in a checkout, or in its folder ``libero_x``."""
    return release(
        "libero-x",
        "LIBERO-X as released: level 1 is the control, levels 2 to 5 change it.",
        folder,
        _read,
        tasks=",".join(str(file.path) for file in _files(named("libero-x", folder))[1]) if folder else "all",
        seeds=tuple(range(10)),
        own=f"files below {_place(Path(folder)) / 'LEVEL1'}" if folder else "",
    )


def _read(folder: Path) -> Variants:
    rewordings = defaultdict(list)
    for each in x.read(folder):
        rewordings[each.task].append(each)
    files = _files(folder)
    variants: dict[str, list[Variant]] = {file.task.id: [] for file in files[1]}
    first, *_ = variants
    for base, file in _pairs(files):
        if file.level == 1:
            continue
        task = file.task
        scene = Unavailable(NO_CONTROL, file.path.name) if base is None else FromFile(task.id)
        here = variants[first if base is None else base.task.id]
        labels: dict[str, Label] = {"axis": "world", "plausible": True, "level": file.level}
        labels |= {f"label:{name}": value for name, value in families(task).items()}
        here.append(Variant(f"libero-x/level{file.level}", (scene, Say(task.instruction.text)), labels))
        for wording in rewordings.pop(file.wording, ()) if file.level == 4 else ():
            here.append(_reworded(wording, scene, labels))
    for wording in (each for rest in rewordings.values() for each in rest):
        variants[first].append(_reworded(wording, Unavailable(NO_SCENE, wording.task), {"plausible": True}))
    return variants


def _reworded(wording: Wording, scene: Perturbation, labels: dict[str, Label]) -> Variant:
    form = str(wording.labels["form"])
    reworded: dict[str, Label] = labels | {"axis": "words+world", "level": 5, "form": form}
    return Variant(f"libero-x/level5/{form}", (scene, Say(wording.text)), reworded)


def _place(folder: Path) -> Path:
    """Where the levels' folders of task files are."""
    return found(folder, "LIBERO-X", *(f"{each}/bddl/LEVEL1".lstrip("/") for each in FOLDERS)).parent


def _files(folder: Path) -> dict[int, list[_File]]:
    """The task files of each level. Raises ReleaseError where there is none on level 1."""
    place = _place(folder)
    files = {
        level: [_File(path, level) for path in sorted((place / f"LEVEL{level}").glob("*.bddl"))]
        for level in LEVELS
    }
    if not files[1]:
        raise ReleaseError(f"{place / 'LEVEL1'}: no task file there: level 1 is the control of the others")
    for file in (each for level in files.values() for each in level):
        _ = file.name  # a file that is called otherwise is refused before anything is planned
    return files


def _pairs(files: dict[int, list[_File]]) -> Iterator[tuple[_File | None, _File]]:
    """Every file and the one on level 1 that it goes with, itself on level 1; None where there is none."""
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
                base = next(same, None)
            if file.name["task"] and not file.name["variant"] and base is not None:
                numbered.setdefault(file.name["task"], base)
            yield base, file
