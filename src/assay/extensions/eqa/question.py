"""Questions and the folder they are stored in.

questions.jsonl    one question per line, cycling through the kinds
metadata.jsonl     the same for Hugging Face's ``imagefolder``
pictures/          PNG files named by a hash of their content
build.json         sources, counts, reasons for skipped episodes, and a hash of the questions
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ValidationError, model_validator

from assay.errors import AssayError
from assay.extensions.eqa.actions import ActionLevel, Turning
from assay.support.streams import stream
from assay.tasks.checks import validation_reason

QUESTIONS, METADATA, BUILD, PICTURES = "questions.jsonl", "metadata.jsonl", "build.json", "pictures"
FOLDER_FILES = frozenset({QUESTIONS, METADATA, BUILD, PICTURES})
LETTERS = "ABCD"


class QuestionError(AssayError):
    """Raised for an unusable episode source or question folder."""


class UnreadableError(QuestionError):
    """Raised for one unreadable episode or image; other episodes and images may be readable."""


class QuestionKind(StrEnum):
    """Level and direction of a question."""

    H_SP = "H-SP"
    M_SP = "M-SP"
    L_SP = "L-SP"
    H_AI = "H-AI"
    M_AI = "M-AI"
    L_AI = "L-AI"

    @property
    def level(self) -> ActionLevel:
        """Abstraction level of the action."""
        return {"H": ActionLevel.HIGH, "M": ActionLevel.MID, "L": ActionLevel.LOW}[self.value[0]]

    @property
    def predicts(self) -> bool:
        """Whether the question asks for the state after an action (SP) rather than for the action itself (AI)."""
        return self.value.endswith("SP")

    @property
    def direction(self) -> str:
        """``prediction`` or ``inference``."""
        return "prediction" if self.predicts else "inference"


class Question(BaseModel, frozen=True, extra="forbid"):
    """One question in one camera view.

    A model sees ``text``, ``pictures``, ``options`` and ``option_pictures``. All other fields are privileged.
    """

    id: str
    """Hash of the content."""
    item: str
    """Hash of the content without the view: shared by all views of the same question."""
    kind: QuestionKind
    dataset: str
    episode: str
    """Id of the episode shown in the images before the options."""
    group: str
    """Scene, episode or instruction for which the options were chosen."""
    view: str
    text: str
    pictures: tuple[str, ...]
    """Image files relative to the folder: one before the action, or one before and one after it."""
    options: tuple[str, ...]
    """Four actions as texts or numbers; empty if the question asks for a state."""
    option_pictures: tuple[str, ...]
    """Four image files; empty if the question asks for an action."""
    answer: Literal["A", "B", "C", "D"]
    moments: tuple[str, ...]
    """Episode and frame of every image."""
    states: tuple[tuple[float, ...], ...]
    """State shown in every image, (7,) each; empty at the high level."""
    actions: tuple[tuple[float, ...], ...]
    """The action asked about, or one per option, (7,) each: state differences, or signs at the mid level."""
    achieved: tuple[bool, ...]
    """Whether each option was achieved or shows the achieved goal; empty if unknown, or below the high level."""
    thresholds: tuple[float, ...]
    """Thresholds of the data set, (7,)."""
    turning: Turning

    @property
    def right(self) -> int:
        """Index of the correct option."""
        return LETTERS.index(self.answer)

    @property
    def images(self) -> tuple[str, ...]:
        """All image files; the images of the options come last."""
        return (*self.pictures, *self.option_pictures)

    @classmethod
    def of(cls, **content: object) -> Self:
        """Create a question and compute its hashes."""
        item = {name: value for name, value in content.items() if name not in _VIEW_FIELDS}
        return cls.model_validate({"id": _hash(content), "item": _hash(item), **content})

    @model_validator(mode="after")
    def _check_options(self) -> Self:
        used, unused = (self.option_pictures, self.options)[:: 1 if self.kind.predicts else -1]
        if len(used) != len(LETTERS) or len(set(used)) < len(LETTERS) or unused:
            raise ValueError(
                f"expected four different options ({'images' if self.kind.predicts else 'texts'})"
            )
        if len(self.pictures) != (1 if self.kind.predicts else 2):
            raise ValueError("expected one image, or two if the question asks for an action")
        return self


_VIEW_FIELDS = {"view", "text", "pictures", "option_pictures"}


def _hash(content: object) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sample_questions(
    questions: Sequence[Question], kinds: Sequence[QuestionKind], count: int | None, seed: int
) -> list[Question]:
    """Draw up to ``count`` questions of each kind; None keeps all, in order. Raises QuestionError if none exist."""
    sample = [question for question in questions if question.kind in kinds]
    if not sample:
        raise QuestionError(f"the folder has no questions of the kinds {', '.join(kinds)}")
    if count is None:
        return sample
    drawn: list[Question] = []
    for kind in kinds:
        of_kind = [question for question in sample if question.kind is kind]
        order = stream(seed, "eqa", "sheet", str(kind)).permutation(len(of_kind))[:count]
        drawn += [of_kind[place] for place in order]
    return drawn


def sample_examples(
    questions: Sequence[Question], count: int, seed: int
) -> dict[tuple[QuestionKind, str], list[Question]]:
    """Draw ``count`` questions of each kind and view as examples."""
    groups: dict[tuple[QuestionKind, str], list[Question]] = {}
    for question in questions:
        groups.setdefault((question.kind, question.view), []).append(question)
    return {key: sample_questions(group, [key[0]], count, seed) for key, group in sorted(groups.items())}


def save(folder: Path, questions: Sequence[Question], build_info: dict[str, object]) -> None:
    """Write questions to a folder that already contains their images."""
    text = "".join(f"{question.model_dump_json()}\n" for question in questions)
    (folder / QUESTIONS).write_text(text, encoding="utf-8")
    with (folder / METADATA).open("w", encoding="utf-8") as file:
        for question in questions:
            row = {
                "pictures_file_names": list(question.images),
                **{name: getattr(question, name) for name in ("id", "kind", "dataset", "view", "text")},
                "options": list(question.options),
                "answer": question.answer,
            }
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    info = {**build_info, "hash": hashlib.sha256(text.encode()).hexdigest()}
    (folder / BUILD).write_text(json.dumps(info, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load(folder: Path) -> list[Question]:
    """Read the questions of a folder. Raises QuestionError if they are missing, damaged or altered."""
    path = folder / QUESTIONS
    if not path.is_file():
        raise QuestionError(
            f"{folder}: not a question folder (no {QUESTIONS}); create one with assay eqa build"
        )
    questions: dict[str, Question] = {}
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QuestionError(f"{path}: cannot be read: {error}") from None
    for number, line in enumerate(text.split("\n"), 1):  # splitlines would also split at U+2028 inside a text
        if not line:
            continue
        try:
            question = Question.model_validate_json(line)
        except ValidationError as error:
            raise QuestionError(f"{path}:{number}: not a question: {validation_reason(error)}") from None
        if question.id in questions:
            raise QuestionError(f"{path}:{number}: duplicate question {question.id}")
        if question.id != _hash(question.model_dump(mode="json", exclude={"id", "item"})):
            raise QuestionError(f"{path}:{number}: altered question {question.id}: its id and content differ")
        questions[question.id] = question
    if not questions:
        raise QuestionError(f"{path} contains no questions")
    build_file = folder / BUILD
    try:
        info = json.loads(build_file.read_text(encoding="utf-8")) if build_file.exists() else None
        is_altered = info is not None and info["hash"] != hashlib.sha256(text.encode()).hexdigest()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise QuestionError(f"{build_file}: cannot be read: {type(error).__name__}: {error}") from None
    if is_altered:
        raise QuestionError(
            f"{path}: does not match the hash in {BUILD}; delete {BUILD} if the change is intended"
        )
    return list(questions.values())
