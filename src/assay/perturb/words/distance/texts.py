"""Which texts have a distance at all."""

from __future__ import annotations

import unicodedata

from assay.perturb.words.distance.errors import DistanceError

MOST_CHARACTERS = 2000
"""Of a text. Instructions have a hundred; comparing trees takes up to the fourth power of their size."""
_UNREADABLE = {"Cc": "a control character", "Cf": "an invisible character", "Cs": "half a surrogate pair"}


def check_text(text: object, what: str) -> None:
    """Raises DistanceError where a text is none that can be parsed; ``what`` names it in the message."""
    if not isinstance(text, str):
        raise DistanceError(f"{what} must be text, not {type(text).__name__}")
    if not text.strip():
        raise DistanceError(f"{what} is empty")
    if len(text) > MOST_CHARACTERS:
        raise DistanceError(f"{what} has {len(text)} characters: at most {MOST_CHARACTERS} can be compared")
    for place, character in enumerate(text, start=1):
        kind = _UNREADABLE.get(unicodedata.category(character))
        if kind is not None:
            raise DistanceError(f"{what} holds {kind} (U+{ord(character):04X}) at place {place}: take it out")
