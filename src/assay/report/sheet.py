"""Contact sheets: labelled rows of pictures, or a grid of labelled pairs, in one file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

MARGIN = 12
CAPTION = 22
TITLE = 30
GAP = 3
LINE, SMALL = 16, 12
"""The height of a line, and the size of its letters."""
HEAD, MIDDLE, NAME = 20, 18, 15
"""Sizes of the letters of a sheet's heading, of a section and of a cell's title."""
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


@dataclass(frozen=True, slots=True)
class Cell:
    """One place in a grid: rows of pictures under a title and a few lines."""

    title: str
    lines: Sequence[str]
    pictures: Sequence[Sequence[np.ndarray]]
    """Rows of uint8, (height, width, 3) each; without any, the lines have the place for themselves."""


def save_cells(path: Path, heading: str, cells: Sequence[Cell | str], *, columns: int = 3) -> Path:
    """Write a grid of cells, each with room for two pictures abreast, as a PNG; a string begins a section.

    Words that do not fit are folded.
    """
    pictures = [each for cell in cells if isinstance(cell, Cell) for row in cell.pictures for each in row]
    height, width = pictures[0].shape[:2]
    inner = 2 * width + GAP
    across = inner + MARGIN
    whole = across * columns - MARGIN
    headings = _folded([heading], whole, HEAD)
    placed: list[tuple[int, int, Cell | str]] = []
    y, column, tallest = MARGIN + TITLE * len(headings), 0, 0
    for cell in cells:
        if column == columns or (isinstance(cell, str) and column):
            y, column, tallest = y + tallest, 0, 0
        placed.append((MARGIN + across * column, y, cell))
        if isinstance(cell, str):
            y += TITLE * len(_folded([cell], whole, MIDDLE))
        else:
            column, tallest = column + 1, max(tallest, _height(cell, height, inner))
    sheet = Image.new("RGB", (MARGIN + across * columns, y + tallest), PAPER)
    pen = ImageDraw.Draw(sheet)

    def write(
        x: int, top: int, lines: Sequence[str], size: int, step: int, ink: tuple[int, int, int] = INK
    ) -> int:
        for line in lines:
            pen.text((x, top), line, ink, ImageFont.load_default(size))
            top += step
        return top

    write(MARGIN, MARGIN, headings, HEAD, TITLE)
    for x, top, cell in placed:
        if isinstance(cell, str):
            write(x, top + 4, _folded([cell], whole, MIDDLE), MIDDLE, TITLE)
            continue
        top = write(x, top, _folded([cell.title], inner, NAME), NAME, CAPTION)
        top = write(x, top, _folded(cell.lines, inner), SMALL, LINE, FAINT)
        for row in cell.pictures:
            for index, picture in enumerate(row):
                sheet.paste(Image.fromarray(picture), (x + index * (width + GAP), top))
            top += height + GAP
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path)
    return path


def _height(cell: Cell, picture: int, width: int) -> int:
    titles, lines = len(_folded([cell.title], width, NAME)), len(_folded(cell.lines, width))
    return CAPTION * titles + LINE * lines + (picture + GAP) * len(cell.pictures) + MARGIN


def _folded(lines: Sequence[str], width: int, size: int = SMALL) -> list[str]:
    """Lines in letters of a size that fit a width, pixels; a word that is wider is broken."""
    font, folded = ImageFont.load_default(size), []
    for line in filter(None, lines):
        said = ""
        for word in line.split():
            if said and font.getlength(f"{said} {word}") > width:
                folded.append(said)
                said = ""
            said = f"{said} {word}".strip()
            while font.getlength(said) > width and len(said) > 1:
                fits = max(n for n in range(1, len(said)) if n == 1 or font.getlength(said[:n]) <= width)
                folded.append(said[:fits])
                said = said[fits:]
        folded.append(said)
    return folded
