"""Dataclass fields of perturbations, whose values are validated on construction."""

from __future__ import annotations

from dataclasses import MISSING, Field, field
from typing import Any


def within(low: float, high: float, default: Any = MISSING) -> Any:
    """Return a dataclass field for a number, or a tuple of numbers, from ``low`` to ``high``.

    The numbers must be integers if ``low`` is an integer. None is valid if it is the default.
    """
    return field(default=default, metadata={"valid": (low, high)})


def valid_range(attribute: Field[Any]) -> str:
    """Return a description of the numbers that a field accepts."""
    low, high = attribute.metadata["valid"]
    return f"{'integers ' if isinstance(low, int) else ''}{low:g} to {high:g}"
