"""Answer files (JSON lines, one file per model and prompt), and parsing of the letter from a model's reply.

ActionEQA scores with strict parsing: a letter that has to be guessed is not an answer, and is counted as wrong.
Lenient parsing ignores the form, and shows whether a model is wrong or only formats its answers differently.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path

import polars as pl

from assay.extensions.eqa.asking.prompts import Style
from assay.extensions.eqa.question import FOLDER_FILES, LETTERS, QuestionError
from assay.support.files import check_writable, replacing
from assay.support.llm.protocols import Reply

MAX_TEXT = 20_000
"""Maximum number of characters of a reply that are stored, counted from its end, where the answer is."""
BLOCKED = "blocked"
"""Value of `Answer.reason` if the model, or its provider's content filter, refused to answer."""
_DECORATED = re.compile(r"[\W_]{0,9}[A-Da-d][\W_]{0,9}")
"""A letter with decoration, such as ``B.``, ``(b)`` or ``**B**``."""
_TAG = re.compile(r"<answer>\s*([^<>]{1,80}?)\s*</answer>")
_MARKS = re.compile(r"<\|[a-z_]{1,40}\|>|[*_`#$]", re.I)
_BOXED = re.compile(r"\\boxed\s{0,2}\{\s{0,2}(?:\\text\s{0,2}\{)?\s{0,2}\(?([A-Da-d])\b")
_LEADING = re.compile(r"[\s(\[]{0,4}([A-D])[.):\]]\s{0,4}\S")
"""A letter before the text of its option: ``B) open the drawer``."""
_SENTENCE = re.compile(
    r"\b(?i:answer|option|choice)\s{0,4}(?:\b(?i:is|would be)\b\s{0,4}[:=]?|[:=])\s{0,4}"
    r"(?:(?i:option|choice)\s{1,4})?[(\[]?([A-D])\b([^.;\n]*)"
)
"""A sentence that states the answer, ``The answer is B`` or ``Final Answer: (B)``; not ``I rule out option B``."""
_LETTER = re.compile(r"\b[A-D]\b")
_SEARCHED_END = 400
"""Number of characters at the end of a reply that are searched for a sentence that states the answer."""


class AnswerState(StrEnum):
    """Outcome of asking a question."""

    ANSWERED = "answered"
    UNPARSED = "unparsed"
    """The reply contains no answer, which counts as wrong."""
    UNANSWERED = "unanswered"
    """The endpoint failed: the question is not scored, and is asked again in the next session."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer to a question."""

    model: str
    style: str
    """Name of the prompt; empty for baselines and people."""
    question: str
    """Id of the question."""
    state: AnswerState
    letter: str = ""
    """Letter of the chosen option; empty unless answered."""
    reason: str = ""
    """Reason why there is no letter; empty if answered."""
    text: str = ""
    """Reply of the model."""
    thoughts: str = ""
    """Reasoning of the model, if the endpoint returns it separately."""
    endpoint: str = ""
    """URL of the endpoint; empty for baselines."""
    parameters: str = ""
    """Request parameters in JSON: temperature, tokens, effort, prompt, examples, and Assay's version."""
    at: str = ""
    """Time of the reply in ISO 8601 format."""
    sent: int | None = None
    """Number of input tokens, as counted by the endpoint."""
    received: int | None = None
    """Number of output tokens, as counted by the endpoint."""


SCHEMA = {
    field.name: pl.Int64 if field.name in ("sent", "received") else pl.String for field in fields(Answer)
}
_REQUIRED = ("model", "question", "state")


def write(answers: Sequence[Answer], path: Path) -> None:
    """Write answers atomically."""
    with replacing(path) as unfinished:
        lines = (json.dumps(asdict(answer), ensure_ascii=False) for answer in answers)
        unfinished.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", errors="replace")


def check_target(path: Path, folder: Path, model: str, style: str) -> None:
    """Raise QuestionError if the file exists and contains anything but answers from this model and prompt."""
    if path.resolve() in [(folder / name).resolve() for name in FOLDER_FILES] or path.is_dir():
        raise QuestionError(
            f"{path} is part of the question set, or a folder; choose another file for the answers"
        )
    if path.exists():
        try:
            owners = read(path).select("model", "style").unique().rows()
        except QuestionError as error:
            raise QuestionError(f"{error}; the file was not overwritten; choose another one") from None
        if owners != [(model, style)]:
            names = ", ".join(sorted(f"{name} ({prompt})" if prompt else name for name, prompt in owners))
            raise QuestionError(f"{path} contains answers from {names}; choose another file for {model}")
    check_writable(path)


def read(path: Path) -> pl.DataFrame:
    """Read an answer file, one column per field. Raises QuestionError if the file is invalid."""
    if not path.is_file():
        raise QuestionError(f"{path}: file not found; use assay eqa ask to write answers")
    try:
        frame = pl.read_ndjson(path, schema=SCHEMA)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0][:120]
        raise QuestionError(f"{path}: not an answer file: {reason}") from None
    texts = [name for name, kind in SCHEMA.items() if kind == pl.String and name not in _REQUIRED]
    frame = frame.with_columns(pl.col(texts).fill_null(""))
    if not len(frame) or frame.select(_REQUIRED).null_count().sum_horizontal().item():
        raise QuestionError(f"{path}: not an answer file: model, question or state is missing")
    answered = pl.col("state") == AnswerState.ANSWERED
    valid_state = pl.col("state").is_in([*AnswerState])
    invalid = frame.filter(~valid_state | (answered != pl.col("letter").is_in([*LETTERS])))
    if len(invalid):
        raise QuestionError(
            f"{path}: question {invalid['question'][0][:40]}: state and letter do not match; "
            "only an answered question has a letter (A to D)"
        )
    return frame


def parse_letter(reply: Reply, style: Style) -> tuple[str, str]:
    """Parse a reply strictly: return the letter and "", or "" and the reason why there is no letter.

    Both prompt styles accept the letter alone, or in an answer tag.
    """
    text = reply.text.strip()
    if reply.blocked:
        return "", BLOCKED
    if not text:
        return "", "cut off" if reply.cut_off else "empty"
    if len(text) == 1:
        return (text, "") if text in LETTERS else ("", "not one of the letters")
    content, reason = parse_tag(text)
    if content and (len(content) > 1 or content not in LETTERS):
        return "", "not one of the letters"
    if reason == "no answer tag":
        if _DECORATED.fullmatch(text):
            reason = "a letter with other characters"
        elif reply.cut_off:
            reason = "cut off"
        elif style is not Style.STEPS:
            reason = "more than a letter"
    return content, reason


def parse_leniently(text: str) -> str:
    """Return the letter in a reply regardless of its form; empty if it is ambiguous.

    Accepts the text after ``</think>``, a tag, a box, a letter with punctuation or before the text of its option, and
    the last "answer is B" near the end, if its sentence names no other letter.
    """
    text = text.rpartition("</think>")[2]
    if boxed := set(_BOXED.findall(text[-_SEARCHED_END:])):
        return boxed.pop().upper() if len(boxed) == 1 else ""
    text = _MARKS.sub("", text[-MAX_TEXT:]).strip()
    tags = _TAG.findall(text)
    if tags:
        text = tags[-1].strip()
        if len({tag.strip() for tag in tags}) > 1:
            return ""
    if _DECORATED.fullmatch(text):
        return next(sign for sign in text.upper() if sign in LETTERS)
    if leading := _LEADING.match(text):
        return leading[1] if tags or "\n" not in text else ""
    sentences = _SENTENCE.findall(text[-_SEARCHED_END:])
    if not sentences or _LETTER.search(sentences[-1][1]):  # "A or B"
        return ""
    return str(sentences[-1][0])


def parse_tag(text: str) -> tuple[str, str]:
    """Return the content of the answer tag and "", or "" and the reason why there is no unique tag.

    Repeated tags with the same content count once.
    """
    contents = set(_TAG.findall(text))
    if len(contents) == 1:
        return str(contents.pop()), ""
    return "", "different answers" if contents else "no answer tag"
