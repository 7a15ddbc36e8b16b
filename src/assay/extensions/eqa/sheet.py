"""Sheets of questions for people: pictures, options and, at the foot, the answer, unless they are to find it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import LETTERS, Kind, Question
from assay.support.sheets import save_stacked
from assay.support.streams import stream

MARGIN, LINE, TITLE = 14, 19, 26
HEIGHT = 256
"""Of a picture, pixels: what models are shown is not larger by default."""
PAPER, INK, FAINT = (252, 252, 250), (32, 32, 36), (110, 110, 116)
COLUMNS = 150
"""Letters in a line."""


def save_sheet(path: Path, folder: Path, questions: Sequence[Question], *, answers: bool = True) -> Path:
    """Draw questions one below the other into a PNG file."""
    return save_stacked(path, (_block(folder, question, answers) for question in questions), PAPER)


def chosen(questions: Sequence[Question], kinds: Sequence[Kind], count: int, seed: int) -> list[Question]:
    """Some questions of each kind, drawn by a seed."""
    picked: list[Question] = []
    for kind in kinds:
        mine = [question for question in questions if question.kind is kind]
        order = stream(seed, "eqa", "sheet", str(kind)).permutation(len(mine))[:count]
        picked += [mine[place] for place in order]
    if not picked:
        raise QuestionError(f"there is no question of the kinds {', '.join(kinds)}")
    return picked


def _block(folder: Path, question: Question, answers: bool) -> Image.Image:
    names = [*question.pictures, *question.option_pictures]
    titles = ["before", "after"][: len(question.pictures)] + list(LETTERS[: len(question.option_pictures)])
    pictures = [_scaled(folder / name) for name in names]
    lines = textwrap.wrap(question.text, COLUMNS)
    lines += [f"{letter}   {option}" for letter, option in zip(LETTERS, question.options, strict=False)]
    width = max(1180, MARGIN + sum(picture.width + MARGIN for picture in pictures))
    height = 2 * MARGIN + TITLE + LINE * (len(lines) + 2) + HEIGHT
    block = Image.new("RGB", (width, height), PAPER)
    pen = ImageDraw.Draw(block)
    pen.text(
        (MARGIN, MARGIN),
        f"{question.kind}   {question.dataset}   {question.id}",
        INK,
        ImageFont.load_default(16),
    )
    top, font = MARGIN + TITLE, ImageFont.load_default(14)
    for line in lines:
        pen.text((MARGIN, top), line, INK, font)
        top += LINE
    left = MARGIN
    for title, picture in zip(titles, pictures, strict=True):
        pen.text((left, top), title, FAINT, font)
        block.paste(picture, (left, top + LINE))
        left += picture.width + MARGIN
    if answers:
        foot = (MARGIN, top + LINE + HEIGHT)
        pen.text(foot, f"answer: {question.answer}", FAINT, ImageFont.load_default(12))
    return block


def _scaled(path: Path) -> Image.Image:
    with Image.open(path) as picture:
        return picture.convert("RGB").resize((picture.width * HEIGHT // picture.height, HEIGHT))
