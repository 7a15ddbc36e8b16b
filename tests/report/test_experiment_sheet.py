from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assay import tasks
from assay.experiments import Experiment, Variant
from assay.perturb.senses import FrozenCamera
from assay.perturb.words.text import Say
from assay.perturb.world import Displace, Recolour
from assay.report.experiment_sheet import SIZE, ConditionImages, draw_conditions
from assay.report.sheets import GAP, TEXT, SheetCell, save_sheet
from assay.tasks import Task

pytestmark = pytest.mark.usefixtures("drawing")
TASK = tasks.load("libero_object/0")


def variants(task: Task) -> tuple[Variant, ...]:
    return (
        Variant("t/words", (Say("soup, please"),)),
        Variant("t/looks", (Recolour((0.9, 0.1, 0.9)),)),
        Variant("t/frozen", (FrozenCamera(),)),
        Variant("t/refused", (Displace(0.1, "nobody_1"),)),
    )


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[np.ndarray, dict[str, ConditionImages]]:
    file = tmp_path_factory.mktemp("sheets") / "deep" / "sheet.png"
    shown = draw_conditions(file, list(Experiment("t", "", variants).plan([TASK], [2])))
    with Image.open(file) as image:
        return np.asarray(image), {cell.spec.condition: cell for cell in shown}


def test_every_condition_is_shown_once_with_its_instruction(
    drawn: tuple[np.ndarray, dict[str, ConditionImages]],
):
    shown = drawn[1]
    assert list(shown) == ["control", "t/words", "t/looks", "t/frozen", "t/refused"]
    assert shown["t/words"].text == "soup, please" and shown["control"].text == TASK.instruction.text
    assert shown["t/refused"].text.startswith("not possible: there is no 'nobody_1'")
    assert not shown["t/refused"].images
    assert {cell.spec.seed for cell in shown.values()} == {2}


def test_the_control_stands_beside_each_condition(drawn: tuple[np.ndarray, dict[str, ConditionImages]]):
    shown = drawn[1]
    agent = shown["control"].images[0][0]
    ((usual, told),) = shown["t/words"].images
    assert np.array_equal(usual, agent) and np.array_equal(told, agent)
    ((usual, coloured),) = shown["t/looks"].images
    assert np.array_equal(usual, agent)
    differ = (coloured != agent).any(axis=-1)
    assert 20 < differ.sum() < 0.1 * SIZE * SIZE, "one thing has another colour"


def test_perturbed_observations_are_shown_after_some_motion(
    drawn: tuple[np.ndarray, dict[str, ConditionImages]],
):
    shown = drawn[1]
    (agent, frozen), (hand, frozen_hand) = shown["t/frozen"].images
    assert np.array_equal(frozen, shown["control"].images[0][0]), "the picture of the start"
    assert np.array_equal(frozen_hand, shown["control"].images[0][1])
    assert not np.array_equal(agent, frozen) and not np.array_equal(hand, frozen_hand)


RED, GREEN, BLUE, BLACK = (200, 0, 0), (0, 200, 0), (0, 0, 200), (1, 2, 3)


def plain(colour: tuple[int, int, int], height: int = 40, width: int = 60) -> np.ndarray:
    return np.full((height, width, 3), colour, dtype=np.uint8)


def box(sheet: np.ndarray, colour: tuple[int, int, int]) -> tuple[int, int, int, int]:
    """Top, left, height and width of the rectangle of one colour."""
    rows, columns = np.nonzero((sheet == colour).all(axis=-1))
    top, left = int(rows.min()), int(columns.min())
    assert len(rows) == (np.ptp(rows) + 1) * (np.ptp(columns) + 1), "not a whole rectangle"
    return top, left, int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1


def test_cells_stand_side_by_side_and_sections_below_each_other(tmp_path: Path):
    cells = [
        "a section",
        SheetCell("one", ("a line", "another"), [[plain(RED), plain(GREEN)]]),
        SheetCell("two", (), [[plain(BLUE), plain(BLACK)]]),
        "another section",
        SheetCell("three", ("word " * 60,), [[plain((9, 9, 9)), plain((8, 8, 8))], [plain((7, 7, 7))]]),
        SheetCell("four", ("not possible: no room",), []),
    ]
    file = save_sheet(tmp_path / "deep" / "cells.png", "heading", cells)
    with Image.open(file) as image:
        assert image.format == "PNG" and image.mode == "RGB"
        sheet = np.asarray(image)
    red, green, blue, black = (box(sheet, colour) for colour in (RED, GREEN, BLUE, BLACK))
    assert all(rectangle[2:] == (40, 60) for rectangle in (red, green, blue, black))
    assert red[0] == green[0] and red[1] + 60 < green[1] < blue[1] < black[1]
    assert blue[0] < red[0], "images move up if there are no lines"
    third, below = box(sheet, (9, 9, 9)), box(sheet, (7, 7, 7))
    assert third[1] == red[1] and third[0] > red[0] + 40 and below[0] == third[0] + 40 + GAP
    assert third[0] - (red[0] + 40) > 10 * TEXT[1], "long lines are wrapped"
    save_sheet(file, "", [SheetCell("", (), [[plain(BLUE)]])])
    with pytest.raises(ValueError, match="zero-size"):
        box(np.asarray(Image.open(file)), RED)  # the sheet was replaced
