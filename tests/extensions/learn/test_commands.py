from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assay.episodes.episode import Outcome
from assay.extensions.learn.demonstrations import dataset
from assay.extensions.learn.demonstrations.collect import max_attempts
from assay.extensions.learn.demonstrations.dataset import Demonstrations, FailedAttempt
from assay.support import console

Run = Callable[..., Any]

pytestmark = pytest.mark.usefixtures("no_assets")
TASK = ("--tasks", "libero_goal/7", "--episodes", "1", "--size", "32")


def test_collect_reports_its_numbers_and_rejects_other_settings(
    drawing: str, assay: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(console, "EVERY", 0.0)
    out = tmp_path / "new/set"
    said = assay("collect", *TASK, "--out", out, "--seeds", "2-13")
    rows = pl.read_parquet(out / "meta/episodes/*/*.parquet")
    assert said.status == 0 and said.err == "libero_goal/7: 1 of 1\n"
    assert said.out.startswith(f"{out}: 1 episode with {rows['length'].sum()} frames; ")
    assert rows["assay/seed"].item() >= 2
    said = assay("collect", *TASK[:-1], "64", "--out", out)
    assert said.status == 2 and said.err.count("\n") == 1 and "--size 32" in said.err
    said = assay("collect", *TASK, "--out", out, "--seeds", "2-13")
    assert said.status == 0


def test_tasks_with_too_few_episodes_are_reported(assay: Run, tmp_path: Path):
    failures = [
        FailedAttempt("libero_goal/7", seed, Outcome.FAILURE, 300, "") for seed in range(max_attempts(1))
    ]
    dataset.write(tmp_path / "set", Demonstrations("primitives", 32, left_out=tuple(failures)))
    said = assay("collect", *TASK, "--out", tmp_path / "set")
    assert said.status == 1 and said.out.endswith(
        f"0 episodes with 0 frames; {max_attempts(1)} failed attempts omitted\n"
    )
    assert said.err == f"libero_goal/7: only 0 of 1 episodes recorded with {max_attempts(1)} seeds\n"


def test_invalid_options_of_collect_are_reported(assay: Run, tmp_path: Path):
    for option, value, words in (
        ("--tasks", "libero_gaol", "did you mean 'libero_goal'?"),
        ("--assets", "primitive", "did you mean 'primitives'?"),
        ("--assets", "libero", "ASSAY_LIBERO_ASSETS"),
        ("--size", "33", "expected an even number from 16 to 2048"),
    ):
        said = assay("collect", *TASK, option, value, "--out", tmp_path / "set")
        assert said.status == 2 and words in said.err and not (tmp_path / "set").exists()


def test_invalid_options_of_learn_and_a_missing_torch_are_reported(
    assay: Run, monkeypatch: pytest.MonkeyPatch
):
    checkpoint = ("x", "--out", "x.safetensors")
    for arguments, words in (
        (("x", "--out", "x.pt"), "expected a file name that ends in .safetensors"),
        ((*checkpoint, "--head", "bin"), "'bin' is not one of"),
        ((*checkpoint, "--without", "word"), "choose one of words, images, state"),
        ((*checkpoint, "--orientation", "upside"), "unknown orientation 'upside'"),
        ((*checkpoint, "--pixels", "40"), "--pixels 40: Input should be a multiple of 16"),
    ):
        said = assay("learn", *arguments)
        assert said.status == 2 and words in said.err
    monkeypatch.setitem(sys.modules, "torch", None)
    said = assay("learn", *checkpoint)
    assert said.status == 2 and "pip install 'assay-robotics[learn]'" in said.err
