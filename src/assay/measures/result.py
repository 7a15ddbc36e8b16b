"""Results of measures, and the reason where a measure has none."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from assay.errors import AssayError, one_line
from assay.support.stats.intervals import FOR_DRAWING, Result

__all__ = ["FOR_DRAWING", "MeasureError", "Missing", "Result", "attempt"]

T = TypeVar("T")
P = ParamSpec("P")
_DAMAGED = (sqlite3.DatabaseError, zlib.error)
"""Errors of a damaged run file, which concern all measures and are handled by the reader of the run."""


class MeasureError(AssayError):
    """A measure that a run cannot provide; the message names what the run lacks."""


@dataclass(frozen=True, slots=True)
class Missing(Result):
    """Placeholder for the result of a measure that a run cannot provide."""

    missing: str
    """The reason."""


def attempt(function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T | Missing:
    """Call a measure, or the function of one of its views, and turn an exception into a `Missing` with its reason.

    A `MeasureError` is the documented way to decline. Any other exception is a defect, possibly of a plugin: it costs
    this result, and the rest of the report is still made.
    """
    try:
        return function(*arguments, **options)
    except MeasureError as error:
        return Missing(str(error))
    except _DAMAGED:
        raise
    except Exception as error:
        return Missing(f"failed with {one_line(error)}")
