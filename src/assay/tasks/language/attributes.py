"""What tells things apart besides their names: colours and other looks, sizes, sides and order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from assay.tasks.language.entries import HERE, Words, load_yaml, validate
from assay.tasks.names import words
from assay.tasks.staging import Colour

COLOURS: Mapping[str, Colour] = {
    "black": (0.0, 0.0, 0.0), "white": (1.0, 1.0, 1.0), "grey": (0.5, 0.5, 0.5), "red": (0.85, 0.15, 0.15),
    "blue": (0.15, 0.45, 0.85), "green": (0.2, 0.65, 0.25), "yellow": (0.95, 0.8, 0.2),
    "purple": (0.6, 0.3, 0.7), "orange": (0.95, 0.5, 0.1), "pink": (0.95, 0.6, 0.7),
    "brown": (0.45, 0.3, 0.2), "cyan": (0.2, 0.75, 0.85), "teal": (0.0, 0.45, 0.45), "navy": (0.1, 0.15, 0.4),
}  # fmt: skip
"""Words for colours, and about which red, green and blue they mean."""
SIZES = frozenset(
    words(
        "big bigger biggest large larger largest medium small smaller smallest little tiny tall taller tallest "
        "short shorter shortest middle-sized"
    )
) - {"middle"}
PATTERNS = frozenset(
    words("striped checkered checked plain dotted spotted speckle speckled speckles wavy grid")
)
SIDES = frozenset(words("left right"))
DISTANCES = frozenset(words("nearest nearer closest closer farthest farther furthest"))
"""Words that choose among several things by their distance from something; "next to" chooses by contact."""
_RANK = "top|middle|bottom|upper|lower|first|second|third|fourth|last"
_PART = "drawer|region|layer|shelf|level|row|compartment"
_RANKED = re.compile(rf"\b(?:{_RANK}) (?:and (?:{_RANK}) )?(?:{_PART})\b|\b(?:{_RANK}) (?:\w+ ){{0,3}}from\b")
_SURFACE = re.compile(r"\btop layer\b")
"""What sounds like a rank and is the upper surface of a thing; LIBERO-X does not count it as a rank."""
_NO_COLOUR = ("orange juice", "juice")


@cache
def attribute_words() -> frozenset[str]:
    """Visual and spatial words, from ``attributes.yaml``: what a qualifier of a noun must not be."""
    lists = validate(dict[str, Words], load_yaml(HERE.joinpath("attributes.yaml")), "attributes.yaml")
    return frozenset(word for words in lists.values() for word in words)


def colours_of(text: str, names: Iterable[str]) -> set[str] | None:
    """The colours by which a text calls what has one of these names; None if it does not speak of it."""
    plain = " ".join(words(text)).replace(*_NO_COLOUR)
    forms = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    called = re.findall(rf"(?:\b\w+ )?\b(?:{forms})\b", plain)
    return {word for each in called for word in each.split() if word in COLOURS} if called else None


def is_ranked(text: str) -> bool:
    """Whether a text chooses by order: the middle drawer, the second from the left."""
    return bool(_RANKED.search(_SURFACE.sub("", " ".join(words(text)))))


def looks_named(text: str) -> set[str]:
    """By which looks a text tells things apart: colour, size, pattern; empty where by their category alone."""
    said = set(words(" ".join(words(text)).replace(*_NO_COLOUR)))
    vocabularies = {"colour": COLOURS.keys(), "size": SIZES, "pattern": PATTERNS}
    return {look for look, vocabulary in vocabularies.items() if said & vocabulary}
