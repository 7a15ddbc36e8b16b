"""The catalogue's own format: a suite of tasks in one YAML file, made to be read and edited by people.

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
      flat_stove_1: [cook_region]        # regions the thing brings along
    initial:
      - On plate_1 kitchen_table_plate_region
  second:
    like: counter                        # everything not said anew is as in a scene above
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

from assay.episodes.instruction import Instruction
from assay.errors import TaskError, did_you_mean
from assay.tasks.catalogue.yaml_file import Value, parse
from assay.tasks.checks import atom, check, quoted
from assay.tasks.scene import (
    Arena,
    Atom,
    Entity,
    Goal,
    Rectangle,
    Region,
    Scene,
    Task,
)

_SCENE_KEYS = ("arena", "style", "fixtures", "objects", "regions", "initial")
_NUMBERED = re.compile(r"(?P<category>.+)_\d+")


@dataclass(frozen=True, slots=True)
class Entry:
    """A task of the catalogue and where it comes from."""

    task: Task
    file: str | None = None
    """What LIBERO's files of this task are called, without folder and ending."""
    file_wording: str | None = None
    """The instruction in LIBERO's task file, where it differs from the one LIBERO gives to policies."""


@dataclass(frozen=True, slots=True)
class Suite:
    """The tasks of one catalogue file."""

    name: str
    about: str
    entries: tuple[Entry, ...]


def parse_suite(text: str, *, file: str) -> Suite:
    """The suite a YAML text states; ``file`` is only named in errors. Raises TaskError."""
    top = parse(text, file).record(required=("suite", "about", "scenes", "tasks"))
    name = top["suite"].text()
    scenes = _scenes(top["scenes"])
    entries = tuple(
        _entry(value, f"{name}/{index}", scenes) for index, value in enumerate(top["tasks"].items())
    )
    return Suite(name, top["about"].text(), entries)


def _entry(value: Value, id: str, scenes: dict[str, Scene]) -> Entry:
    record = value.record(
        required=("instruction", "scene", "goal"), optional=("file", "file_wording", "of_interest")
    )
    scene_name = record["scene"].text()
    if scene_name not in scenes:
        record["scene"].fail(f"unknown scene {quoted(scene_name)}; {did_you_mean(scene_name, scenes)}")
    task = Task(
        id=id,
        scene=scenes[scene_name],
        goal=Goal(_atoms(record["goal"])),
        instruction=Instruction(record["instruction"].text()),
        of_interest=_texts(record.get("of_interest")),
    )
    try:
        check(task)
    except TaskError as error:
        value.fail(str(error))
    return Entry(
        task=task,
        file=record["file"].text() if "file" in record else None,
        file_wording=record["file_wording"].text() if "file_wording" in record else None,
    )


def _scenes(value: Value) -> dict[str, Scene]:
    records: dict[str, dict[str, Value]] = {}
    for name, item in value.mapping().items():
        record = item.record(required=(), optional=("like", *_SCENE_KEYS))
        like = record.pop("like", None)
        if like is not None:
            if like.text() not in records:
                like.fail(f"no scene {quoted(like.text())} above; {did_you_mean(like.text(), records)}")
            record = records[like.text()] | record
        if "arena" not in record:
            item.fail("key 'arena' is missing")
        records[name] = record
    return {name: _scene(record) for name, record in records.items()}


def _scene(record: dict[str, Value]) -> Scene:
    arena = record["arena"].text()
    if arena not in list(Arena):
        record["arena"].fail(f"unknown arena {quoted(arena)}; {did_you_mean(arena, list(Arena))}")
    return Scene(
        arena=Arena(arena),
        fixtures=_entities(record.get("fixtures")),
        objects=_entities(record.get("objects")),
        regions=_regions(record.get("regions")),
        initial=_atoms(record["initial"]) if "initial" in record else (),
        style=record["style"].text() if "style" in record else "",
    )


def _entities(value: Value | None) -> tuple[Entity, ...]:
    return () if value is None else tuple(_entity(item) for item in value.items())


def _entity(value: Value) -> Entity:
    if isinstance(value.data, dict):
        pairs = value.mapping()
        if len(pairs) != 1:
            value.fail("expected one {name: category}")
        ((name, category),) = pairs.items()
        return Entity(name, category.text())
    name = value.text()
    match = _NUMBERED.fullmatch(name)
    if match is None:
        value.fail(f"{quoted(name)} does not end in a number: write {{{name}: category}}")
    return Entity(name, match["category"])


def _regions(value: Value | None) -> tuple[Region, ...]:
    regions: list[Region] = []
    for target, listed in ({} if value is None else value.mapping()).items():
        if isinstance(listed.data, list):
            regions.extend(Region(item.text(), target) for item in listed.items())
        else:
            regions.extend(_region(name, target, item) for name, item in listed.mapping().items())
    return tuple(regions)


def _region(name: str, target: str, value: Value) -> Region:
    record = value.record(required=(), optional=("centre", "half", "rectangle", "rectangles", "yaw", "rgba"))
    rectangles: list[Rectangle] = []
    if "centre" in record or "half" in record:
        record = value.record(required=("centre", "half"), optional=("yaw", "rgba"))
        (x, y), (dx, dy) = record["centre"].numbers(2), record["half"].numbers(2)
        rectangles.append(Rectangle(x - dx, y - dy, x + dx, y + dy))
    if "rectangle" in record:
        rectangles.append(Rectangle(*record["rectangle"].numbers(4)))
    if "rectangles" in record:
        rectangles.extend(Rectangle(*item.numbers(4)) for item in record["rectangles"].items())
    return Region(name, target, tuple(rectangles), _yaw(record.get("yaw")), _rgba(record.get("rgba")))


def _yaw(value: Value | None) -> tuple[float, float] | None:
    if value is None:
        return None
    if not isinstance(value.data, list):
        return value.number(), value.number()
    low, high = value.numbers(2)
    return low, high


def _rgba(value: Value | None) -> tuple[float, float, float, float] | None:
    if value is None:
        return None
    red, green, blue, alpha = value.numbers(4)
    return red, green, blue, alpha


def _atoms(value: Value) -> tuple[Atom, ...]:
    atoms: list[Atom] = []
    for item in value.items():
        words = item.text().split()
        try:
            atoms.append(atom(words))
        except TaskError as error:
            item.fail(str(error))
    return tuple(atoms)


def _texts(value: Value | None) -> tuple[str, ...]:
    return () if value is None else tuple(item.text() for item in value.items())
