"""What a measure hands back: a frozen value that becomes JSON, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from assay.errors import AssayError

FOR_DRAWING = MappingProxyType({"for": "drawing"})
"""Metadata of a field that figures need and JSON does not tell."""

T = TypeVar("T")
P = ParamSpec("P")


class MeasureError(AssayError):
    """A measure that a run cannot give: says what the run lacks."""


class Result:
    """Base of every measured value; its subclasses are frozen dataclasses."""

    __slots__ = ()

    def as_json(self) -> dict[str, Any]:
        """The value as plain JSON types: numbers are finite, what could not be measured is null."""
        told = (each.name for each in fields(self) if not each.metadata)  # type: ignore[arg-type]
        return {name: _plain(getattr(self, name)) for name in told}


@dataclass(frozen=True, slots=True)
class Missing(Result):
    """Stands for a measure that a run cannot give."""

    missing: str
    """Why."""


def attempt(measure: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T | Missing:
    """What a measure says about a run, or why it says nothing."""
    try:
        return measure(*arguments, **options)
    except MeasureError as error:
        return Missing(str(error))


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return value.as_json()
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, tuple | list | np.ndarray):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a measure must be a finite number or None")
    return value
