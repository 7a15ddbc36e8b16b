from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.extensions.eqa.baselines import geometry
from assay.extensions.eqa.question import load

Run = Callable[..., Any]


def test_questions_are_built_from_collected_demonstrations(collected: Path, assay: Run, tmp_path: Path):
    out = tmp_path / "questions"
    said = assay(
        "eqa", "build", "--source", collected, "--out", out, "--per-kind", "3", "--views", "exo,both"
    )
    assert said.status == 1, "two tasks are too few for instructions"
    assert "H-AI 0 of 3: each needs four instructions" in said.err and "pair: trivial motion" in said.err
    assert "read as 'libero'" in said.err
    assert said.out.startswith(f"{out}: ") and "L-AI 3" in said.out and " items x 2 views = " in said.out
    questions = load(out)
    assert {question.view for question in questions} == {"exo", "both"}
    assert all(geometry(question) in (question.answer, "") for question in questions)
    said = assay("eqa", "sheet", out, "--out", tmp_path / "sheet.png", "--kinds", "L-AI,L-SP", "--count", "2")
    assert said.status == 0 and (tmp_path / "sheet.png").stat().st_size > 10_000


def test_invalid_options_and_missing_packages_are_reported(
    assay: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for options, words in (
        (("--kinds", "H-IA"), "did you mean 'H-AI'?"),
        (("--views", "wrist"), "valid: exo, exo2"),
        (("--turning", "euler"), "valid: wrapped, exact"),
        (("--options", "ours"), "valid: matched, paper"),
        (("--gripper", "1"), "CLOSED,OPEN"),
        (("--schema", "droid"), "are for data sets"),
        (("--distractors", "random"), "not the baseline 'random'"),
        (("--distractors", "openai:x", "--endpoint", "there"), "must be an address like"),
    ):
        said = assay("eqa", "build", "--source", "demo", *options, "--out", tmp_path / "questions")
        assert said.status == 2 and words in said.err
    said = assay("eqa", "sheet", tmp_path, "--out", "x.png")
    assert said.status == 2 and "assay eqa build makes one" in said.err
    (tmp_path / "a.tfrecord-00000-of-00001").touch()
    for package in ("sklearn", "tfrecord"):
        monkeypatch.setitem(sys.modules, package, None)
    for command in (("leak", tmp_path), ("build", "--source", tmp_path, "--out", tmp_path / "set")):
        said = assay("eqa", *command)
        assert said.status == 2 and "pip install 'assay-robotics[eqa]'" in said.err
