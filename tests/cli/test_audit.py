from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.runs.schedulers.players import StopsAfter

from assay.api.running import audit
from assay.runs.options import RunOptions

pytestmark = pytest.mark.usefixtures("no_assets")
FEW = ("--tasks", "libero_goal/7", "--seeds", "1", "--steps", "2", "--workers", "0")


def test_audit_prints_and_writes_the_table(assay: Callable, tmp_path: Path):
    text = tmp_path / "a.md"
    said = assay("audit", "libero", *FEW, "--out", tmp_path / "runs", "--markdown", text)
    assert said.status == 0 and "without sight (unseeing): undecided in the only condition" in said.out
    assert "Too few episodes to decide: control" in said.out and "solves 0 of 1" not in said.out
    assert text.read_text().startswith("## Shortcuts through libero\n")
    told = json.loads(assay("audit", "libero", *FEW, "--out", tmp_path / "runs", "--json", "-").out)
    assert [each["name"] for each in told["policies"]] == ["oracle", "blind", "unseeing", "replay"]


def test_an_interrupted_audit_ends_like_an_undisturbed_one(tmp_path: Path):
    options = RunOptions(tasks="libero_goal/7", seeds=(0,), steps=2, workers=0)
    whole = audit("libero", out=tmp_path / "whole", options=options)
    for left in (3, 2):
        stopped = audit("libero", out=tmp_path / "part", options=options, observer=StopsAfter(1))
        assert stopped.left == left, "the policies that were not started count"
    resumed = audit("libero", out=tmp_path / "part", options=options)
    assert resumed.left == 0 and resumed.shortcuts.as_json() == whole.shortcuts.as_json()
