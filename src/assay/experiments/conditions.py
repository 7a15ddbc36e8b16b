"""Conditions by name: ``position,displace=*``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import groupby

from assay.errors import ExperimentError, did_you_mean, did_you_mean_each

MOST_SHOWN = 12
"""Valid names that an error lists."""


def choose_conditions(selection: str, names: Iterable[str], experiment: str) -> frozenset[str]:
    """Those of the ``names`` that a selection means: names and patterns with ``*``, separated by commas.

    What stands before a name's first slash may be left out. A name may hold commas itself, as
    ``para/obj=none,act=need`` does. Raises ExperimentError where one means nothing, and says what there is.
    """
    known = tuple(names)
    parts = list(_parts(selection, known))
    unknown = list(dict.fromkeys(_unknown(parts, known)))
    if unknown:
        short = {name.partition("/")[2] or name for name in known}
        options = known if any("/" in part for part in unknown) else short
        if len(unknown) == 1:
            valid = did_you_mean(unknown[0], options, most=MOST_SHOWN)
            raise ExperimentError(f"{experiment} has no condition '{unknown[0]}' with these tasks: {valid}")
        valid = did_you_mean_each(unknown, options, most=MOST_SHOWN)
        listed = ", ".join(f"'{part}'" for part in unknown)
        raise ExperimentError(f"{experiment} has no conditions {listed} with these tasks: {valid}")
    return frozenset(name for _, found in parts for name in found)


def _parts(selection: str, known: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """Each part of a selection and what it means, nothing where it is unknown.

    Commas within a name are found by trying the longest text first.
    """
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
        yield pattern, found
        left = left[size:]


def _unknown(parts: Sequence[tuple[str, list[str]]], known: Sequence[str]) -> Iterator[str]:
    """The parts that mean nothing; where names hold commas, so many in a row as a name has belong together."""
    size = 1 + max((name.count(",") for name in known), default=0)
    for stands, group in groupby(parts, key=lambda part: bool(part[1])):
        if not stands:
            texts = [text for text, _ in group]
            yield from (",".join(texts[first : first + size]) for first in range(0, len(texts), size))


def _means(pattern: str, name: str) -> bool:
    return fnmatchcase(name, pattern) or fnmatchcase(name.partition("/")[2], pattern)
