"""YAML, read strictly: safe types only, no key twice, every value asked for by name and checked.

Errors name the file and the way to the value: ``goal.yaml: scenes.kitchen.regions: ...``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import yaml

from assay.errors import TaskError, did_you_mean
from assay.tasks.checks import quoted
from assay.tasks.numbers import evaluate

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
