"""What asking will cost, roughly, before anything is sent. Endpoints count tokens each in its own way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from assay.extensions.eqa.asking.prompts import Prompting, Style, prompted
from assay.extensions.eqa.errors import QuestionError
from assay.extensions.eqa.question import Kind, Question
from assay.support.llm import Ledger, Picture, Price, Prompt

CHARACTERS = 4.0
"""To a token."""
TILE, TILE_TOKENS = 512, 260
"""Pixels to a side, and tokens, of what most models cut pictures into."""
ANSWER_TOKENS = {Style.DIRECT: 5, Style.STEPS: 350}
"""Of an answer without hidden thoughts."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Roughly what will be sent and received."""

    questions: int
    sent: int
    """Tokens."""
    received: int
    """Tokens."""

    def cost(self, price: Price) -> float:
        """In the price's currency."""
        return Ledger(prompt_tokens=self.sent, answer_tokens=self.received).cost(price)


def estimate(
    questions: Sequence[Question],
    folder: Path,
    how: Style | Prompting,
    examples: Mapping[tuple[Kind, str], Sequence[Question]] | None = None,
) -> Estimate:
    """What a set of questions takes; also finds pictures that are missing or are none."""
    shown = examples or {}
    prompts = (
        prompted(question, folder, how, shown.get((question.kind, question.view), ()))
        for question in questions
    )
    return cost_of(prompts, how if isinstance(how, Style) else how.style)


def cost_of(prompts: Iterable[Prompt], style: Style) -> Estimate:
    """What prompts take that are answered in a style."""

    @cache
    def tokens(picture: Picture) -> int:
        try:
            with Image.open(picture.path) as opened:
                width, height = opened.size
        except (UnidentifiedImageError, OSError):
            raise QuestionError(f"{picture.path}: not a picture") from None
        return TILE_TOKENS * ceil(width / TILE) * ceil(height / TILE)

    sent, count = 0.0, 0
    for prompt in prompts:
        count += 1
        for part in (prompt.system, *prompt.parts):
            sent += len(part) / CHARACTERS if isinstance(part, str) else tokens(part)
    return Estimate(count, round(sent), count * ANSWER_TOKENS[style])
