"""Prompts, from ``prompts.yaml`` or a user's YAML file.

There are twelve built-in prompts: for each of six kinds of questions, one that asks for a letter only and one that
asks for reasoning first. The text of a question names the frame, the units and the view; the prompt adds the role,
hints on where to look, and the form of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ValidationError

from assay.extensions.eqa.question import LETTERS, PICTURES, Question, QuestionError, QuestionKind
from assay.extensions.eqa.views import action_of
from assay.support.llm.protocols import ModelImage, ModelPrompt, Part
from assay.tasks.checks import validation_reason

Examples = Mapping[tuple[QuestionKind, str], Sequence[Question]]
"""Example questions, shown with their answers before questions of the same kind and view."""
KindTexts = Annotated[
    dict[QuestionKind, str],
    BeforeValidator(lambda text: dict.fromkeys(QuestionKind, text) if isinstance(text, str) else text),
]
"""A text for each kind of question; a single text applies to all kinds."""


class Style(StrEnum):
    """Form of the requested answer."""

    DIRECT = "direct"
    """Only the letter."""
    STEPS = "steps"
    """Reasoning first, then the letter in an answer tag."""


class Prompting(BaseModel, frozen=True, extra="forbid"):
    """Prompts for all kinds of questions; also the schema of a user's prompt file."""

    name: str = ""
    """Name stored with the answers; by default, the name of the style or of the user's file."""
    style: Style = Style.DIRECT
    system: KindTexts = {}
    """System prompt; kinds that a file omits have the built-in system prompt of the style."""
    ask: KindTexts = {}
    """Text after the question; kinds that a file omits have the built-in text of the style."""
    question: KindTexts = {}
    """Template that replaces the question's text, with placeholders {text}, {action}, {views} and {A} to {D}."""

    @classmethod
    def of(cls, style: Style) -> Prompting:
        """Return the built-in prompts of a style."""
        words = texts()
        forms = {kind: [words["kinds"][kind], words[style.value]] for kind in QuestionKind}
        if style is Style.STEPS:
            forms = {kind: [look, words["think"][kind], form] for kind, (look, form) in forms.items()}
        roles = {kind: f"{words['system']} {words['roles'][kind]}" for kind in QuestionKind}
        ask = {kind: "\n\n".join(form) for kind, form in forms.items()}
        return cls(name=style.value, style=style, system=roles, ask=ask)

    @classmethod
    def parse(cls, name: str) -> Prompting:
        """Return the prompts of a style or from a YAML file. Raises QuestionError if the name or file is invalid."""
        if name in list(Style):
            return cls.of(Style(name))
        path = Path(name)
        if not path.is_file():
            raise QuestionError(
                f"unknown prompt '{name}'; choose from {', '.join(Style)}, or pass a YAML file"
            )
        try:
            file = cls.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
        except ValidationError as error:
            raise QuestionError(f"{path}: not a prompt file: {validation_reason(error)}") from None
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            reason = " ".join(str(error).split())[:150]
            raise QuestionError(f"{path}: not a prompt file: {reason}") from None
        for kind, text in file.question.items():
            placeholders = ("text", "action", "views", *(() if kind.predicts else LETTERS))
            _fill(text, dict.fromkeys(placeholders, ""), path)
        name = file.name or path.stem
        if name in list(Style) or not name.isprintable() or not name.strip():
            raise QuestionError(f"{path}: '{name}' is not a valid prompt name; set another name in the file")
        built_in = cls.of(file.style)
        texts = {"system": {**built_in.system, **file.system}, "ask": {**built_in.ask, **file.ask}}
        return file.model_copy(update={"name": name, **texts})

    def prompt(self, question: Question, folder: Path, examples: Sequence[Question] = ()) -> ModelPrompt:
        """Return the prompt for a question with images in ``folder``, after ``examples`` with their answers."""
        parts: list[Part] = []
        for number, example in enumerate(examples, 1):
            answer = example.answer if self.style is Style.DIRECT else f"<answer>{example.answer}</answer>"
            parts += [texts()["example"].format(number=number), *question_parts(example, folder, self)]
            parts.append(f"{texts()['example_answer']} {answer}")
        if examples:
            parts.append(texts()["asked"])
        parts += question_parts(question, folder, self)
        return ModelPrompt(self.system[question.kind], (*parts, self.ask[question.kind]))


def question_parts(question: Question, folder: Path, prompting: Prompting | None = None) -> tuple[Part, ...]:
    """Return the texts and images of a question as a model sees them, without the answer."""
    words = texts()
    template = prompting.question.get(question.kind, "") if prompting is not None else ""
    parts: list[Part] = [question.text]
    if template:
        views = {"both": 2, "ego": 1, "exo": 1}.get(question.view) or int(question.view.removeprefix("exo"))
        values = {"text": question.text, "action": action_of(question.text), "views": str(views)}
        parts = [_fill(template, values | dict(zip(LETTERS, question.options, strict=False)), folder)]
    for heading, name in zip((words["first"], words["second"]), question.pictures, strict=False):
        parts += [heading, find_image(folder, name)]
    for letter, text in zip(LETTERS, question.options, strict=False):
        if f"{{{letter}}}" not in template:
            parts.append(f"{words['option'].format(letter=letter)} {text}")
    for letter, name in zip(LETTERS, question.option_pictures, strict=False):
        parts += [words["option"].format(letter=letter), find_image(folder, name)]
    return tuple(parts)


def find_image(folder: Path, name: str) -> ModelImage:
    """Return one of a question's images. Raises QuestionError unless it is in the folder ``pictures``."""
    path = (folder / name).resolve()
    if path.parent != (folder / PICTURES).resolve() or path.suffix != ".png" or not path.is_file():
        raise QuestionError(f"{folder}: no image '{name[:100]}' in the folder {PICTURES}")
    return ModelImage(path, path.name)


@cache
def texts() -> Any:
    """Return the texts of the built-in prompts, by name."""
    return yaml.safe_load(files(__package__).joinpath("prompts.yaml").read_text(encoding="utf-8"))


def _fill(text: str, values: Mapping[str, str], path: Path) -> str:
    try:
        return text.format(**values)
    except (KeyError, IndexError, ValueError) as error:
        valid = ", ".join(f"{{{value}}}" for value in values)
        raise QuestionError(f"{path}: invalid placeholder: {error}; expected {valid}") from None
