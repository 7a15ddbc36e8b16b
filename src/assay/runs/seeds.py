"""Which seeds a run has: ``4`` means 0 to 3; ``7,8,9`` and ``7-11`` name them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count, islice

from assay.errors import RunError

MOST_SEEDS = 100_000


def as_seeds(given: str | int | Iterable[int]) -> tuple[int, ...]:
    """Seeds from how many there are, from what names them, or from themselves. Raises RunError."""
    if isinstance(given, str):
        return parse_seeds(given)
    try:
        found = tuple(range(given)) if isinstance(given, int) else tuple(given)
    except TypeError:
        found = ()
    if not found or any(type(seed) is not int or seed < 0 for seed in found) or len(set(found)) < len(found):
        raise RunError(f"seeds={given!r:.60}: valid: how many, or different whole numbers from 0 on")
    return found


def parse_seeds(text: str) -> tuple[int, ...]:
    """``4`` means 0 to 3; ``7,8,9`` and ``7-11`` name them."""
    try:
        if text.isdigit():
            found = tuple(range(min(int(text), MOST_SEEDS + 1)))
        else:
            ranges = [
                re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip()) for part in text.split(",") if part.strip()
            ]
            found = tuple(
                seed
                for match in ranges
                for seed in islice(count(int(match[1])), _length(match))  # type: ignore[index, arg-type]
            )
    except TypeError:
        found = ()
    if len(found) > MOST_SEEDS:
        raise RunError(f"--seeds '{text}': more than {MOST_SEEDS:,} of them")
    if not found or len(set(found)) != len(found):
        raise RunError(
            f"--seeds '{text}': valid: a count (4 means 0 to 3), or different seeds (7,8,9 or 7-11)"
        )
    return found


def _length(match: re.Match[str]) -> int:
    """How many seeds a range names, as far as we count."""
    return min(max(int(match[2] or match[1]) - int(match[1]) + 1, 0), MOST_SEEDS + 1)
