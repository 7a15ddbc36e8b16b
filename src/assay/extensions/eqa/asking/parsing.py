"""The letter in what a model says: strictly, and leniently for a second column.

Strict is what ActionEQA scores: whatever has to be guessed is no answer, and is counted. Lenient forgives the form, and
tells whether a model is wrong or only formats its answers.
"""

from __future__ import annotations

import re

from assay.extensions.eqa.asking.prompts import Style
from assay.extensions.eqa.question import LETTERS
from assay.support.llm import Reply

BLOCKED = "blocked"
"""Why there is no letter where the model, or who watches over it, would not answer."""
_DECORATED = re.compile(r"[\W_]{0,9}[A-Da-d][\W_]{0,9}")
"""Such as ``B.``, ``(b)`` or ``**B**``: a matter of form."""
_TAG = re.compile(r"<answer>\s*([^<>]{1,80}?)\s*</answer>")
_MARKS = re.compile(r"<\|[a-z_]{1,40}\|>|[*_`#$]", re.I)
_BOXED = re.compile(r"\\boxed\s{0,2}\{\s{0,2}(?:\\text\s{0,2}\{)?\s{0,2}\(?([A-Da-d])\b")
_LED = re.compile(r"[\s(\[]{0,4}([A-D])[.):\]]\s{0,4}\S")
"""A letter and the option's own words: ``B) open the drawer``."""
_TOLD = re.compile(
    r"\b(?i:answer|option|choice)\s{0,4}(?:\b(?i:is|would be)\b\s{0,4}[:=]?|[:=])\s{0,4}"
    r"(?:(?i:option|choice)\s{1,4})?[(\[]?([A-D])\b([^.;\n]*)"
)
"""``The answer is B``, ``Final Answer: (B)``, and the rest of the sentence; not ``I rule out option B``."""
_LETTER = re.compile(r"\b[A-D]\b")
_END = 400
"""Only so many characters at the end of an answer are searched for one that is told in a sentence."""


def letter(reply: Reply, style: Style) -> tuple[str, str]:
    """The letter, and an empty text; or no letter and why there is none.

    Either style takes the letter alone, or in an answer tag.
    """
    said = reply.text.strip()
    if reply.blocked:
        return "", BLOCKED
    if not said:
        return "", "cut off" if reply.cut_off else "empty"
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


def lenient(text: str) -> str:
    """The letter that an answer means, whatever its form; empty where that would be a guess.

    Taken are what follows ``</think>``, a tag, a box, a letter with signs around it or before its option's words, and
    the last "answer is B" near the end, if its sentence names no other letter.
    """
    said = text.rpartition("</think>")[2]
    if boxed := set(_BOXED.findall(said[-_END:])):
        return boxed.pop().upper() if len(boxed) == 1 else ""
    said = _MARKS.sub("", said[-20_000:]).strip()
    tags = _TAG.findall(said)
    if tags:
        said = tags[-1].strip()
        if len({tag.strip() for tag in tags}) > 1:
            return ""
    if _DECORATED.fullmatch(said):
        return next(sign for sign in said.upper() if sign in LETTERS)
    if led := _LED.match(said):
        return led[1] if tags or "\n" not in said else ""
    told = _TOLD.findall(said[-_END:])
    if not told or _LETTER.search(told[-1][1]):  # "A or B"
        return ""
    return str(told[-1][0])


def tagged(text: str) -> tuple[str, str]:
    """What the answer tag holds; or nothing and why. A tag repeated with the same content counts once."""
    found = set(_TAG.findall(text))
    if len(found) == 1:
        return str(found.pop()), ""
    return "", "different answers" if found else "no answer tag"
