from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("x", "--out", "x.pt"), "a checkpoint is a .safetensors file"),
        (("x", "--out", "x.safetensors", "--head", "bin"), "'bin' is not one of"),
        (("x", "--out", "x.safetensors", "--without", "word"), "'word' is not one of"),
        (("x", "--out", "x.safetensors", "--orientation", "upside"), "there is no orientation 'upside'"),
        (("x", "--out", "x.safetensors", "--pixels", "40"), "--pixels 40: Input should be a multiple of 16"),
    ],
)
def test_an_invalid_option_is_reported(assay: Run, arguments: tuple[str, ...], reason: str):
    said = assay("learn", *arguments)
    assert said.status == 2 and said.err.count("\n") == 1 and reason in said.err


def test_without_torch_the_install_command_is_printed(assay: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    said = assay("learn", "nowhere", "--out", "x.safetensors")
    assert (
        said.status == 2 and said.err.count("\n") == 1 and "pip install 'assay-robotics[learn]'" in said.err
    )


def test_a_folder_without_a_dataset_is_rejected(assay: Run, tmp_path: Path):
    pytest.importorskip("torch", reason="training needs torch: pip install 'assay-robotics[learn]'")
    said = assay("learn", tmp_path, "--out", tmp_path / "x.safetensors")
    assert said.status == 2 and said.err.count("\n") == 1 and "not a LeRobotDataset" in said.err
