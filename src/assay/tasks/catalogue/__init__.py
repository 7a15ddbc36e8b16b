"""The built-in tasks, by id: `load("libero_goal/3")`.

Each suite is one YAML file in this folder, parsed on first use and designed to be read and edited by hand:

suite: my_suite
about: One line about it.
scenes:
  counter:
    arena: kitchen                       # table, kitchen, living_room, study, floor, coffee_table
    fixtures: [flat_stove_1]             # the category is the name without its number;
    objects: [plate_1, {mug: red_mug}]   # if it is not, write {name: category}
    regions:                             # target: its regions
      kitchen_table:
        plate_region: {centre: [0.1, 0.2], half: [0.01, 0.01]}              # metres; x, y
        mug_region: {rectangle: [0.1, -0.1, 0.2, 0.1]}                      # x_min, y_min, x_max, y_max
        stove_region: {rectangles: [[0, 0, 0.1, 0.1]], yaw: [-pi/2, pi/2]}  # radians; yaw: pi is [pi, pi]
      flat_stove_1: [cook_region]        # regions that belong to the object
    initial:
      - On plate_1 kitchen_table_plate_region
  second:
    like: counter                        # omitted keys are taken from that scene
    initial: []
tasks:
  - instruction: put the plate on the stove
    file: put_the_plate_on_the_stove     # base name of LIBERO's files for this task; optional
    file_wording: Put it there           # the instruction in that file, if it differs; optional
    scene: counter
    goal: [On plate_1 flat_stove_1_cook_region]
    of_interest: [plate_1, flat_stove_1] # optional
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import BaseModel, BeforeValidator, ValidationError

from assay.episodes.spec import Instruction
from assay.errors import TaskError, did_you_mean
from assay.tasks.bddl.sexpr import evaluate
from assay.tasks.checks import check, parse_atom, quote
from assay.tasks.files import find_files, load_file, names_file
from assay.tasks.scene import Arena, Entity, Goal, Rectangle, Region, Scene, Task

ALL = ("libero_spatial", "libero_object", "libero_goal", "libero_10")
"""Suites in the selection ``all``: the four suites of ten tasks on which evaluations are reported. In LIBERO,
libero_90 is used for training before evaluation on libero_10.
"""
_SUITES = (*ALL, "libero_90")
# The loader written in C is ten times faster; not every build of PyYAML has it.
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Number = Annotated[float, BeforeValidator(lambda value: evaluate(value) if isinstance(value, str) else value)]
Pair = tuple[Number, Number]
Quadruple = tuple[Number, Number, Number, Number]


class _RegionRecord(BaseModel, extra="forbid"):
    centre: Pair | None = None
    half: Pair | None = None
    rectangle: Quadruple | None = None
    rectangles: list[Quadruple] = []
    yaw: Pair | Number | None = None
    rgba: Quadruple | None = None

    def build(self, name: str, target: str) -> Region:
        corners = [*([self.rectangle] if self.rectangle else []), *self.rectangles]
        if self.centre is not None and self.half is not None:
            (x, y), (dx, dy) = self.centre, self.half
            corners.append((x - dx, y - dy, x + dx, y + dy))
        yaw = (self.yaw, self.yaw) if isinstance(self.yaw, float) else self.yaw
        return Region(name, target, tuple(Rectangle(*corner) for corner in corners), yaw, self.rgba)


class _SceneRecord(BaseModel, extra="forbid"):
    like: str | None = None
    arena: Arena | None = None
    style: str = ""
    fixtures: list[str | dict[str, str]] = []
    objects: list[str | dict[str, str]] = []
    regions: dict[str, list[str] | dict[str, _RegionRecord]] = {}
    initial: list[str] = []

    def build(self) -> Scene:
        if self.arena is None:
            raise TaskError("a scene needs an arena")
        regions: list[Region] = []
        for target, listed in self.regions.items():
            if isinstance(listed, list):
                regions += [Region(name, target) for name in listed]
            else:
                regions += [record.build(name, target) for name, record in listed.items()]
        fixtures, objects = (
            tuple(
                # The category of "plate_1" is "plate" unless the entry states another one.
                Entity(*next(iter(entry.items())))
                if isinstance(entry, dict)
                else Entity(entry, re.sub(r"_\d+$", "", entry))
                for entry in entries
            )
            for entries in (self.fixtures, self.objects)
        )
        initial = tuple(parse_atom(atom.split()) for atom in self.initial)
        return Scene(self.arena, fixtures, objects, tuple(regions), initial, self.style)


class _TaskRecord(BaseModel, extra="forbid"):
    instruction: str
    scene: str
    goal: list[str]
    file: str | None = None
    file_wording: str | None = None
    of_interest: list[str] = []


class _SuiteRecord(BaseModel, extra="forbid"):
    suite: str
    about: str
    scenes: dict[str, _SceneRecord]
    tasks: list[_TaskRecord]


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A task in the catalogue, and its origin in LIBERO."""

    task: Task
    file: str | None = None
    """Base name of LIBERO's files for this task, without folder or suffix."""
    file_wording: str | None = None
    """Instruction in LIBERO's task file, if it differs from the one that LIBERO gives to policies."""


def suites() -> tuple[str, ...]:
    """Return the names of the built-in suites: those in ``all``, then libero_90."""
    return _SUITES


def describe(name: str) -> str:
    """Return a one-line description of a suite."""
    return _suite(name)[0]


def suite(name: str) -> tuple[Task, ...]:
    """Return the tasks of a suite in LIBERO's order.

    Raises TaskError with the nearest name if the suite is unknown.
    """
    return tuple(entry.task for entry in _suite(name)[1])


def all_ids() -> tuple[str, ...]:
    """Return the ids of the tasks in the selection ``all``."""
    return tuple(task.id for name in ALL for task in suite(name))


def built_in_ids() -> tuple[str, ...]:
    """Return the ids of all built-in tasks: those in ``all``, then those in libero_90."""
    return tuple(task.id for name in _SUITES for task in suite(name))


def load(id: str) -> Task:
    """Return the task with this id: ``libero_goal/3``, or the path of a task file, with or without its digest.

    Raises TaskError if the task is unknown.
    """
    return entry(id).task


def entry(id: str) -> CatalogueEntry:
    """Return the task with this id and the name of its files in LIBERO. Raises TaskError if the id is unknown."""
    if names_file(id):
        return CatalogueEntry(load_file(id))
    name, slash, number = id.strip().partition("/")
    if not slash:
        nearest = "" if name in _SUITES else f"; {did_you_mean(name[:80], _SUITES)}"
        raise TaskError(
            f"unknown task {quote(id)}; write the suite and the number, for example 'libero_goal/0'{nearest}"
        )
    entries = {str(index): entry for index, entry in enumerate(_suite(name)[1])}
    if number not in entries:
        last = len(entries) - 1
        raise TaskError(f"unknown task {quote(id)}; '{name}' has the tasks {name}/0 to {name}/{last}")
    return entries[number]


def siblings(task: Task) -> tuple[Task, ...]:
    """Return the tasks related to a task: those in its suite, or task files in its folder with the same scene."""
    if not names_file(task.id):
        return suite(task.id.partition("/")[0])
    folder = Path(task.id.rpartition("@")[0]).parent
    beside = (load_file(str(file)) for file in sorted(folder.iterdir()) if names_file(file.name))
    return tuple(sibling for sibling in beside if sibling.scene == task.scene)


def trained_with(id: str) -> tuple[Task, ...]:
    """Return the tasks that a policy is assumed to be trained on: those in ``all`` and those in the given suite.

    ``id`` is the id of a task or of a suite.
    """
    name = id.partition("/")[0]
    return resolve(f"all,{name}" if name in _SUITES else "all")


def resolve(selection: str) -> tuple[Task, ...]:
    """Return the tasks in a selection, without duplicates, in the order of the selection.

    A selection is ``all`` (the four suites of ten tasks), or a comma-separated list of suites, ids, task files and
    folders of task files: ``all,libero_90``, ``libero_goal,libero_10/0,my_scenes,other/task.bddl``. Raises TaskError if
    the selection is empty, or, with the nearest valid name, if a name is unknown.
    """
    chosen: dict[str, Task] = {}
    for part in filter(None, (part.strip() for part in selection.split(","))):
        if part == "all" or part in _SUITES:
            selected = tuple(task for name in (ALL if part == "all" else (part,)) for task in suite(name))
        elif os.path.isdir(part):  # noqa: PTH112  # unlike pathlib's, False for names that are too long
            selected = tuple(load_file(str(file)) for file in find_files(part))
            if not selected:
                raise TaskError(f"{part}: no .bddl or .json file in this folder or its subfolders")
        elif names_file(part) or ("/" in part and part.partition("/")[0] in _SUITES):
            selected = (load(part),)
        else:
            nearest = did_you_mean(part[:80], ("all", *_SUITES))
            raise TaskError(f"unknown task or suite {quote(part)}; {nearest}")
        chosen.update((task.id, task) for task in selected)
    if not chosen:
        raise TaskError(
            f"no task selected; expected all, {', '.join(_SUITES)}, an id (for example '{_SUITES[0]}/0'), "
            "a task file, or a folder of task files"
        )
    return tuple(chosen.values())


@cache
def _suite(name: str) -> tuple[str, tuple[CatalogueEntry, ...]]:
    if name not in _SUITES:
        raise TaskError(f"unknown suite {quote(name)}; {did_you_mean(name[:80], _SUITES)}")
    resource = files(__name__).joinpath(f"{name}.yaml")
    return parse_suite(resource.read_text(encoding="utf-8"), file=resource.name)


def parse_suite(text: str, *, file: str) -> tuple[str, tuple[CatalogueEntry, ...]]:
    """Return the description and the tasks in the YAML text of a suite; errors name ``file``. Raises TaskError."""
    try:
        suite = _SuiteRecord.model_validate(yaml.load(text, _LOADER))
        records: dict[str, _SceneRecord] = {}
        for name, record in suite.scenes.items():
            fields = {key: getattr(record, key) for key in record.model_fields_set}
            records[name] = records[record.like].model_copy(update=fields) if record.like else record
        scenes = {name: record.build() for name, record in records.items()}
        entries = []
        for index, row in enumerate(suite.tasks):
            goal = Goal(tuple(parse_atom(atom.split()) for atom in row.goal))
            instruction, of_interest = Instruction(row.instruction), tuple(row.of_interest)
            task = Task(f"{suite.suite}/{index}", scenes[row.scene], goal, instruction, of_interest)
            check(task)
            entries.append(CatalogueEntry(task, row.file, row.file_wording))
    except ValidationError as error:
        # Of the alternatives of a union, report the one that was matched furthest.
        deepest = max(error.errors(), key=lambda problem: len(problem["loc"]))
        raise TaskError(f"{file}: {'.'.join(map(str, deepest['loc']))}: {deepest['msg']}") from None
    except KeyError as error:
        raise TaskError(f"{file}: unknown scene {error}") from None
    except (TaskError, yaml.YAMLError) as error:
        raise TaskError(f"{file}: {' '.join(str(error).split())}") from None
    return suite.about, tuple(entries)
