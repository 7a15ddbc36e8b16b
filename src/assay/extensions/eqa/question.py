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
from typing import Literal, Self

from pydantic import BaseModel, ValidationError, model_validator

from assay.extensions.eqa.actions import Level, Turning
from assay.extensions.eqa.errors import QuestionError

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
    """One question of one view.

    A model sees ``text``, ``pictures``, ``options`` and ``option_pictures``. Everything else is privileged.
    """

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
    answer: Literal["A", "B", "C", "D"]
    moments: tuple[str, ...]
    """Episode and frame of every picture."""
    states: tuple[tuple[float, ...], ...]
    """Of every picture, (7,) each; of none at the high level."""
    actions: tuple[tuple[float, ...], ...]
    """The action asked about, or one for each option, (7,) each: differences, or signs at the mid level."""
    achieved: tuple[bool, ...]
    """At the high level: whether each option is what was done, or shows it done; empty where no goal can be
    looked up."""
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

    @model_validator(mode="after")
    def _whole(self) -> Self:
        shown, asked = (self.option_pictures, self.options)[:: 1 if self.kind.predicts else -1]
        if len(shown) != len(LETTERS) or len(set(shown)) < len(LETTERS) or asked:
            raise ValueError(f"needs four different options, {'pictures' if self.kind.predicts else 'texts'}")
        if len(self.pictures) != (1 if self.kind.predicts else 2):
            raise ValueError("needs one picture, or two where an action is asked for")
        return self


_SEEN = {"view", "text", "pictures", "option_pictures"}


def _hash(content: object) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def save(folder: Path, questions: Sequence[Question], told: dict[str, object]) -> None:
    """Write questions whose pictures are there already."""
    lines = [question.model_dump_json() for question in questions]
    text = "".join(f"{line}\n" for line in lines)
    (folder / QUESTIONS).write_text(text, encoding="utf-8")
    with (folder / METADATA).open("w", encoding="utf-8") as file:
        for question in questions:
            shown = {
                "pictures_file_names": [*question.pictures, *question.option_pictures],
                **{name: getattr(question, name) for name in ("id", "kind", "dataset", "view", "text")},
                "options": list(question.options),
                "answer": question.answer,
            }
            file.write(json.dumps(shown, ensure_ascii=False) + "\n")
    told = {**told, "hash": hashlib.sha256(text.encode()).hexdigest()}
    (folder / BUILD).write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load(folder: Path) -> list[Question]:
    """The questions of a folder. Raises QuestionError for anything else."""
    path = folder / QUESTIONS
    if not path.is_file():
        raise QuestionError(
            f"{folder}: not a folder of questions (no {QUESTIONS}); assay eqa build makes one"
        )
    questions: dict[str, Question] = {}
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QuestionError(f"{path}: cannot be read: {error}") from None
    for number, line in enumerate(text.split("\n"), 1):  # not every end of a line in a text is one here
        if not line:
            continue
        try:
            question = Question.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise QuestionError(f"{path}:{number}: not a question: {place}: {first['msg']}") from None
        if question.id in questions:
            raise QuestionError(f"{path}:{number}: question {question.id} is there twice")
        if question.id != _hash(question.model_dump(mode="json", exclude={"id", "item"})):
            raise QuestionError(f"{path}:{number}: question {question.id} was altered: its id no longer fits")
        questions[question.id] = question
    if not questions:
        raise QuestionError(f"{path}: holds no question")
    if _told_hash(folder) not in ("", hashlib.sha256(text.encode()).hexdigest()):
        raise QuestionError(
            f"{path}: not the questions that were built, by the hash in {BUILD}; "
            f"delete {BUILD} if that is meant"
        )
    return list(questions.values())


def _told_hash(folder: Path) -> str:
    try:
        told = json.loads((folder / BUILD).read_text(encoding="utf-8"))
        return str(told["hash"])
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise QuestionError(f"{folder / BUILD}: cannot be read: {type(error).__name__}: {error}") from None
