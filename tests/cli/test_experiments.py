from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from assay.experiments import EXPERIMENTS
from assay.support import console


def test_list_is_readable_on_eighty_columns(assay: Callable[..., Any], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(console.output, "_width", 80)
    said = assay("experiments", "list")
    assert said.status == 0 and max(map(len, said.out.splitlines())) <= 80
    for name in EXPERIMENTS:
        assert any(line.split()[:1] == [name] for line in said.out.splitlines()), name
    assert "…" not in said.out and "over=words,world,senses  halvings=0" in said.out


def test_refused_conditions_have_a_reason(assay: Callable[..., Any], wide: None):
    said = assay("experiments", "show", "factors?over=obstacle,fog", "--tasks", "libero_goal/0")
    assert said.status == 0 and "not possible: world/obstacle: no object is carried" in said.out


def test_sheet_is_drawn(assay: Callable[..., Any], drawing: str, tmp_path: Path, wide: None):
    command = "experiments show factors?over=recolour --tasks libero_object/0 --seed 1 --sheet"
    said = assay(*command.split(), tmp_path / "sheet.png")
    assert said.status == 0 and "2 conditions drawn" in said.out
    with Image.open(tmp_path / "sheet.png") as image:
        assert image.format == "PNG" and image.width > 900
