"""Fields of perturbations, with validation of their values on construction."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, Field, field, fields
from enum import Enum
from functools import cache
from numbers import Integral, Real
from typing import Any, get_args, get_origin, get_type_hints

from assay.errors import PerturbationError, did_you_mean


def within(low: float, high: float, default: Any = MISSING) -> Any:
    """Return a field for numbers from ``low`` to ``high`` (integers if ``low`` is one), or None if that is the
    default.
    """
    return field(default=default, metadata=between(low, high))


def between(low: float, high: float) -> dict[str, tuple[float, float]]:
    """Return the metadata of a field for tuples of numbers from ``low`` to ``high``."""
    return {"valid": (low, high)}


def check(value: Any) -> None:
    """Raise PerturbationError if a field has an invalid value; names of Enum members are converted to the members.

    Number fields are created by `within` or with `between`; choice fields have an Enum as their type.
    """
    choices, lengths = _choices(value.__class__), _lengths(value.__class__)
    for attribute in fields(value):
        held = getattr(value, attribute.name)
        if attribute.name in choices and not (held is None and attribute.default is None):
            object.__setattr__(
                value,
                attribute.name,
                _parse_choice(value.kind, attribute.name, held, choices[attribute.name]),
            )
        if "valid" not in attribute.metadata or (held is None and attribute.default is None):
            continue
        low, high = attribute.metadata["valid"]
        length = lengths.get(attribute.name)
        numbers = held if length and isinstance(held, tuple) else (held,)
        if len(numbers) != (length or 1) or not all(_is_number(number, low, high) for number in numbers):
            valid = valid_range(attribute) + (f", {length} of them" if length else "")
            raise PerturbationError(f"{value.kind}: {attribute.name} is {held!r:.60}; valid: {valid}")


def check_change(value: Any, **neutral: object) -> None:
    """Raise PerturbationError if all fields named in ``neutral`` have their neutral value, so that nothing would
    change.
    """
    if all(getattr(value, name) == nothing for name, nothing in neutral.items()):
        names = " or ".join(neutral)
        raise PerturbationError(f"{value.kind}: nothing is changed; valid: another {names}")


def _is_number(value: Any, low: float, high: float) -> bool:
    """Return whether a value is a number in a range, and an integer if the lower bound is one."""
    right = isinstance(value, Integral if isinstance(low, int) else Real) and not isinstance(value, bool)
    return right and bool(low <= value <= high)


def _parse_choice(kind: str, name: str, found: Any, choices: type[Enum]) -> Enum:
    try:
        return choices(found)
    except ValueError:
        valid = [str(member.value) for member in choices]
        raise PerturbationError(
            f"{kind}: {name} is {found!r:.60}: {did_you_mean(str(found), valid)}"
        ) from None


@cache
def _choices(made: type) -> dict[str, type[Enum]]:
    """Return the fields of a class whose type is an Enum, with the Enum."""
    return {
        name: kind
        for name, hint in get_type_hints(made).items()
        for kind in (hint, *get_args(hint))
        if inspect.isclass(kind) and issubclass(kind, Enum)
    }


@cache
def _lengths(made: type) -> dict[str, int]:
    """Return the fields of a class that hold tuples of a fixed length, with the length."""
    return {
        name: len(get_args(kind))
        for name, hint in get_type_hints(made).items()
        for kind in (hint, *get_args(hint))
        if get_origin(kind) is tuple and ... not in get_args(kind)
    }


def valid_range(each: Field[Any]) -> str:
    """Return a description of the valid numbers of a field."""
    low, high = each.metadata["valid"]
    return f"{'whole numbers ' if isinstance(low, int) else ''}{low:g} to {high:g}"
