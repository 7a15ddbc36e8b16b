"""Contact sheets: grids of titled cells with images, as a single PNG."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

MARGIN = 12
GAP = 3
"""Gap between the images of a cell, in pixels."""
HEADING, SECTION, TITLE, TEXT = (20, 30), (18, 30), (15, 22), (12, 16)
"""Font size and line height, in pixels."""
LETTER_WIDTH = 0.6
"""Width assumed for each letter, relative to the font size."""
PAPER, INK, FAINT = (250, 250, 248), (25, 25, 30), (110, 110, 118)

Font = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SheetCell:
    """One cell of a sheet, with a title, a few lines of text and rows of images."""

    title: str
    lines: Sequence[str] = ()
    images: Sequence[Sequence[np.ndarray]] = ()
    """Rows of images, uint8 (height, width, 3), all of the same size; empty for a cell with text only."""


def save_sheet(path: Path, heading: str, cells: Sequence[SheetCell | str], *, columns: int = 3) -> Path:
    """Write a grid of cells as a PNG; a string among the cells is the heading of a new section."""
    rows = [row for cell in cells if isinstance(cell, SheetCell) for row in cell.images]
    height, width = rows[0][0].shape[:2]
    across = max(map(len, rows))
    inner = across * (width + GAP) - GAP
    full = (inner + MARGIN) * columns - MARGIN

    def wrap_cell(cell: SheetCell) -> list[tuple[str, Font]]:
        titles = [(line, TITLE) for line in _wrap([cell.title], inner, TITLE)]
        return titles + [(line, TEXT) for line in _wrap(cell.lines, inner, TEXT)]

    headings = _wrap([heading], full, HEADING)
    placed: list[tuple[int, int, SheetCell | str]] = []
    y, column, tallest = MARGIN + HEADING[1] * len(headings), 0, 0
    for cell in cells:
        if column == columns or (isinstance(cell, str) and column):
            y, column, tallest = y + tallest, 0, 0
        placed.append((MARGIN + (inner + MARGIN) * column, y, cell))
        if isinstance(cell, str):
            y += SECTION[1] * len(_wrap([cell], full, SECTION))
        else:
            text = sum(font[1] for _, font in wrap_cell(cell))
            column, tallest = column + 1, max(tallest, text + (height + GAP) * len(cell.images) + MARGIN)
    sheet = Image.new("RGB", (full + 2 * MARGIN, y + tallest), PAPER)
    pen = ImageDraw.Draw(sheet)

    def write(x: int, top: int, lines: Sequence[tuple[str, Font]]) -> int:
        for line, font in lines:
            ink = FAINT if font == TEXT else INK
            pen.text((x, top), line, ink, ImageFont.load_default(font[0]))
            top += font[1]
        return top

    write(MARGIN, MARGIN, [(line, HEADING) for line in headings])
    for x, top, cell in placed:
        if isinstance(cell, str):
            write(x, top + 4, [(line, SECTION) for line in _wrap([cell], full, SECTION)])
            continue
        top = write(x, top, wrap_cell(cell))
        for row in cell.images:
            for index, image in enumerate(row):
                sheet.paste(Image.fromarray(image), (x + index * (width + GAP), top))
            top += height + GAP
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path)
    return path


def _wrap(lines: Sequence[str], width: int, font: Font) -> list[str]:
    """Wrap lines to a width in pixels, splitting words that are wider."""
    letters = int(width / (LETTER_WIDTH * font[0]))
    return [part for line in lines for part in textwrap.wrap(line, letters)]
