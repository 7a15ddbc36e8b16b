"""What a perturbation is, and how it is written down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from assay.errors import PerturbationError, did_you_mean
from assay.perturb.table import TablePerturbation
from assay.streams import stream
from assay.tasks import Task

if TYPE_CHECKING:
    from assay.tabletop import TableTask

AnyTask = TypeVar("AnyTask", Task, "TableTask")
"""A task of LIBERO's kind, or one on the table."""


class Perturbation(Protocol):
    """A frozen dataclass that turns one task into another, of the same world."""

    kind: ClassVar[str]
    """Its name in JSON, e.g. ``words/say``."""
    rebuilds: ClassVar[bool]
    """Whether the scene may change, so that the model must be compiled anew.

    Where only looks do, a class says ``looks_only``; one that changes the goal and not the scene, ``asks``.
    """

    def apply(self, task: Any, rng: np.random.Generator) -> Any:
        """The changed task. Raises PerturbationError where it cannot be done."""
        ...


P = TypeVar("P", bound=type[Perturbation])
_KINDS: dict[str, type[Perturbation]] = {}


def perturbation(cls: P) -> P:
    """Make a class known by its kind."""
    if not is_dataclass(cls) or cls.kind in _KINDS:
        raise TypeError(f"{cls.__name__} must be a dataclass with a kind of its own")
    _KINDS[cls.kind] = cls
    return cls


def kinds() -> Mapping[str, type[Perturbation]]:
    """Every perturbation that has been imported, by its kind."""
    return MappingProxyType(_KINDS)


def to_json(value: Perturbation) -> dict[str, Any]:
    """A perturbation as a JSON object: its kind and its fields, equal ones alike (0 and 0.0 and -0.0)."""
    adapter = _adapter(type(value))
    given = {each.name: getattr(value, each.name) for each in fields(value)}  # type: ignore[arg-type]
    plain: dict[str, Any] = adapter.dump_python(adapter.validate_python(given), mode="json")
    return {"kind": value.kind} | {name: _unsigned(each) for name, each in plain.items()}


def from_json(value: Mapping[str, Any]) -> Perturbation:
    """A perturbation from a JSON object. Raises PerturbationError that says what would be valid."""
    kind = str(value.get("kind"))
    if kind not in _KINDS:
        raise PerturbationError(f"there is no perturbation '{kind}': {did_you_mean(kind, _KINDS)}")
    given = {name: each for name, each in value.items() if name != "kind"}
    known = [each.name for each in fields(_KINDS[kind])]  # type: ignore[arg-type]
    for name in given:
        if name not in known:
            raise PerturbationError(f"{kind} has no field '{name}': {did_you_mean(name, known)}")
    try:
        return _adapter(_KINDS[kind]).validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise PerturbationError(f"{kind}: {place}: {first['msg'].lower()}") from None


def decides(value: Perturbation) -> bool:
    """Whether what is to be done, or how it can be done, may hang on it: not on words, looks and senses."""
    return getattr(value, "asks", False) or (value.rebuilds and not getattr(value, "looks_only", False))


def perturbed(task: AnyTask, perturbations: Perturbation | Iterable[Perturbation], *, seed: int) -> AnyTask:
    """A task with perturbations, or one, applied one after the other, each with a stream of its own.

    First come those that decide, in their order, then the others in theirs; and the stream hangs on the kind
    and on how many of that kind came before: so new words and looks leave the world as it is drawn without
    them. Raises PerturbationError for one that cannot be done, or is of the other world.
    """
    before: Counter[str] = Counter()
    several = tuple(perturbations) if isinstance(perturbations, Iterable) else (perturbations,)
    for each in sorted(several, key=lambda each: not decides(each)):
        if isinstance(each, TablePerturbation) == isinstance(task, Task):
            made_for = "on the table" if isinstance(task, Task) else "of LIBERO's kind"
            raise PerturbationError(f"{each.kind} is for tasks {made_for}: {task.id} is none")
        task = each.apply(task, stream(seed, "perturbation", task.id, each.kind, before[each.kind]))
        before[each.kind] += 1
    return task


@cache
def _adapter(kind: type[Perturbation]) -> TypeAdapter[Perturbation]:
    return TypeAdapter(kind)


def _unsigned(value: Any) -> Any:
    """A JSON value with every -0.0 as 0.0."""
    if isinstance(value, list):
        return [_unsigned(each) for each in value]
    return value + 0.0 if isinstance(value, float) else value
