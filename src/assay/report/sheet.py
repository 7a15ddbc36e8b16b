"""Contact sheets: labelled rows of pictures in one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

MARGIN = 12
CAPTION = 22
TITLE = 30
PAPER, INK, FAINT = (250, 250, 248), (25, 25, 30), (110, 110, 118)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a sheet."""

    title: str
    pictures: Sequence[np.ndarray]
    """uint8, (height, width, 3) each."""


def save_sheet(path: Path, heading: str, columns: Sequence[str], rows: Sequence[Row]) -> Path:
    """Write a sheet as a PNG; every row has one picture per column."""
    height, width = rows[0].pictures[0].shape[:2]
    step_x, step_y = width + MARGIN, height + TITLE + MARGIN
    top = MARGIN + TITLE + CAPTION
    size = (MARGIN + step_x * len(columns), top + step_y * len(rows))
    sheet = Image.new("RGB", size, PAPER)
    pen = ImageDraw.Draw(sheet)
    pen.text((MARGIN, MARGIN), heading, INK, ImageFont.load_default(20))
    for index, column in enumerate(columns):
        pen.text((MARGIN + step_x * index, MARGIN + TITLE), column, FAINT, ImageFont.load_default(14))
    for number, row in enumerate(rows):
        y = top + step_y * number
        pen.text((MARGIN, y + 6), row.title, INK, ImageFont.load_default(15))
        for index, picture in enumerate(row.pictures):
            sheet.paste(Image.fromarray(picture), (MARGIN + step_x * index, y + TITLE))
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path)
    return path
