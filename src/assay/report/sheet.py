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
    """Write a grid of cells, each with room for two pictures abreast, as a PNG; a string begins a section."""
    pictures = [each for cell in cells if isinstance(cell, Cell) for row in cell.pictures for each in row]
    height, width = pictures[0].shape[:2]
    across = 2 * width + GAP + MARGIN
    placed: list[tuple[int, int, Cell | str]] = []
    y, column, tallest = MARGIN + TITLE, 0, 0
    for cell in cells:
        if column == columns or (isinstance(cell, str) and column):
            y, column, tallest = y + tallest, 0, 0
        placed.append((MARGIN + across * column, y, cell))
        if isinstance(cell, str):
            y += TITLE
        else:
            column, tallest = column + 1, max(tallest, _height(cell, height, 2 * width + GAP))
    sheet = Image.new("RGB", (MARGIN + across * columns, y + tallest), PAPER)
    pen = ImageDraw.Draw(sheet)
    pen.text((MARGIN, MARGIN), heading, INK, ImageFont.load_default(20))
    for x, top, cell in placed:
        if isinstance(cell, str):
            pen.text((x, top + 4), cell, INK, ImageFont.load_default(18))
            continue
        pen.text((x, top), cell.title, INK, ImageFont.load_default(15))
        top += CAPTION
        for line in _folded(cell.lines, 2 * width + GAP):
            pen.text((x, top), line, FAINT, ImageFont.load_default(SMALL))
            top += LINE
        for row in cell.pictures:
            for index, picture in enumerate(row):
                sheet.paste(Image.fromarray(picture), (x + index * (width + GAP), top))
            top += height + GAP
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path)
    return path


def _height(cell: Cell, picture: int, width: int) -> int:
    lines = len(_folded(cell.lines, width))
    return CAPTION + LINE * lines + (picture + GAP) * len(cell.pictures) + MARGIN


def _folded(lines: Sequence[str], width: int) -> list[str]:
    """Lines that fit a width, pixels."""
    font, folded = ImageFont.load_default(SMALL), []
    for line in filter(None, lines):
        said = ""
        for word in line.split():
            if said and font.getlength(f"{said} {word}") > width:
                folded.append(said)
                said = word
            else:
                said = f"{said} {word}".strip()
        folded.append(said)
    return folded
