from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PIL import Image
from tests.conftest import Said


def test_the_sheet_shows_every_task(assay: Callable[..., Said], drawing: str, tmp_path: Path) -> None:
    said = assay("tabletop", "sheet", "--out", tmp_path / "sheet.png")
    assert said.status == 0, said.err
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.width > 1000
        assert sheet.height > 17 * 200


def test_a_difficulty_that_does_not_exist_is_refused(assay: Callable[..., Said], tmp_path: Path) -> None:
    said = assay("tabletop", "sheet", "--out", tmp_path / "sheet.png", "--difficulty", "hard")
    assert said.status == 2
    assert "there is no difficulty 'hard'" in said.err


def test_a_suite_shows_what_becomes_of_a_prompt(
    assay: Callable[..., Said], drawing: str, tmp_path: Path
) -> None:
    options = ("--tasks", "tabletop/T1/L1", "--sheet", tmp_path / "prompts.png")
    said = assay("experiments", "show", "prompts", *options)
    assert said.status == 0 and "10 conditions drawn" in said.out, said.err
    with Image.open(tmp_path / "prompts.png") as sheet:
        assert sheet.height > 10 * 200
