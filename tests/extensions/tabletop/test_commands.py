from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.conftest import Said

from assay.support import console

Run = Callable[..., Any]


def test_demonstrations_are_recorded_and_a_policy_trained_on_them(
    drawing: str, assay: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(console, "EVERY", 0.0)
    demos, file = tmp_path / "demos", tmp_path / "policy.safetensors"
    said = assay("tabletop", "demos", "--per-task", "2", "--tasks", "T1,T3", "--out", demos, "--workers", "1")
    assert said.status == 0
    assert said.out.strip() == f"{demos}: 4 episodes of T1, T3; 0 failed attempts omitted"
    assert said.err.splitlines() == ["T1: 2 of 4", "T3: 4 of 4"]
    pytest.importorskip("torch", reason="training needs torch: pip install 'assay-robotics[learn]'")
    said = assay(
        "tabletop", "train", demos, "--model", "concat-objects", "--steps", "2", "--batch", "3", "--out", file
    )
    assert said.status == 0 and file.is_file()
    assert said.out.startswith(f"{file}: concat-objects, 1,") and "2 steps with batches of 3" in said.out
    assert "concat-objects, step 2, loss" in said.err


def test_unknown_tasks_and_models_and_a_missing_torch_are_reported(
    assay: Run, monkeypatch: pytest.MonkeyPatch
):
    said = assay("tabletop", "demos", "--tasks", "T1,T99", "--out", "x")
    assert said.status == 2 and "unknown training task 'T99'" in said.err
    said = assay("tabletop", "train", "nowhere", "--model", "cross", "--out", "x")
    assert said.status == 2 and "--model 'cross'" in said.err
    monkeypatch.setitem(sys.modules, "torch", None)
    said = assay("tabletop", "train", "nowhere", "--out", "x.safetensors")
    assert said.status == 2 and "pip install 'assay-robotics[learn]'" in said.err


def test_an_experiment_shows_its_changed_prompts(
    assay: Callable[..., Said], drawing: str, tmp_path: Path
) -> None:
    options = ("--tasks", "tabletop/T1/L1", "--sheet", tmp_path / "prompts.png")
    said = assay("experiments", "show", "prompts", *options)
    assert said.status == 0 and "10 conditions drawn" in said.out, said.err
    with Image.open(tmp_path / "prompts.png") as sheet:
        assert sheet.height > 10 * 200
