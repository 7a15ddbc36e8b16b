"""Noun phrases and prepositions: "the black bowl next to the ramekin", "on top of".

A phrase may have placeholders for its nouns, as in "the black {n0} next to the {n1}"; {p0} is a plural noun.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

RESTING = {
    "on top of": "on top of",
    "in front of": "in front of",
    "to the front of": "at the front of",
    "to the left of": "to the left of",
    "to the right of": "to the right of",
    "next to": "next to",
    "onto": "on",
    "into": "in",
    "inside": "inside",
    "under": "under",
    "on": "on",
    "in": "in",
}
"""Mapping from the preposition of a destination to that of the resulting location."""
NEAR = ("next to", "near", "beside", "close to")
_OTHERS = (
    *("to the back of", "to the side of", "to", "at", "between", "behind", "underneath", "over", "above"),
    *("against", "towards", "toward"),
)
POSTURES = ("upright", "flat", "sideways")
"""Adverbs that may precede a preposition: "upright on top of"."""
TOWARDS = {"on": "onto", "in": "into", "inside": "into", "on top of": "onto"}
"""Mapping from the preposition of a location to that of a movement to it."""


def any_of(words: tuple[str, ...]) -> str:
    """Return a pattern that matches one of several phrases, longest first."""
    return f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"


SIDE = any_of(("left", "right", "front", "back", "middle"))
"""Pattern of the words that select one of several objects by side."""
PREPOSITION = any_of(tuple(dict.fromkeys((*RESTING, *NEAR, *_OTHERS))))
"""Pattern of all known prepositions."""
FIELD = re.compile(r"\{[np](\d+)\}")
_ARTICLE = re.compile(r"\b(?:the|an?) ")
_LOCATED = re.compile(rf"(?P<head>.+?) (?P<where>(?:{PREPOSITION}|from) .+)")


def is_located(phrase: str) -> bool:
    """Return whether a phrase identifies an object by its location: "the bowl on the stove"."""
    return _LOCATED.fullmatch(phrase) is not None


def without_place(phrase: str) -> str:
    """Return a phrase without its location: "the bowl" for "the bowl on the stove"."""
    match = _LOCATED.fullmatch(phrase)
    return match["head"] if match else phrase


def is_plural(phrase: str) -> bool:
    """Return whether a phrase refers to several objects."""
    head = without_place(phrase)
    field = FIELD.search(phrase)
    return head.startswith("both ") or " and the " in head or (field is not None and field[0][1] == "p")


def is_long(phrase: str) -> bool:
    """Return whether words follow the noun in a phrase with placeholders, which makes later words ambiguous."""
    return phrase[-1] != "}" or (len(FIELD.findall(phrase)) > 1 and not is_plural(phrase))


def pronoun(phrase: str) -> str:
    """Return the pronoun for a phrase, ``it`` or ``them``."""
    return "them" if is_plural(phrase) else "it"


def with_place_clause(phrase: str) -> str:
    """Return a phrase with its location rewritten as a relative clause: "the bowl that is on the stove"."""
    match = _LOCATED.fullmatch(phrase)
    if match is None or match["where"].startswith("from "):
        return phrase
    return f"{match['head']} that is {match['where']}"


def without_articles(phrase: str) -> str:
    """Return a phrase without its articles."""
    return _ARTICLE.sub("", f"{phrase} ").strip()


def without_whole(phrase: str) -> str:
    """Return a phrase for a part of an object without the name of the object.

    For example, return "the bottom drawer" for "the bottom drawer of the cabinet".
    """
    return phrase.split(" of ")[0]


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
"""Words that may follow a name, and the number of landmarks after them, by relation.

``on`` and ``in`` are excluded, because an object moves with its support.
"""


@dataclass(frozen=True, slots=True)
class Position:
    """Words next to a name that state an object's position."""

    text: str
    """The words, including the name: ``next to the plate``, ``left plate``."""
    relation: str
    """A side, or ``between``, ``near``, ``left of``, ``right of``, ``in front of``, ``behind``, ``centre``,
    ``nearest`` or ``furthest`` (from the robot)."""
    landmarks: tuple[tuple[str, ...], ...] = ()
    """Possible referents of the name of each landmark."""


def positions(text: str, form: str, names: Mapping[str, tuple[str, ...]]) -> Iterator[Position]:
    """Yield the position stated next to each occurrence of a name.

    ``names`` are the names of all objects in the scene. The text must be in lower case, without punctuation.
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
            located = _landmarks(rest[start.end() :], count, names) if start else None
            if start and located is not None:
                landmarks, length = located
                yield Position(rest[: start.end() + length].strip(), relation, landmarks)


def _landmarks(
    text: str, count: int, names: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[tuple[str, ...], ...], int] | None:
    """Return the possible referents of names joined by ``and`` at the start of a text, and the length matched."""
    landmarks: list[tuple[str, ...]] = []
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
        landmarks.append(tuple(name for name in ends if ends[name] == max(ends.values())))
        end += max(ends.values())
    return tuple(landmarks), end
