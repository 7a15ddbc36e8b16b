from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("no_assets")


def test_try_counts_successes_and_names_the_failed_seeds(assay: Run):
    command = "try --policy oracle --tasks libero_goal/0,libero_goal/7 --seeds 2 --json -"
    said = assay(*command.split())
    first, second = json.loads(said.out)["tasks"]
    assert said.status == 0 and said.err == ""
    counts = [first[name] for name in ("task", "episodes", "successes", "errors")]
    assert counts == ["libero_goal/0", 2, 2, 0]
    assert second["task"] == "libero_goal/7" and len(second["steps"]) == 2
    command = "try --policy idle --tasks libero_goal/7 --seeds 5,6 --steps 5 --json -"
    said = assay(*command.split())
    (task,) = json.loads(said.out)["tasks"]
    assert (task["successes"], task["failed_seeds"]) == (0, [5, 6])


def test_unplayable_tasks_of_a_folder_are_counted_by_reason_and_the_rest_is_tried(
    assay: Run, shared: Path, tmp_path: Path
):
    good = (shared / "libero" / "bddl" / "libero_goal" / "turn_on_the_stove.bddl").read_text()
    (tmp_path / "b.bddl").write_text(good)
    for name in ("plate_1", "cream_cheese_1"):
        forgetful = [line for line in good.splitlines() if not line.strip().startswith(f"(On {name}")]
        (tmp_path / f"c_{name}.bddl").write_text("\n".join(forgetful))
    said = assay("try", "--policy", "oracle", "--tasks", tmp_path, "--seeds", "1")
    assert said.status == 0 and "1/1" in said.out, "errors are not in the rate"
    assert "2 x error, e.g.: no initial relation places cream_cheese_1" in said.out + said.err


def test_try_writes_a_video_of_each_episode_and_a_total(drawing: str, assay: Run, tmp_path: Path):
    videos = tmp_path / "videos"
    command = "try --policy oracle --tasks libero_goal/7 --seeds 1 --video all --out"
    said = assay(*command.split(), videos)
    assert said.status == 0 and "1/1" in said.out and "all" in said.out
    assert [file.name for file in videos.iterdir()] == ["libero_goal_7_000_success.mp4"]


def test_stored_states_that_do_not_exist_are_errors_and_not_failures(assay: Run, shared: Path):
    said = assay(
        "try", "--policy", "idle", "--tasks", "libero_goal/7", "--states", shared / "libero" / "init",
        "--seeds", "50-50", "--json", "-",
    )  # fmt: skip
    (task,) = json.loads(said.out)["tasks"]
    assert task["errors"] == 1 and "stored states 0 to 49, not 50" in task["reasons"][0]


def test_task_file_is_tried_and_identified_by_its_content(assay: Run, tmp_path: Path):
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


def test_spread_separates_chance_from_starts_and_is_resumed(assay: Run, tmp_path: Path):
    run = tmp_path / "spread.assay"
    options = ("--tasks", "libero_goal/7,libero_goal/8", "--seeds", "2", "--steps", "2", "--workers", "0")
    command = ("spread", "--policy", "idle", *options, "--out", run, "--repeats")
    said = assay(*command, "2", "--json", "-")
    told = json.loads(said.out)
    assert said.status == 0 and (told["episodes"], told["starts"], told["rate"]) == (8, 4, 0.0)
    assert [part["source"] for part in told["components"]] == [
        "tasks",
        "starts of a task",
        "repetitions of a start",
    ]
    again = assay(*command, "2")
    assert again.status == 0 and "8 controls, 0.0 % successful; 4 starts with repetitions" in " ".join(
        again.out.split()
    )
    once = assay(*command, "1")
    assert once.status == 2 and "--repeats 1: expected at least 2 episodes from each start" in once.err
