"""The letter in what a model says. Strict: whatever has to be guessed is no answer, and is counted."""

from __future__ import annotations

import re

from assay.eqa.asking.prompts import Style
from assay.eqa.question import LETTERS
from assay.llm import Reply

_DECORATED = re.compile(r"[\W_]{0,9}[A-Da-d][\W_]{0,9}")
"""Such as ``B.``, ``(b)`` or ``**B**``: a matter of form."""
_TAG = re.compile(r"<answer>\s*([^<>]{1,80}?)\s*</answer>")


def letter(reply: Reply, style: Style) -> tuple[str, str]:
    """The letter, and an empty text; or no letter and why there is none.

    Either style takes the letter alone, or in an answer tag.
    """
    said = reply.text.strip()
    if not said:
        return "", "cut off" if reply.cut_off else "empty, or refused"
    if len(said) == 1:
        return (said, "") if said in LETTERS else ("", "not one of the letters")
    found, why = tagged(said)
    if found and (len(found) > 1 or found not in LETTERS):
        return "", "not one of the letters"
    if why == "no answer tag":
        if _DECORATED.fullmatch(said):
            why = "a letter with something around it"
        else:
            why = "cut off" if reply.cut_off else why if style is Style.STEPS else "more than a letter"
    return found, why


def tagged(text: str) -> tuple[str, str]:
    """What the answer tag holds; or nothing and why. A tag repeated with the same content counts once."""
    found = set(_TAG.findall(text))
    if len(found) == 1:
        return str(found.pop()), ""
    return "", "different answers" if found else "no answer tag"
