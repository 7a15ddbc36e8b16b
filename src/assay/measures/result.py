"""What a measure hands back, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from assay.errors import AssayError
from assay.support.stats.intervals import FOR_DRAWING, Result

__all__ = ["FOR_DRAWING", "MeasureError", "Missing", "Result", "attempt"]

T = TypeVar("T")
P = ParamSpec("P")


class MeasureError(AssayError):
    """A measure that a run cannot give: says what the run lacks."""


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
