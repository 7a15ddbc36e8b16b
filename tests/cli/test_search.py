from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("no_assets")
SEARCH = (
    "search",
    "--policy",
    "idle",
    "--tasks",
    "libero_goal/7",
    "--steps",
    "1",
    "--workers",
    "0",
    "--uncertified",
)


def test_a_policy_that_fails_its_controls_is_told_in_one_line(assay: Callable, tmp_path: Path):
    run, folder = tmp_path / "a.assay", tmp_path / "report"
    said = assay(*SEARCH, "--axes", "delay", "--out", run, "--report", folder)
    assert said.status == 0
    assert "libero_goal/7: all of 5 controls failed: nothing can be searched at the floor" in said.out
    assert "5 episodes in" in said.out
    assert "libero_goal/7" in (folder / "thresholds.csv").read_text()
    told = assay(*SEARCH, "--axes", "delay", "--out", run, "--json", "-")
    found = json.loads(told.out)
    assert found["played"] == 5 and found["thresholds"]["found"][0]["ended"] == "controls"


def test_a_policy_that_breaks_is_told_with_what_broke(
    assay: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("breaking.py").write_text(
        "class Breaks:\n    def reset(self, *given): ...\n    def act(self, seen): raise ValueError('boom')\n"
    )
    breaking = (
        "search",
        "--policy",
        "python:breaking:Breaks",
        *SEARCH[3:],
        "--axes",
        "delay",
        "--budget",
        "12",
    )
    said = assay(*breaking, "--out", "a.assay")
    assert said.status == 2 and "every episode ended in an error" in said.err and "boom" in said.err
    said = assay("duel", "idle", "python:breaking:Breaks", "--experiment", "libero", "--tasks", "libero_goal/7",
                 "--seeds", "1", "--steps", "1", "--workers", "0", "--out", "duel")  # fmt: skip
    assert (
        said.status == 2
        and "every episode of duel/B.assay ended in an error" in said.err
        and "boom" in said.err
    )
    said = assay(
        "plan", "libero", "--policy", "python:breaking:Breaks", "--tasks", "libero_goal/7", "--seeds", "1"
    )
    assert said.status == 2
    assert "all episodes that were timed ended in an error: Breaks, step 0: ValueError: boom" in said.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--axes", "distnace"), "there is no axis 'distnace': did you mean 'distance'"),
        (("--axes", "delay", "--budget", "5"), "a budget of 5 episodes is 5 for each of 1 searches"),
        (("--axes", "delay,noise", "--budget", "0"), "valid: 24 or more, 60 by default"),
        (("--axes", "distance"), "nothing can be searched: distance: libero_goal/7 is about flat_stove_1"),
        (("--axes", "delay", "--level", "2"), "level 2: valid: between 0 and 1"),
    ],
)
def test_what_cannot_be_searched_is_one_line(
    assay: Callable, tmp_path: Path, options: tuple[str, ...], message: str
):
    said = assay(*SEARCH, *options, "--out", tmp_path / "a.assay")
    assert said.status == 2 and message in said.err and "Traceback" not in said.err
    assert not list(tmp_path.iterdir())
