"""The catalogue's own format: a suite of tasks in one YAML file, written to be read and edited by people.

suite: my_suite
about: One line about it.
scenes:
  counter:
    arena: kitchen                       # table, kitchen, living_room, study, floor, coffee_table
    fixtures: [flat_stove_1]             # the category is the name without its number;
    objects: [plate_1, {mug: red_mug}]   # where it is not, write {name: category}
    regions:                             # target: its regions
      kitchen_table:
        plate_region: {centre: [0.1, 0.2], half: [0.01, 0.01]}              # metres; x, y
        mug_region: {rectangle: [0.1, -0.1, 0.2, 0.1]}                      # x_min, y_min, x_max, y_max
        stove_region: {rectangles: [[0, 0, 0.1, 0.1]], yaw: [-pi/2, pi/2]}  # radians; yaw: pi is [pi, pi]
      flat_stove_1: [cook_region]        # regions that belong to the object
    initial:
      - On plate_1 kitchen_table_plate_region
  second:
    like: counter                        # omitted keys are as in that scene, above
    initial: []
tasks:
  - instruction: put the plate on the stove
    file: put_the_plate_on_the_stove     # what LIBERO's files of this task are called; optional
    file_wording: Put it there           # the instruction in that file, where it differs; optional
    scene: counter
    goal: [On plate_1 flat_stove_1_cook_region]
    of_interest: [plate_1, flat_stove_1] # optional
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from assay.episodes.instruction import Instruction
from assay.errors import TaskError
from assay.tasks.bddl.sexpr import evaluate
from assay.tasks.checks import check, parse_atom
from assay.tasks.scene import Arena, Entity, Goal, Rectangle, Region, Scene, Task

# The loader written in C is ten times faster; not every build of PyYAML has it.
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Number = Annotated[float, BeforeValidator(lambda value: evaluate(value) if isinstance(value, str) else value)]
Pair = tuple[Number, Number]
Quadruple = tuple[Number, Number, Number, Number]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _RegionRecord(_Record):
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


class _SceneRecord(_Record):
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
            tuple(map(_build_entity, entities)) for entities in (self.fixtures, self.objects)
        )
        initial = tuple(parse_atom(atom.split()) for atom in self.initial)
        return Scene(self.arena, fixtures, objects, tuple(regions), initial, self.style)


class _TaskRecord(_Record):
    instruction: str
    scene: str
    goal: list[str]
    file: str | None = None
    file_wording: str | None = None
    of_interest: list[str] = []


class _SuiteRecord(_Record):
    suite: str
    about: str
    scenes: dict[str, _SceneRecord]
    tasks: list[_TaskRecord]


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A task of the catalogue and its origin in LIBERO."""

    task: Task
    file: str | None = None
    """Name of LIBERO's files of this task, without folder and suffix."""
    file_wording: str | None = None
    """The instruction in LIBERO's task file, if it differs from the one LIBERO gives to policies."""


@dataclass(frozen=True, slots=True)
class Suite:
    """The tasks of one catalogue file."""

    name: str
    about: str
    entries: tuple[CatalogueEntry, ...]


def parse_suite(text: str, *, file: str) -> Suite:
    """Parse the YAML text of a suite; ``file`` is named in errors. Raises TaskError."""
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
        # Of the alternatives of a union, the one that was read furthest.
        deepest = max(error.errors(), key=lambda problem: len(problem["loc"]))
        raise TaskError(f"{file}: {'.'.join(map(str, deepest['loc']))}: {deepest['msg']}") from None
    except KeyError as error:
        raise TaskError(f"{file}: there is no scene {error}") from None
    except (TaskError, yaml.YAMLError) as error:
        raise TaskError(f"{file}: {' '.join(str(error).split())}") from None
    return Suite(suite.suite, suite.about, tuple(entries))


def _build_entity(entry: str | dict[str, str]) -> Entity:
    if isinstance(entry, dict):
        ((name, category),) = entry.items()
        return Entity(name, category)
    return Entity(entry, re.sub(r"_\d+$", "", entry))
