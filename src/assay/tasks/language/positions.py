"""Where the words say that a thing stands: "the bowl next to the plate", "the left plate"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.tasks.language.phrases import NEAR, SIDE, any_of

_CENTRE = "(?:table (?:center|centre)|(?:center|centre|middle) of the table)"
_AFTER = {
    "between": ("between", 2),
    "near": (any_of(NEAR), 1),
    "left of": ("(?:to|on) the left of", 1),
    "right of": ("(?:to|on) the right of", 1),
    "in front of": ("in front of", 1),
    "behind": ("behind", 1),
    "centre": (f"(?:from|at|in) (?:the )?{_CENTRE}", 0),
    "nearest": ("nearest to the robot", 0),
    "furthest": ("furthest from the robot", 0),
}
"""Relation -> the words that may follow a name, and how many landmarks follow them.

What follows ``on`` and ``in`` is not among them: what a thing stands on takes it along.
"""


@dataclass(frozen=True, slots=True)
class Position:
    """Words beside a name that say where a thing stands."""

    text: str
    """``next to the plate``, ``left plate``."""
    relation: str
    """A side, or ``between``, ``near``, ``left of``, ``right of``, ``in front of``, ``behind``, ``centre``,
    ``nearest`` or ``furthest`` (from the robot)."""
    landmarks: tuple[tuple[str, ...], ...] = ()
    """For every landmark, what may be meant by its name."""


def positions(text: str, form: str, names: Mapping[str, tuple[str, ...]]) -> Iterator[Position]:
    """What is said beside each occurrence of a form of a name; ``names`` are those of all things here.

    The text is in lower case, without punctuation.
    """
    for match in re.finditer(rf"(?:\b({SIDE}) (?:\w+ )??)?\b{re.escape(form)}\b", text):
        if match[1]:
            yield Position(match[0], match[1])
        rest = text[match.end() :]
        after = re.match(rf" (?:on|at|in) the ({SIDE})(?= and |$)", rest)
        if after:
            yield Position(form + after[0], after[1])
        for relation, (pattern, count) in _AFTER.items():
            start = re.match(rf" {pattern}(?: |$)", rest)
            found = _landmarks(rest[start.end() :], count, names) if start else None
            if start and found is not None:
                landmarks, length = found
                yield Position(rest[: start.end() + length].strip(), relation, landmarks)


def _landmarks(
    text: str, count: int, names: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[tuple[str, ...], ...], int] | None:
    """What the names at the beginning of a text, joined by ``and``, may mean, and how long they are."""
    found: list[tuple[str, ...]] = []
    end = 0
    for _ in range(count):
        ends: dict[str, int] = {}
        for name, forms in names.items():
            for form in forms:
                match = re.match(rf"(?: ?and )?(?:the )?(?:\w+ )??{re.escape(form)}\b", text[end:])
                if match:
                    ends[name] = max(match.end(), ends.get(name, 0))
        if not ends:
            return None
        found.append(tuple(name for name in ends if ends[name] == max(ends.values())))
        end += max(ends.values())
    return tuple(found), end
