"""Results of measures, and placeholders with the reason for missing results."""

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


class MeasureError(AssayError):
    """Raised when a run lacks the data for a measure; the message names the missing data."""


@dataclass(frozen=True, slots=True)
class Missing(Result):
    """Placeholder for the result of a measure for which a run lacks the data."""

    missing: str
    """Reason why the result is missing."""


def attempt(function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T | Missing:
    """Call a measure, or the function of a table or figure, and turn an exception into a `Missing` with the reason.

    A `MeasureError` means that the run lacks the data. Any other exception is a defect, possibly in a plugin: only
    this result is lost, and the rest of the report is still generated.
    """
    try:
        return function(*arguments, **options)
    except MeasureError as error:
        return Missing(str(error))
    except (sqlite3.DatabaseError, zlib.error):  # the file is damaged, which affects all measures
        raise
    except Exception as error:
        return Missing(f"failed with {one_line(error)}")
