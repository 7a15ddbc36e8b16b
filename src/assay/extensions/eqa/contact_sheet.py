"""Contact sheets of questions: images, options and, unless a person is to find it, the answer below."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from assay.extensions.eqa.question import LETTERS, Question
from assay.support.images import save_stacked

MARGIN, LINE, TITLE = 14, 19, 26
IMAGE_HEIGHT = 256
MIN_WIDTH = 1180
PAPER, INK, FAINT = (252, 252, 250), (32, 32, 36), (110, 110, 116)
LINE_LENGTH = 150
"""Maximum line length, characters."""


def save_sheet(path: Path, folder: Path, questions: Sequence[Question], *, answers: bool = True) -> Path:
    """Draw questions below each other into a PNG file."""
    return save_stacked(path, (_draw(folder, question, answers) for question in questions), PAPER)


def _draw(folder: Path, question: Question, answers: bool) -> Image.Image:
    titles = ["before", "after"][: len(question.pictures)] + list(LETTERS[: len(question.option_pictures)])
    images = []
    for name in (*question.pictures, *question.option_pictures):
        with Image.open(folder / name) as file:
            size = (file.width * IMAGE_HEIGHT // file.height, IMAGE_HEIGHT)
            images.append(file.convert("RGB").resize(size))
    lines = textwrap.wrap(question.text, LINE_LENGTH)
    lines += [f"{letter}   {option}" for letter, option in zip(LETTERS, question.options, strict=False)]
    width = max(MIN_WIDTH, MARGIN + sum(image.width + MARGIN for image in images))
    height = 2 * MARGIN + TITLE + LINE * (len(lines) + 2) + IMAGE_HEIGHT
    block = Image.new("RGB", (width, height), PAPER)
    pen = ImageDraw.Draw(block)
    title = f"{question.kind}   {question.dataset}   {question.id}"
    pen.text((MARGIN, MARGIN), title, INK, ImageFont.load_default(16))
    top, font = MARGIN + TITLE, ImageFont.load_default(14)
    for line in lines:
        pen.text((MARGIN, top), line, INK, font)
        top += LINE
    left = MARGIN
    for title, image in zip(titles, images, strict=True):
        pen.text((left, top), title, FAINT, font)
        block.paste(image, (left, top + LINE))
        left += image.width + MARGIN
    if answers:
        foot = (MARGIN, top + LINE + IMAGE_HEIGHT)
        pen.text(foot, f"answer: {question.answer}", FAINT, ImageFont.load_default(12))
    return block
