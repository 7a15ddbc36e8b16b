"""A number, or several, as a frozen value that becomes JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np

FOR_DRAWING = MappingProxyType({"for": "drawing"})
"""Metadata of a field that figures need and JSON does not tell."""


class Result:
    """Base of every measured value; its subclasses are frozen dataclasses."""

    __slots__ = ()

    def as_json(self) -> dict[str, Any]:
        """The value as plain JSON types: numbers are finite, what could not be measured is null."""
        told = (field.name for field in fields(self) if not field.metadata)  # type: ignore[arg-type]
        return {name: plain(getattr(self, name)) for name in told}


def plain(value: Any) -> Any:
    """A value of results, mappings, sequences, arrays and numbers as plain JSON types."""
    if isinstance(value, Result):
        return value.as_json()
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, tuple | list | np.ndarray):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a measure must be a finite number or None")
    return value
