"""A judge model says what kind of mistake wrong answers are. Its marks bear its name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import polars as pl

from assay.extensions.eqa.annotations import Annotations, Mistake, categories
from assay.extensions.eqa.asking.answers import State
from assay.extensions.eqa.asking.models import Answering, Model
from assay.extensions.eqa.asking.parsing import tagged
from assay.extensions.eqa.asking.prompts import parts, texts
from assay.extensions.eqa.question import Question
from assay.support.llm import LLMError, Prompt, RefusedError
from assay.support.streams import stream

JUDGE = "judge"
_MOST_TEXT = 6_000


class Wrong(NamedTuple):
    """A wrong answer."""

    model: str
    question: Question
    letter: str
    text: str
    """What the model said."""
    thoughts: str = ""
    """What it thought, where that was shown apart."""


def wrong_answers(questions: Sequence[Question], answers: pl.DataFrame) -> list[Wrong]:
    """Every wrong letter in a table of answers, in the order of the questions."""
    known = {question.id: question for question in questions}
    order = {question.id: place for place, question in enumerate(questions)}
    rows = answers.filter(pl.col("state") == State.ANSWERED).select(
        "model", "style", "question", "letter", "text", "thoughts"
    )
    found = [
        Wrong(f"{model} ({style})" if style else model, known[question], letter, text, thoughts)
        for model, style, question, letter, text, thoughts in rows.iter_rows()
        if question in known and known[question].answer != letter
    ]
    return sorted(found, key=lambda each: (order[each.question.id], each.model))


def sampled(wrong: Sequence[Wrong], per_kind: int, seed: int) -> list[Wrong]:
    """So many wrong answers of each model, level and direction, drawn at random, in their order."""
    found: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place, each in enumerate(wrong):
        found[each.model, str(each.question.kind)].append(place)
    drawn = (
        stream(seed, "eqa", "errors", *key).permutation(mine)[:per_kind].tolist()
        for key, mine in found.items()
    )
    return [wrong[place] for place in sorted(chain(*drawn))]


def judge(
    wrong: Sequence[Wrong],
    folder: Path,
    model: Model,
    annotations: Annotations,
    on_mark: Callable[[], None] = lambda: None,
) -> Counter[str]:
    """Have wrong answers marked; returns why some were not. Raises RefusedError if all would be refused."""
    dropped: Counter[str] = Counter()

    async def marked(answering: Answering, each: Wrong) -> None:
        try:
            found, why = tagged((await answering(judged(each, folder))).text)
        except LLMError as error:
            if isinstance(error, RefusedError) and error.of_all:
                raise
            found, why = "", str(error)
        if found and found in _known():
            annotations.mark(Mistake(each.model, each.question.id, f"{JUDGE}: {model.name}", found, ""))
        else:
            dropped[why or "no such kind of mistake"] += 1
        on_mark()

    model.with_each(wrong, marked)
    return dropped


def judged(each: Wrong, folder: Path) -> Prompt:
    """What the judge is told about a wrong answer."""
    words = texts()
    listed = "\n".join(f"- {name}: {meaning}" for name, meaning in _known().items())
    example = next(iter(_known()))
    said = words["judge"].format(right=each.question.answer, chosen=each.letter)
    form = words["judge_form"].format(categories=listed, example=example)
    written = f"{each.thoughts}\n\n{each.text}"
    return Prompt(
        words["judge_system"],
        (
            *parts(each.question, folder),
            f"{said}\n\n{written.strip()[:_MOST_TEXT]}",
            form,
        ),
    )


def _known() -> dict[str, str]:
    """Kinds of mistakes, and what they are, with their group and part."""
    return {
        name: f"{meaning} ({group}: {part})"
        for group, parts in categories().items()
        for part, members in parts.items()
        for name, meaning in members.items()
    }
