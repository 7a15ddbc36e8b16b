from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from assay.experiments import EXPERIMENTS
from assay.support import console


def test_the_list_is_readable_on_eighty_columns(assay: Callable[..., Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(console.output, "_width", 80)
    said = assay("experiments", "list")
    assert said.status == 0 and max(map(len, said.out.splitlines())) <= 80
    for name in EXPERIMENTS.names():
        assert any(line.split()[:1] == [name] for line in said.out.splitlines()), name
    assert "…" not in said.out and "over=words,world,senses  halvings=0" in said.out


def test_what_is_refused_says_why(assay: Callable[..., Any], wide: None):
    said = assay("experiments", "show", "factors?over=obstacle,fog", "--tasks", "libero_goal/0")
    assert said.status == 0 and "refused: world/obstacle: this task carries nothing" in said.out


def test_a_sheet_is_drawn(assay: Callable[..., Any], drawing: str, tmp_path: Path, wide: None):
    file = tmp_path / "sheet.png"
    said = assay(
        "experiments",
        "show",
        "factors?over=recolour",
        "--tasks",
        "libero_object/0",
        "--seed",
        "1",
        "--sheet",
        file,
    )
    assert said.status == 0 and "2 conditions drawn" in said.out
    with Image.open(file) as image:
        assert image.format == "PNG" and image.width > 900


@pytest.mark.parametrize("name", ["a.txt", ".", "x"])
def test_a_sheet_that_is_no_picture_is_refused_first(assay: Callable[..., Any], name: str):
    said = assay(
        "experiments", "show", "factors?over=recolour", "--tasks", "libero_object/0", "--sheet", name
    )
    assert said.status == 2 and said.err == f"error: --sheet '{name}': valid: a file that ends in .png\n"
    assert not said.out


def test_no_tasks_are_not_all_tasks(assay: Callable[..., Any]):
    said = assay("experiments", "show", "libero", "--tasks", "")
    assert said.status == 2 and "no task selected" in said.err


def test_a_release_is_shown_by_its_task_with_most_conditions(
    assay: Callable[..., Any], shared: Path, wide: None
):
    said = assay("experiments", "show", f"libero-plus?folder={shared / 'libero_plus'}")
    assert said.status == 0 and "what libero_goal/1 is told" not in said.out
    said = assay("experiments", "show", f"libero-x?folder={shared / 'libero_x'}")
    assert said.status == 0 and "refused: release/unavailable: its file of level 1" in said.out
    said = assay("experiments", "show", f"libero-x?folder={shared / 'libero_x'}", "--tasks", "libero_goal/1")
    assert said.status == 2 and said.err.count("\n") == 1
    assert "no task 'libero_goal/1'; valid: files below" in said.err


def test_a_sheet_of_too_many_tasks_is_refused(assay: Callable[..., Any], tmp_path: Path):
    said = assay("experiments", "show", "libero", "--tasks", "all", "--sheet", tmp_path / "x.png")
    assert said.status == 2 and "valid: up to 10" in said.err and not (tmp_path / "x.png").exists()
