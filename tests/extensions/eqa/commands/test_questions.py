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


def test_invalid_options_are_reported_in_one_line(assay: Run, tmp_path: Path):
    for options, words in (
        (("--source", "nowhere"), "not a source; valid: demo"),
        (("--source", "demo", "--kinds", "H-IA"), "did you mean 'H-AI'?"),
        (("--source", "demo", "--views", "wrist"), "valid: exo, exo2"),
        (("--source", "demo", "--turning", "euler"), "valid: wrapped, exact"),
        (("--source", "demo", "--options", "ours"), "valid: matched, paper"),
        (("--source", "demo", "--gripper", "1"), "CLOSED,OPEN"),
        (("--source", "demo", "--schema", "droid"), "are for data sets"),
        (("--source", "demo", "--distractors", "random"), "not the baseline 'random'"),
        (("--source", "demo", "--distractors", "openai:x", "--endpoint", "there"), "must be an address like"),
    ):
        said = assay("eqa", "build", *options, "--out", tmp_path / "questions")
        assert said.status == 2 and said.err.count("\n") == 1 and words in said.err
    for command in (("leak", tmp_path), ("sheet", tmp_path, "--out", "x.png")):
        said = assay("eqa", *command)
        assert said.status == 2 and said.err.count("\n") == 1 and "assay eqa build makes one" in said.err


def test_missing_packages_are_named_with_their_extra(
    assay: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "a.tfrecord-00000-of-00001").touch()
    for package in ("sklearn", "tfrecord"):
        monkeypatch.setitem(sys.modules, package, None)
    for command in (("leak", tmp_path), ("build", "--source", tmp_path, "--out", tmp_path / "set")):
        said = assay("eqa", *command)
        assert said.status == 2 and said.err.count("\n") == 1
        assert "pip install 'assay-robotics[eqa]'" in said.err
