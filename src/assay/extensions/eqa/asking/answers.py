"""Answers in a file: one JSON object a line, one file for each model and style."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path

import polars as pl

from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import BUILD, LETTERS, METADATA, PICTURES, QUESTIONS
from assay.support.files import check_writable, replacing

MOST_TEXT = 20_000
"""Characters of what a model said that are kept: the last, where the answer is."""


class State(StrEnum):
    """What became of a question."""

    ANSWERED = "answered"
    UNPARSED = "unparsed"
    """The model said something that is no answer: it counts as wrong."""
    UNANSWERED = "unanswered"
    """The endpoint broke: it does not count, and is asked again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered to a question."""

    model: str
    style: str
    """Of the prompt; empty for baselines and people."""
    question: str
    """Its id."""
    state: State
    letter: str = ""
    """Empty where there is none."""
    reason: str = ""
    """Why there is none."""
    text: str = ""
    """What the model said."""
    thoughts: str = ""
    """What it thought, where the endpoint shows that apart."""
    endpoint: str = ""
    """The address that was asked; empty for baselines and models on this machine."""
    parameters: str = ""
    """With what it was asked, as JSON: temperature, tokens, effort, prompt, examples, and this program's version."""
    at: str = ""
    """When it answered, ISO 8601."""
    sent: int | None = None
    """Tokens, as the endpoint counted them."""
    received: int | None = None


SCHEMA = {
    field.name: pl.Int64 if field.name in ("sent", "received") else pl.String for field in fields(Answer)
}


def write(answers: Sequence[Answer], path: Path) -> None:
    """Write answers, whole or not at all."""
    with replacing(path) as unfinished:
        lines = (json.dumps(asdict(answer), ensure_ascii=False) for answer in answers)
        unfinished.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", errors="replace")


def check(path: Path, folder: Path, model: str, style: str) -> None:
    """Raises QuestionError where a file of answers would replace anything but answers of the same model."""
    own = (QUESTIONS, METADATA, BUILD, PICTURES)
    if path.resolve() in [(folder / name).resolve() for name in own] or path.is_dir():
        raise QuestionError(
            f"{path}: belongs to the questions, or is a folder; name another file for answers"
        )
    if path.exists():
        try:
            found = read(path).select("model", "style").unique().rows()
        except QuestionError as error:
            raise QuestionError(f"{error}; it is not replaced, name another") from None
        if found != [(model, style)]:
            named = ", ".join(sorted(f"{one} ({how})" if how else one for one, how in found))
            raise QuestionError(f"{path}: holds answers of {named}; name another file for {model}")
    check_writable(path)


def read(path: Path) -> pl.DataFrame:
    """The answers of a file, a column for each field. Raises QuestionError for anything else."""
    if not path.is_file():
        raise QuestionError(f"{path}: there is no such file; assay eqa ask writes answers")
    try:
        found = pl.read_ndjson(path, schema=SCHEMA)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0][:120]
        raise QuestionError(f"{path}: not a file of answers: {reason}") from None
    told = [
        name
        for name, kind in SCHEMA.items()
        if kind == pl.String and name not in ("model", "question", "state")
    ]
    found = found.with_columns(pl.col(told).fill_null(""))
    if not len(found) or found.select("model", "question", "state").null_count().sum_horizontal().item():
        raise QuestionError(f"{path}: not a file of answers: model, question or state is missing")
    answered = pl.col("state") == State.ANSWERED
    odd = found.filter(~pl.col("state").is_in([*State]) | (answered != pl.col("letter").is_in([*LETTERS])))
    if len(odd):
        raise QuestionError(f"{path}: question {odd['question'][0][:40]}: state and letter do not fit")
    return found
