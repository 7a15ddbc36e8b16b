"""YAML, read strictly: safe types only, no key twice, every value asked for by name and checked.

Errors name the file and the way to the value: ``goal.yaml: scenes.kitchen.regions: ...``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import yaml

from assay.episodes.instruction import Instruction
from assay.errors import TaskError, did_you_mean
from assay.tasks.bddl.sexpr import evaluate
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

if TYPE_CHECKING:
    from yaml import SafeLoader as _SafeLoader
else:
    # The loader written in C is ten times faster; not every build of PyYAML has it.
    _SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Value:
    """Something in a YAML file, with the way to it."""

    data: Any
    file: str
    place: str = ""

    def fail(self, reason: str) -> NoReturn:
        """Raise TaskError with file, place and reason."""
        raise TaskError(": ".join(part for part in (self.file, self.place, reason) if part))

    def mapping(self) -> dict[str, Value]:
        """The entries of a mapping whose keys are words."""
        if not isinstance(self.data, dict):
            self.fail(f"expected a mapping, found {_shown(self.data)}")
        for key in self.data:
            if not isinstance(key, str):
                self.fail(f"expected words as keys, found {_shown(key)}")
        return {key: self._inside(f".{key}", item) for key, item in self.data.items()}

    def record(self, required: Collection[str], optional: Collection[str] = ()) -> dict[str, Value]:
        """The entries of a mapping that must have certain keys and may have others, but no more."""
        entries = self.mapping()
        for key in entries:
            if key not in required and key not in optional:
                self.fail(f"unknown key {quoted(key)}; {did_you_mean(key[:80], [*required, *optional])}")
        for key in required:
            if key not in entries:
                self.fail(f"key '{key}' is missing")
        return entries

    def items(self) -> list[Value]:
        """The items of a list."""
        if not isinstance(self.data, list):
            self.fail(f"expected a list, found {_shown(self.data)}")
        return [self._inside(f"[{index}]", item) for index, item in enumerate(self.data)]

    def text(self) -> str:
        """A text that is not empty."""
        if not isinstance(self.data, str) or not self.data.strip():
            self.fail(f"expected a text, found {_shown(self.data)}")
        return self.data

    def number(self) -> float:
        """A number, or an expression such as ``-pi/2``."""
        if isinstance(self.data, str):
            try:
                return evaluate(self.data)
            except ValueError as error:
                self.fail(f"{quoted(self.data)} {error}")
        if isinstance(self.data, bool) or not isinstance(self.data, int | float):
            self.fail(f"expected a number, found {_shown(self.data)}")
        try:
            return float(self.data)
        except OverflowError:
            self.fail("the number is too large")

    def numbers(self, count: int) -> list[float]:
        """A list of that many numbers."""
        items = self.items()
        if len(items) != count:
            self.fail(f"expected {count} numbers, found {len(items)}")
        return [item.number() for item in items]

    def _inside(self, step: str, data: Any) -> Value:
        return Value(data, self.file, (self.place + step).removeprefix("."))


def parse(text: str, file: str) -> Value:
    """The content of a YAML file. Raises TaskError if it is not YAML or has a key twice."""
    loader = _Loader(text)
    try:
        return Value(loader.get_single_data(), file)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f":{error.problem_mark.line + 1}"
        raise TaskError(f"{file}{line}: {error.problem or error.context}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise TaskError(f"{file}: not a YAML file: {' '.join(str(error).split())}") from None
    finally:
        loader.dispose()


class _Loader(_SafeLoader):
    """Refuses keys given twice, of which YAML would silently take the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key in _scalar_keys(node):
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"key {quoted(key.value)} is given twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def _scalar_keys(node: yaml.MappingNode) -> Iterator[yaml.ScalarNode]:
    return (key for key, _ in node.value if isinstance(key, yaml.ScalarNode))


def _shown(data: object) -> str:
    if isinstance(data, dict):
        return "a mapping"
    if isinstance(data, list):
        return "a list"
    return "nothing" if data is None else quoted(str(data))


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
