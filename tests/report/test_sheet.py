from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay.report.sheet import GAP, LINE, MARGIN, Cell, Row, save_cells, save_sheet


def plain(colour: tuple[int, int, int], height: int = 40, width: int = 60) -> np.ndarray:
    return np.full((height, width, 3), colour, dtype=np.uint8)


RED, GREEN, BLUE, BLACK = (200, 0, 0), (0, 200, 0), (0, 0, 200), (1, 2, 3)


def box(sheet: np.ndarray, colour: tuple[int, int, int]) -> tuple[int, int, int, int]:
    """Top, left, height and width of the part in one colour."""
    rows, columns = np.nonzero((sheet == colour).all(axis=-1))
    top, left = int(rows.min()), int(columns.min())
    assert len(rows) == (np.ptp(rows) + 1) * (np.ptp(columns) + 1), "it is not a whole rectangle"
    return top, left, int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1


def test_every_picture_is_on_the_sheet_in_its_row_and_column(tmp_path: Path):
    file = tmp_path / "deep" / "sheet.png"
    rows = [Row("one", [plain(RED), plain(GREEN)]), Row("two", [plain(BLUE), plain(BLACK)])]
    assert save_sheet(file, "heading", ("first", "second"), rows) == file
    with Image.open(file) as image:
        assert image.format == "PNG" and image.mode == "RGB"
        sheet = np.asarray(image)
    boxes = [box(sheet, colour) for colour in (RED, GREEN, BLUE, BLACK)]
    assert all(each[2:] == (40, 60) for each in boxes)
    assert boxes[0][0] == boxes[1][0] < boxes[2][0] == boxes[3][0]
    assert boxes[0][1] == boxes[2][1] < boxes[1][1] == boxes[3][1]
    assert boxes[1][1] - boxes[0][1] >= 60 + MARGIN and boxes[2][0] - boxes[0][0] > 40
    bottom, right = boxes[3][0] + 40, boxes[3][1] + 60
    assert sheet.shape[0] >= bottom and sheet.shape[1] >= right


def test_headings_and_titles_are_written(tmp_path: Path):
    def ink(heading: str, column: str, title: str) -> int:
        file = save_sheet(tmp_path / "s.png", heading, (column,), [Row(title, [plain((250, 250, 248))])])
        return int((np.asarray(Image.open(file)) != (250, 250, 248)).any(axis=-1).sum())

    blank = ink("", "", "")
    assert blank == 0
    assert min(ink("heading", "", ""), ink("", "column", ""), ink("", "", "title")) > 20


def test_a_sheet_replaces_an_older_one(tmp_path: Path):
    file = tmp_path / "s.png"
    save_sheet(file, "", ("a",), [Row("", [plain(RED)])])
    save_sheet(file, "", ("a",), [Row("", [plain(BLUE)])])
    with pytest.raises(ValueError, match="zero-size"):
        box(np.asarray(Image.open(file)), RED)


def test_a_grid_has_its_cells_side_by_side_and_sections_below_each_other(tmp_path: Path):
    cells = [
        "a section",
        Cell("one", ("a line", "another"), [[plain(RED), plain(GREEN)]]),
        Cell("two", (), [[plain(BLUE), plain(BLACK)]]),
        "another section",
        Cell("three", ("word " * 60,), [[plain((9, 9, 9)), plain((8, 8, 8))], [plain((7, 7, 7))]]),
        Cell("four", ("refused: no room",), []),
    ]
    file = save_cells(tmp_path / "deep" / "cells.png", "heading", cells)
    sheet = np.asarray(Image.open(file))
    red, green, blue, black = (box(sheet, colour) for colour in (RED, GREEN, BLUE, BLACK))
    assert all(each[2:] == (40, 60) for each in (red, green, blue, black))
    assert red[0] == green[0] and red[1] + 60 < green[1] < blue[1] < black[1]
    assert blue[0] < red[0], "without lines, pictures are further up"
    third, below = box(sheet, (9, 9, 9)), box(sheet, (7, 7, 7))
    assert third[1] == red[1] and third[0] > red[0] + 40 and below[0] == third[0] + 40 + GAP
    assert third[0] - (red[0] + 40) > 10 * LINE, "long lines are folded"
