"""Dataclass fields of perturbations, whose values are validated on construction."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, Field, field, fields
from enum import Enum
from functools import cache
from numbers import Integral, Real
from typing import Any, get_args, get_origin, get_type_hints

from assay.errors import PerturbationError, did_you_mean


def within(low: float, high: float, default: Any = MISSING) -> Any:
    """Return a field for a number from ``low`` to ``high``, for a tuple of such numbers, or for None if that is the
    default. The numbers must be integers if ``low`` is an integer.
    """
    return field(default=default, metadata={"valid": (low, high)})


def check(value: Any) -> None:
    """Raise PerturbationError if a field has an invalid value, or if all neutral fields have their neutral values.

    Fields for numbers are created with `within`. Fields for choices have an Enum as their type, and their values are
    converted to its members.
    """
    choices, lengths = _types(value.__class__)
    for attribute in fields(value):
        name, content = attribute.name, getattr(value, attribute.name)
        if content is None and attribute.default is None:
            continue
        if name in choices:
            try:
                object.__setattr__(value, name, choices[name](content))
            except ValueError:
                advice = did_you_mean(str(content), [str(member.value) for member in choices[name]])
                raise PerturbationError(f"{value.kind}: {name} is {content!r:.60}: {advice}") from None
        if "valid" in attribute.metadata:
            low, high = attribute.metadata["valid"]
            kind, length = Integral if isinstance(low, int) else Real, lengths.get(name)
            numbers = content if length and isinstance(content, tuple) else (content,)
            if len(numbers) != (length or 1) or not all(
                isinstance(number, kind) and not isinstance(number, bool) and low <= number <= high
                for number in numbers
            ):
                expected = (f"{length} values, " if length else "") + valid_range(attribute)
                raise PerturbationError(f"{value.kind}: {name} is {content!r:.60}; expected {expected}")
    if value.neutral and all(getattr(value, name) == nothing for name, nothing in value.neutral.items()):
        names = " or ".join(value.neutral)
        raise PerturbationError(f"{value.kind}: nothing is changed; choose another value for {names}")


@cache
def _types(cls: type) -> tuple[dict[str, type[Enum]], dict[str, int]]:
    """Return the fields of a class whose type is an Enum, with that Enum, and those that hold tuples of a fixed length,
    with that length.
    """
    choices, lengths = {}, {}
    for name, hint in get_type_hints(cls).items():
        for kind in (hint, *get_args(hint)):
            if inspect.isclass(kind) and issubclass(kind, Enum):
                choices[name] = kind
            elif get_origin(kind) is tuple and ... not in get_args(kind):
                lengths[name] = len(get_args(kind))
    return choices, lengths


def valid_range(attribute: Field[Any]) -> str:
    """Return a description of the numbers that a field accepts."""
    low, high = attribute.metadata["valid"]
    return f"{'integers ' if isinstance(low, int) else ''}{low:g} to {high:g}"
