"""What a model is told; the words are in ``prompts.yaml``.

A question's own text says whose frame, which units and which view; the prompt adds the form of the answer.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from assay.eqa.errors import QuestionError
from assay.eqa.question import LETTERS, PICTURES, Question
from assay.llm import Picture, Prompt
from assay.llm.prompt import Part


class Style(StrEnum):
    """How an answer is asked for."""

    DIRECT = "direct"
    """One letter."""
    STEPS = "steps"
    """Reasons first, then the letter in an answer tag."""

    @classmethod
    def parse(cls, name: str) -> Style:
        """The style of that name. Raises QuestionError."""
        if name not in list(cls):
            raise QuestionError(f"there is no prompt '{name}'; valid: {', '.join(cls)}")
        return cls(name)


def prompted(question: Question, folder: Path, style: Style) -> Prompt:
    """The prompt of a question whose pictures are in a folder."""
    return Prompt(texts()["system"], (*parts(question, folder), str(texts()[style.value])))


def parts(question: Question, folder: Path) -> tuple[Part, ...]:
    """A question as a model sees it: nothing in it tells the answer."""
    words = texts()
    shown: list[Part] = [question.text]
    for head, name in zip((words["first"], words["second"]), question.pictures, strict=False):
        shown += [head, picture(folder, name)]
    for letter, text in zip(LETTERS, question.options, strict=False):
        shown.append(f"{words['option'].format(letter=letter)} {text}")
    for letter, name in zip(LETTERS, question.option_pictures, strict=False):
        shown += [words["option"].format(letter=letter), picture(folder, name)]
    return tuple(shown)


def picture(folder: Path, name: str) -> Picture:
    """A question's picture. Raises QuestionError unless it is a file in the folder's pictures."""
    place = (folder / PICTURES).resolve()
    path = (folder / name).resolve()
    if path.parent != place or path.suffix != ".png" or not path.is_file():
        raise QuestionError(f"{folder}: there is no picture '{name[:100]}'")
    return Picture(path, path.name)


@cache
def texts() -> Any:
    """The words of all prompts, by name."""
    return yaml.safe_load(files(__package__).joinpath("prompts.yaml").read_text(encoding="utf-8"))
