from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("no_assets")
STOVE = ("--tasks", "libero_goal/7", "--steps", "1", "--workers", "0")
SEARCH = ("search", *STOVE, "--axes", "delay", "--uncertified", "--policy")


def test_search_reports_that_all_controls_of_a_policy_fail(assay: Callable, tmp_path: Path):
    run, folder = tmp_path / "a.assay", tmp_path / "report"
    said = assay(*SEARCH, "idle", "--out", run, "--report", folder)
    assert said.status == 0
    assert "libero_goal/7: all 5 controls failed, so there is no success to lose" in said.out
    assert "libero_goal/7" in (folder / "thresholds.csv").read_text()
    found = json.loads(assay(*SEARCH, "idle", "--out", run, "--json", "-").out)
    assert found["played"] <= 15 and found["thresholds"]["found"][0]["ended"] == "controls"


def test_policy_that_always_raises_is_reported_with_its_exception(
    assay: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("breaking.py").write_text(
        "class Breaks:\n    def reset(self, *given): ...\n    def act(self, seen): raise ValueError('boom')\n"
    )
    policy, one = "python:breaking:Breaks", ("--tasks", "libero_goal/7", "--seeds", "1")
    for command, reason in (
        ((*SEARCH, policy, "--budget", "14", "--out", "a.assay"), "every episode ended in an error"),
        (
            ("duel", "idle", policy, "--experiment", "libero", *one, "--steps", "1", "--out", "duel"),
            "duel/B.assay",
        ),
        (("plan", "libero", "--policy", policy, *one), "all timed episodes ended in an error"),
    ):
        said = assay(*command)
        assert said.status == 2 and reason in said.err and "boom" in said.err
