"""Dataclass fields of perturbations, whose values are validated on construction."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, Field, field
from enum import Enum
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints


def within(low: float, high: float, default: Any = MISSING) -> Any:
    """Return a dataclass field for a number, or a tuple of numbers, from ``low`` to ``high``.

    The numbers must be integers if ``low`` is an integer. None is valid if it is the default.
    """
    return field(default=default, metadata={"valid": (low, high)})


@cache
def field_types(cls: type) -> tuple[dict[str, type[Enum]], dict[str, int]]:
    """Return two mappings for the fields of a class: fields with an Enum as their type -> that Enum, and fields that
    hold tuples of a fixed length -> that length.
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
