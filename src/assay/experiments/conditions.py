"""Conditions by name: ``position,displace=*``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from assay.errors import ExperimentError, did_you_mean

MOST_SHOWN = 12
"""Valid names that an error lists."""


def choose_conditions(selection: str, names: Iterable[str], experiment: str) -> frozenset[str]:
    """Those of the ``names`` that a selection means: names and patterns with ``*``, separated by commas.

    What stands before a name's first slash may be left out. A name may hold commas itself, as
    ``para/obj=none,act=need`` does. Raises ExperimentError where one means nothing, and says what there is.
    """
    known = tuple(names)
    return frozenset(name for found in _parts(selection, known, experiment) for name in found)


def _parts(selection: str, known: tuple[str, ...], experiment: str) -> Iterator[list[str]]:
    """What each part of a selection means; commas within a name are found by trying the longest text first."""
    left = [part.strip() for part in selection.split(",") if part.strip()]
    if not left:
        raise ExperimentError(
            f"conditions '{selection}': name one at least; {did_you_mean('', known, most=MOST_SHOWN)}"
        )
    while left:
        for size in range(len(left), 0, -1):
            pattern = ",".join(left[:size])
            found = [name for name in known if _means(pattern, name)]
            if found:
                break
        else:
            short = {name.partition("/")[2] or name for name in known}
            valid = did_you_mean(pattern, known if "/" in pattern else short, most=MOST_SHOWN)
            raise ExperimentError(f"{experiment} has no condition '{pattern}' with these tasks: {valid}")
        yield found
        left = left[size:]


def _means(pattern: str, name: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(name.partition("/")[2], pattern)
