"""What was said instead: two instructions, word by word."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

MOST_WORDS = 400
"""Longer texts are not compared: it would take too long."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Words of one of the two, or of both."""

    kind: Literal["same", "gone", "new"]
    text: str


def difference(before: str, after: str) -> tuple[Piece, ...]:
    """The words that stayed, went and came, in order."""
    old, new = before.split(), after.split()
    if max(len(old), len(new)) > MOST_WORDS:
        return (Piece("gone", before), Piece("new", after))
    said, told = ([word.lower() for word in words] for words in (old, new))
    pieces: list[Piece] = []
    for kind, i, j, k, m in SequenceMatcher(None, said, told, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces.append(Piece("same", " ".join(new[k:m])))
            continue
        if i < j:
            pieces.append(Piece("gone", " ".join(old[i:j])))
        if k < m:
            pieces.append(Piece("new", " ".join(new[k:m])))
    return tuple(pieces)
