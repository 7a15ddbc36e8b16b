from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.support import console

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("no_assets")


def test_it_counts_successes_and_names_the_seeds_that_failed(assay: Run):
    said = assay(
        "try", "--policy", "oracle", "--tasks", "libero_goal/0,libero_goal/7", "--seeds", "2", "--json", "-"
    )
    first, second = json.loads(said.out)["tasks"]
    assert said.status == 0 and said.err == ""
    assert (first["task"], first["episodes"], first["successes"], first["errors"]) == (
        "libero_goal/0",
        2,
        2,
        0,
    )
    assert second["task"] == "libero_goal/7" and len(second["steps"]) == 2
    said = assay(
        "try", "--policy", "idle", "--tasks", "libero_goal/7", "--seeds", "5,6", "--steps", "5", "--json", "-"
    )
    (task,) = json.loads(said.out)["tasks"]
    assert (task["successes"], task["failed_seeds"]) == (0, [5, 6])


def test_it_prints_a_table_with_a_total(assay: Run):
    said = assay("try", "--policy", "oracle", "--tasks", "libero_goal/7", "--seeds", "1", "--replan", "3")
    assert said.status == 0 and "libero_goal/7" in said.out and "1/1" in said.out and "all" in said.out


def test_it_says_how_many_succeeded_of_those_that_were_played(assay: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(console, "EVERY", 0.0)
    said = assay("try", "--policy", "idle", "--tasks", "libero_goal/7", "--seeds", "2", "--steps", "2")
    assert "0 succeeded; episodes played: 2 of 2" in said.err.splitlines()


def test_files_of_a_folder_that_cannot_begin_are_counted_by_reason_and_the_rest_is_tried(
    assay: Run, shared: Path, tmp_path: Path
):
    good = (shared / "libero" / "bddl" / "libero_goal" / "turn_on_the_stove.bddl").read_text()
    (tmp_path / "a.bddl").write_text("(define (problem")
    (tmp_path / "b.bddl").write_text(good)
    for name in ("plate_1", "cream_cheese_1"):
        forgetful = [line for line in good.splitlines() if not line.strip().startswith(f"(On {name}")]
        (tmp_path / f"c_{name}.bddl").write_text("\n".join(forgetful))
    said = assay("try", "--policy", "oracle", "--tasks", tmp_path, "--seeds", "1")
    assert said.status == 0 and "1/1" in said.out, "errors are not in the rate"
    assert "2 x error, e.g.: no initial relation places cream_cheese_1" in said.out + said.err
    assert "1 x error: " in said.out + said.err and "a.bddl:1:" in said.out + said.err


def test_it_makes_a_video_of_each_episode(drawing: str, assay: Run, tmp_path: Path):
    videos = tmp_path / "videos"
    said = assay(
        "try",
        "--policy",
        "oracle",
        "--tasks",
        "libero_goal/7",
        "--seeds",
        "1",
        "--video",
        "all",
        "--out",
        videos,
    )
    assert said.status == 0
    assert [each.name for each in videos.iterdir()] == ["libero_goal_7_000_success.mp4"]


@pytest.mark.parametrize("inside", ["", "videos"])
def test_a_folder_that_videos_cannot_be_written_to_is_told_before_anything_is_played(
    assay: Run, tmp_path: Path, inside: str
):
    file = tmp_path / "file"
    file.touch()
    said = assay(
        "try",
        "--policy",
        "idle",
        "--tasks",
        "libero_goal/7",
        "--seeds",
        "1",
        "--video",
        "all",
        "--out",
        file / inside,
    )
    assert said.status == 2 and "file" in said.err and said.err.count("\n") == 1


def test_stored_states_that_do_not_exist_are_errors_and_not_failures(assay: Run, shared: Path):
    said = assay(
        "try", "--policy", "idle", "--tasks", "libero_goal/7", "--states", shared / "libero" / "init",
        "--seeds", "50-50", "--json", "-",
    )  # fmt: skip
    (task,) = json.loads(said.out)["tasks"]
    assert task["errors"] == 1 and "stored states 0 to 49, not 50" in task["reasons"][0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("orcale",), "did you mean 'oracle'?"),
        (("clumsy?mis=1",), "did you mean 'miss'?"),
        (("clumsy?miss=abc",), "got 'abc'"),
        (("clumsy?miss=-1",), "valid: 0 to 1"),
        (("oracle?x=1",), "it has none"),
        (("clumsy?miss",), "should be a field=value"),
        (("python:",), "should be python:"),
        (("idle", "--tasks", "libero_gaol"), "libero_goal"),
        (("idle", "--tasks", ""), "no task selected"),
        (("idle", "--assets", "x", "--tasks", "libero_goal/7"), "asset pack"),
    ],
)
def test_bad_input_is_one_line(assay: Run, arguments: tuple[str, ...], words: str):
    said = assay("try", "--policy", *arguments)
    assert said.status == 2 and said.err.count("\n") == 1 and words in said.err


def test_it_takes_a_task_file_and_names_it_by_its_content(assay: Run, tmp_path: Path):
    file = tmp_path / "mine.bddl"
    assert assay("tasks", "export", "libero_goal/7", "--bddl", file).status == 0
    said = assay(
        "try", "--policy", "oracle", "--tasks", f"{file},libero_goal/7", "--seeds", "1", "--json", "-"
    )
    mine, built_in = json.loads(said.out)["tasks"]
    for attempt in (*mine["attempts"], *built_in["attempts"]):
        assert len(attempt.pop("inference_ms")) == attempt["steps"]  # of the clock: no two are the same
    assert mine["task"].startswith(f"{file}@") and mine["attempts"] == built_in["attempts"]
    said = assay("try", "--policy", "oracle", "--tasks", f"{file}@000000000000")
    assert said.status == 2 and "has changed" in said.err and said.err.count("\n") == 1
    said = assay("try", "--policy", "oracle", "--tasks", tmp_path / "none.bddl")
    assert said.status == 2 and "cannot be read: No such file" in said.err


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--latency", "measured"), "only assay run measures it"),
        (("--latency", "soon"), "valid: 0 to 1000 control steps of 50 ms, or measured"),
        (("--latency", "-1"), "valid: 0 to 1000"),
        (("--while-waiting", "hold"), "--while-waiting needs --latency above 0"),
    ],
)
def test_a_latency_that_cannot_be_is_told_in_one_line(assay: Callable, given: tuple[str, ...], words: str):
    said = assay("try", "--policy", "idle", "--tasks", "libero_goal/7", "--seeds", "1", *given)
    assert said.status == 2 and words in said.err and len(said.err.splitlines()) == 1
