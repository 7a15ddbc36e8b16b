"""A question and its folder.

questions.jsonl    one question a line, the kinds in turn
metadata.jsonl     the same for Hugging Face's ``imagefolder``
pictures/          PNG files named by what is on them
build.json         from what, how many, what was left out and why, and a hash of the questions
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ValidationError

from assay.eqa.actions import Level, Turning
from assay.eqa.errors import QuestionError

QUESTIONS, METADATA, BUILD, PICTURES = "questions.jsonl", "metadata.jsonl", "build.json", "pictures"
LETTERS = "ABCD"


class Kind(StrEnum):
    """Level and direction of a question."""

    H_SP = "H-SP"
    M_SP = "M-SP"
    L_SP = "L-SP"
    H_AI = "H-AI"
    M_AI = "M-AI"
    L_AI = "L-AI"

    @property
    def level(self) -> Level:
        """How abstract the action is."""
        return {"H": Level.HIGH, "M": Level.MID, "L": Level.LOW}[self.value[0]]

    @property
    def predicts(self) -> bool:
        """Whether the state after an action is asked for, and not the action between two states."""
        return self.value.endswith("SP")


class Question(BaseModel, frozen=True, extra="forbid"):
    """One question of one view. The fields from ``moments`` on are privileged: no model may see them."""

    id: str
    """A hash of the content."""
    item: str
    """A hash of the content but for the view: the same question seen otherwise has the same."""
    kind: Kind
    dataset: str
    episode: str
    """Of the pictures before the options."""
    group: str
    """The scene, episode or instruction that the options were chosen around."""
    view: str
    text: str
    pictures: tuple[str, ...]
    """Files, relative to the folder: one before the action, or two before and after it."""
    options: tuple[str, ...]
    """Four actions in words or figures; none where a state is asked for."""
    option_pictures: tuple[str, ...]
    """Four files; none where an action is asked for."""
    answer: str
    """A letter."""
    moments: tuple[str, ...]
    """Episode and frame of every picture."""
    states: tuple[tuple[float, ...], ...]
    """Of every picture, (7,) each; of none at the high level."""
    actions: tuple[tuple[float, ...], ...]
    """The action asked about, or one for each option, (7,) each: differences, or signs at the mid level."""
    achieved: tuple[bool, ...]
    """At the high level: whether each option is what was done, or shows it done."""
    thresholds: tuple[float, ...]
    """Of the data set, (7,)."""
    turning: Turning

    @property
    def right(self) -> int:
        """The place of the right option, from 0."""
        return LETTERS.index(self.answer)

    @classmethod
    def of(cls, **content: object) -> Self:
        """A question with its hashes."""
        item = {name: value for name, value in content.items() if name not in _SEEN}
        return cls.model_validate({"id": _hash(content), "item": _hash(item), **content})


_SEEN = {"view", "text", "pictures", "option_pictures"}


def _hash(content: object) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def save(folder: Path, questions: Sequence[Question], told: dict[str, object]) -> None:
    """Write questions whose pictures are there already."""
    lines = [question.model_dump_json() for question in questions]
    text = "".join(f"{line}\n" for line in lines)
    (folder / QUESTIONS).write_text(text)
    with (folder / METADATA).open("w") as file:
        for question in questions:
            shown = {
                "pictures_file_names": [*question.pictures, *question.option_pictures],
                **{name: getattr(question, name) for name in ("id", "kind", "dataset", "view", "text")},
                "options": list(question.options),
                "answer": question.answer,
            }
            file.write(json.dumps(shown, ensure_ascii=False) + "\n")
    told = {**told, "hash": hashlib.sha256(text.encode()).hexdigest()}
    (folder / BUILD).write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n")


def load(folder: Path) -> list[Question]:
    """The questions of a folder. Raises QuestionError for anything else."""
    path = folder / QUESTIONS
    if not path.is_file():
        raise QuestionError(
            f"{folder}: not a folder of questions (no {QUESTIONS}); assay eqa build makes one"
        )
    questions = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            questions.append(Question.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise QuestionError(f"{path}:{number}: not a question: {place}: {first['msg']}") from None
    if not questions:
        raise QuestionError(f"{path}: holds no question")
    return questions
