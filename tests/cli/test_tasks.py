from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from assay import tasks
from assay.cli.tasks import app
from assay.tasks import bddl


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def test_list_shows_every_task_with_its_instruction():
    lines = run("list").stdout.splitlines()
    assert [line.split()[0] for line in lines if "/" in line.split(" ")[0]] == list(tasks.built_in_ids())
    assert any("push the plate to the front of the stove" in line for line in lines)


def test_list_takes_a_selection_and_prints_json():
    listed = json.loads(run("list", "libero_goal/7,libero_10/0", "--json", "-").stdout)
    assert listed[0] == {"id": "libero_goal/7", "instruction": "turn on the stove"}
    assert [item["id"] for item in listed] == ["libero_goal/7", "libero_10/0"]


def test_labels_are_counted_and_drawn(tmp_path: Path):
    counted = json.loads(run("labels", "libero_goal", "--json", "-", "--out", str(tmp_path)).stdout)
    assert (counted["tasks"], counted["scenes"]) == (10, 1)
    assert counted["labels"]["interaction"]["composite"] == {"scenes": 1, "tasks": 1}
    assert counted["predicates"]["On"]["tasks"] == 7
    assert {each.name for each in (tmp_path / "figures").iterdir()} == {"tree.svg", "flows.svg"}
    assert "container,akita_black_bowl,1,1" in (tmp_path / "tables" / "frequency.csv").read_text()
    shown = run("labels", "libero_goal").stdout
    assert "10 tasks" in shown and "state change" in shown


def test_show_prints_everything_and_draws_the_scene_on_request(tmp_path: Path):
    result = run("show", "libero_goal/3", "--picture", str(tmp_path / "scene.png"))
    assert result.exit_code == 0, result.output
    for part in (
        "open the top drawer and put the bowl inside",
        "wooden_cabinet_1",
        "x 0.04..0.06 y -0.03..-0.01",
        "In akita_black_bowl_1 wooden_cabinet_1_top_region",
        f"image: {tmp_path / 'scene.png'}",
    ):
        assert part in result.stdout
    assert (tmp_path / "scene.png").read_bytes().startswith(b"\x89PNG")


def test_show_prints_json_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    plain = json.loads(run("show", "libero_goal/0", "--json", "-").stdout)
    assert plain["id"] == "libero_goal/0"
    assert plain["goal"] == ["Open wooden_cabinet_1_middle_region"]
    assert plain["regions"][0]["rectangles"] == [[0.04, -0.03, 0.060000000000000005, -0.01]]
    assert list(tmp_path.iterdir()) == []


def test_show_accepts_a_task_file_and_prints_its_warnings(tmp_path: Path):
    file = tmp_path / "mine.bddl"
    file.write_text(bddl.write(tasks.load("libero_10/2")).replace("(:init", "(:init (Open fridge_1)"))
    result = run("show", str(file))
    assert result.exit_code == 0
    assert "mine" in result.stdout and "'Open fridge_1' has no effect" in result.stdout


def test_export_writes_a_file_that_is_read_back_equal(tmp_path: Path):
    file = tmp_path / "new/3.bddl"
    result = run("export", "libero_goal/3", "--bddl", str(file))
    assert result.exit_code == 0 and f"written to {file}" in result.stderr
    original, copy = tasks.load("libero_goal/3"), bddl.read(file)
    assert (copy.scene, copy.goal, copy.instruction) == (original.scene, original.goal, original.instruction)


def test_check_prints_json_and_fails_if_a_file_is_invalid(tmp_path: Path):
    (tmp_path / "good.bddl").write_text(bddl.write(tasks.load("libero_goal/3")))
    expected = {"files": 1, "read": 1, "round_trip": 1, "failures": [], "warnings": []}
    result = run("check", str(tmp_path))
    assert result.exit_code == 0 and json.loads(result.stdout) == expected
    (tmp_path / "bad.bddl").write_text("(define\n  (problem")
    result = run("check", str(tmp_path))
    assert result.exit_code == 1
    assert json.loads(result.stdout)["failures"] == [
        {"file": f"{tmp_path}/bad.bddl", "line": 2, "reason": "'(problem' is never closed"}
    ]


def test_check_reads_everything_published():
    shared = Path(os.environ.get("ASSAY_SHARED", Path(__file__).parents[3] / "shared"))
    if not (shared / "libero").is_dir():
        pytest.skip(f"no reference data at {shared} (set ASSAY_SHARED)")
    for folder, count in (("libero", 130), ("libero_x", 32), ("libero_plus", 12)):
        result = run("check", str(shared / folder))
        assert result.exit_code == 0
        counted = json.loads(result.stdout)
        assert [counted[key] for key in ("files", "read", "round_trip")] == [count, count, count]
