"""Whether two instructions ask for different things, by their words."""

from __future__ import annotations

import re

_PLAIN = "a an the to of and it its into onto in on from with up down put place pick move take set"
PLAIN = frozenset(_PLAIN.split())
"""Words that do not tell one task from another."""


def words(text: str) -> frozenset[str]:
    """The words of a text that tell something."""
    return frozenset(re.findall(r"\w+", text.lower())) - PLAIN


def likeness(one: frozenset[str], two: frozenset[str]) -> float:
    """The share of words that are in both."""
    return len(one & two) / max(len(one | two), 1)


def is_other(one: str, two: str) -> bool:
    """Whether each names something the other does not: not one instruction said in two ways."""
    first, second = words(one), words(two)
    return bool(first - second) and bool(second - first)
