"""What a model is told; the words are in ``prompts.yaml``, or in a file of the user's own.

There are twelve prompts: a letter at once, or reasons first, for each of six kinds of questions. A question's own text
says whose frame, which units and which view; the prompt adds the role, what to look at, and the form of the answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from assay.errors import did_you_mean
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import LETTERS, PICTURES, Kind, Question
from assay.extensions.eqa.wording import action_of
from assay.support.llm import Picture, Prompt
from assay.support.llm.prompt import Part

MOST_EXAMPLES = 8
"""Questions with answers that are shown before the one that is asked."""
_KEYS = ("name", "style", "system", "question", "ask")


class Style(StrEnum):
    """How an answer is asked for."""

    DIRECT = "direct"
    """One letter."""
    STEPS = "steps"
    """Reasons first, then the letter in an answer tag."""


@dataclass(frozen=True, slots=True)
class Prompting:
    """How questions are put to a model."""

    name: str
    """Of the style, or of the user's file: answers bear it."""
    style: Style
    system: Mapping[Kind, str]
    ask: Mapping[Kind, str]
    """What follows the question."""
    question: Mapping[Kind, str] = field(default_factory=dict)
    """In place of the question's own text, where it is not empty; {text}, {action}, {views} and {A} to {D} are filled
    in."""

    @classmethod
    def of(cls, style: Style) -> Prompting:
        """The built-in prompts of a style, one for each kind."""
        words = texts()
        forms = {kind: [words["kinds"][kind], words[style.value]] for kind in Kind}
        if style is Style.STEPS:
            forms = {kind: [one, words["think"][kind], form] for kind, (one, form) in forms.items()}
        roles = {kind: f"{words['system']} {words['roles'][kind]}" for kind in Kind}
        return cls(style.value, style, roles, {kind: "\n\n".join(form) for kind, form in forms.items()})

    @classmethod
    def parse(cls, name: str) -> Prompting:
        """The prompts of that style, or of that file. Raises QuestionError."""
        if name in list(Style):
            return cls.of(Style(name))
        path = Path(name)
        if not path.is_file():
            raise QuestionError(f"there is no prompt '{name}'; valid: {', '.join(Style)}, or a YAML file")
        try:
            told = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise QuestionError(
                f"{path}: not a file of prompts: {' '.join(str(error).split())[:150]}"
            ) from None
        if not isinstance(told, dict):
            raise QuestionError(f"{path}: not a file of prompts: needs {', '.join(_KEYS)}")
        for key in told:
            if key not in _KEYS:
                raise QuestionError(f"{path}: there is no '{key}': {did_you_mean(str(key), list(_KEYS))}")
        style = told.get("style", Style.DIRECT.value)
        if style not in list(Style):
            raise QuestionError(f"{path}: there is no style '{style}'; valid: {', '.join(Style)}")
        usual = cls.of(Style(style))
        parts = {key: _of_kinds(told.get(key), key, path) for key in ("system", "ask", "question")}
        for kind, text in parts["question"].items():
            _filled(text, dict.fromkeys(_places(kind), ""), path)
        name = str(told.get("name", path.stem))
        if name in list(Style) or not name.isprintable() or not name.strip():
            raise QuestionError(f"{path}: another name than '{name}' is needed; answers bear it")
        return cls(
            name,
            Style(style),
            {**usual.system, **parts["system"]},
            {**usual.ask, **parts["ask"]},
            parts["question"],
        )

    @property
    def hash(self) -> str:
        """Twelve digits that change with any word of it."""
        told = repr([(kind, self.system[kind], self.ask[kind], self.question.get(kind)) for kind in Kind])
        return hashlib.sha256(told.encode()).hexdigest()[:12]


def prompted(
    question: Question, folder: Path, how: Style | Prompting, examples: Sequence[Question] = ()
) -> Prompt:
    """The prompt of a question whose pictures are in a folder; ``examples`` are shown before it with their answers."""
    prompting = Prompting.of(how) if isinstance(how, Style) else how
    shown: list[Part] = []
    for number, example in enumerate(examples, 1):
        answer = example.answer if prompting.style is Style.DIRECT else f"<answer>{example.answer}</answer>"
        shown += [texts()["example"].format(number=number), *parts(example, folder, prompting)]
        shown.append(f"{texts()['example_answer']} {answer}")
    if examples:
        shown.append(texts()["asked"])
    shown += parts(question, folder, prompting)
    return Prompt(prompting.system[question.kind], (*shown, prompting.ask[question.kind]))


def examples_of(
    questions: Sequence[Question], count: int, seed: int
) -> dict[tuple[Kind, str], list[Question]]:
    """Some questions of each kind and view, drawn by a seed, to be shown as examples: these are then not asked."""
    from assay.extensions.eqa.sheet import chosen

    found: dict[tuple[Kind, str], list[Question]] = {}
    for kind, view in sorted({(question.kind, question.view) for question in questions}):
        mine = [question for question in questions if (question.kind, question.view) == (kind, view)]
        found[kind, view] = chosen(mine, [kind], count, seed)
    return found


def parts(question: Question, folder: Path, prompting: Prompting | None = None) -> tuple[Part, ...]:
    """A question as a model sees it: nothing in it tells the answer."""
    words = texts()
    told = prompting.question.get(question.kind, "") if prompting is not None else ""
    shown: list[Part] = [_filled(told, _values(question), folder) if told else question.text]
    for head, name in zip((words["first"], words["second"]), question.pictures, strict=False):
        shown += [head, picture(folder, name)]
    for letter, text in zip(LETTERS, question.options, strict=False):
        if f"{{{letter}}}" not in told:
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


def _of_kinds(told: object, key: str, path: Path) -> dict[Kind, str]:
    """One text for all kinds, or one for each that is named."""
    if told is None:
        return {}
    if isinstance(told, str):
        return dict.fromkeys(Kind, told)
    if not isinstance(told, dict) or not all(isinstance(text, str) for text in told.values()):
        raise QuestionError(f"{path}: '{key}' is a text, or one for each of {', '.join(Kind)}")
    for kind in told:
        if kind not in list(Kind):
            raise QuestionError(
                f"{path}: '{key}' has no kind '{kind}': {did_you_mean(str(kind), list(Kind))}"
            )
    return {Kind(kind): text for kind, text in told.items()}


def _places(kind: Kind) -> tuple[str, ...]:
    return ("text", "action", "views") if kind.predicts else ("text", "action", "views", *LETTERS)


def _values(question: Question) -> dict[str, str]:
    views = {"both": 2, "ego": 1, "exo": 1}.get(question.view) or int(question.view.removeprefix("exo"))
    found = {"text": question.text, "action": action_of(question.text), "views": str(views)}
    return found | dict(zip(LETTERS, question.options, strict=False))


def _filled(text: str, values: Mapping[str, str], path: Path) -> str:
    try:
        return text.format(**values)
    except (KeyError, IndexError, ValueError) as error:
        raise QuestionError(
            f"{path}: a question may name {', '.join(f'{{{value}}}' for value in values)}; not {error}"
        ) from None
