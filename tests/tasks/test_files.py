from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import tasks
from assay.errors import TaskError
from assay.perturb import apply_perturbations
from assay.perturb.world.objects import Recolour, Remove
from assay.perturb.world.staging import MoveCamera, Relight, Repaint, StartPose
from assay.tasks import Task
from assay.tasks.files import from_json, names_file, to_json
from assay.tasks.scene import Pattern, Surface


def dressed() -> Task:
    """A task in which everything a file must keep is unusual."""
    changes = (
        Recolour((0.1, 0.2, 0.3), Pattern.STRIPES),
        Relight(0.5, shadows=False),
        MoveCamera(shift=(0.1, 0.0, 0.02)),
        Repaint(Surface.TABLE, (0.3, 0.3, 0.3)),
        StartPose(0.2),
        Remove("cream_cheese_1"),
    )
    return apply_perturbations(tasks.load("libero_goal/3"), changes, seed=3)


def same(one: Task, other: Task) -> bool:
    return replace(one, id="") == replace(other, id="")


@given(st.sampled_from(tasks.all_ids()))
def test_a_written_task_is_read_back_equal(id: str):
    task = tasks.load(id)
    assert from_json(to_json(task), id=id, file="x.json") == task


def test_finish_staging_and_what_is_absent_are_kept(tmp_path: Path):
    task = dressed()
    saved = tasks.save(task, tmp_path / "deep" / "task.json")
    assert same(saved, task)
    assert tasks.load(saved.id) == saved and saved.id.startswith(f"{tmp_path}/deep/task.json@")


def test_a_task_is_called_by_its_path_and_content(tmp_path: Path):
    first = tasks.save(tasks.load("libero_goal/0"), tmp_path / "a.json")
    second = tasks.save(tasks.load("libero_goal/0"), tmp_path / "b.json")
    assert first.id.rpartition("@")[2] == second.id.rpartition("@")[2] != ""
    assert tasks.load(str(tmp_path / "a.json")).id == first.id
    assert names_file(first.id) and not names_file("libero_goal/0")


def test_an_id_makes_a_name_that_a_file_can_have():
    assert tasks.short_name("libero_goal/3") == "libero_goal_3"
    assert tasks.short_name("/a/b/put_it_there.json@0123456789ab") == "put_it_there-0123456789ab"
    assert len(tasks.short_name(f"/a/{'long' * 60}.bddl@0123456789ab")) < 200


def test_a_file_that_has_changed_is_rejected(tmp_path: Path):
    file = tmp_path / "a.json"
    old = tasks.save(tasks.load("libero_goal/0"), file)
    new = tasks.save(tasks.load("libero_goal/1"), file)
    with pytest.raises(TaskError, match="has changed: its digest is now " + new.id.rpartition("@")[2]):
        tasks.load(old.id)


def test_a_bddl_file_is_a_task_with_a_path_and_a_digest(shared: Path, tmp_path: Path):
    source = shared / "libero" / "bddl" / "libero_goal" / "put_the_bowl_on_the_plate.bddl"
    file = shutil.copy(source, tmp_path / "mine.bddl")
    task = tasks.load(str(file))
    assert task.id.startswith(f"{file}@") and tasks.load(task.id) == task
    assert same(task, replace(tasks.bddl.read(source), id=""))


def test_a_selection_takes_files_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("scenes/b/1.json", "scenes/b/0.json", "scenes/a.json"):
        tasks.save(tasks.load("libero_goal/0"), name)
    Path("scenes/index.json").write_text("{}")
    found = [task.id.partition("@")[0] for task in tasks.resolve("scenes,libero_goal/3,scenes/a.json")]
    assert found == ["scenes/a.json", "scenes/b/0.json", "scenes/b/1.json", "libero_goal/3"]


def test_tasks_of_one_scene_and_folder_belong_together(tmp_path: Path):
    for number in range(3):
        tasks.save(tasks.load(f"libero_goal/{number}"), tmp_path / f"{number}.json")
    other = tasks.save(tasks.load("libero_10/0"), tmp_path / "3.json")
    first = tasks.load(str(tmp_path / "0.json"))
    assert len(tasks.siblings(first)) == 3 and other not in tasks.siblings(first)
    assert tasks.siblings(tasks.load("libero_goal/3")) == tasks.suite("libero_goal")


def test_stored_states_are_found_beside_a_task_file(tmp_path: Path):
    for place in ("bddl/LEVEL1/a_1.5.bddl", "bddl_files/own/b.bddl", "init/LEVEL1/a_1.5.init"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).touch()
    found = tasks.states_file(f"{tmp_path}/bddl/LEVEL1/a_1.5.bddl@0123456789ab")
    assert found == tmp_path / "init/LEVEL1/a_1.5.init"
    assert tasks.states_file(f"{tmp_path}/bddl_files/own/b.bddl") is None


@pytest.mark.parametrize(
    ("change", "plate", "message"),
    [
        ({"format": "other"}, {}, "format: input should be 'assay-task/1'"),
        ({"goals": []}, {}, "goals: extra inputs are not permitted"),
        ({"goal": ["On plate_1"]}, {}, "On takes 2 names, not 1"),
        ({"goal": "On"}, {}, "goal: input should be a valid list"),
        ({"instruction": " "}, {}, "the instruction is empty"),
        ({}, {"size": -1}, "the size of 'plate_1' is -1; expected a factor above 0"),
        ({}, {"size": 1e999}, "scene.objects.0.size: input should be a finite number"),
        ({}, {"size": "big"}, "scene.objects.0.size: input should be a valid number"),
        ({}, {"finish": {"colour": [2, 0, 0]}}, "the colour of 'plate_1' must be three numbers"),
        ({}, {"colour": [1, 0, 0]}, "scene.objects.0.colour: unexpected keyword argument"),
    ],
)
def test_a_file_with_an_invalid_value_is_rejected_with_its_place(
    tmp_path: Path, change: dict[str, object], plate: dict[str, object], message: str
):
    content = json.loads(to_json(tasks.load("libero_goal/0"))) | change
    if plate:
        content["scene"]["objects"] = [{"name": "plate_1", "category": "plate"} | plate]
    file = tmp_path / "a.json"
    file.write_text(json.dumps(content))
    with pytest.raises(TaskError) as raised:
        tasks.load(str(file))
    assert str(raised.value).startswith(f"{file}: ") and message in str(raised.value)


def test_a_missing_or_binary_file_is_rejected(tmp_path: Path):
    (tmp_path / "a.json").write_bytes(b"\xff\xfe")
    (tmp_path / "b.json").write_text("{")
    (tmp_path / "empty").mkdir()
    for id, message in (
        (f"{tmp_path}/a.json", "is not a UTF-8 text file"),
        (f"{tmp_path}/b.json", "is not valid JSON"),
        (f"{tmp_path}/none.json", "cannot be read: No such file"),
        (f"{tmp_path}/none.bddl", "cannot be read: No such file"),
        (f"{tmp_path}/empty", "no .bddl or .json file in this folder"),
        ("scenez", "unknown task or suite 'scenez'"),
    ):
        with pytest.raises(TaskError, match=message):
            tasks.resolve(id)
    with pytest.raises(TaskError, match=r"a task must be saved as a \.json file"):
        tasks.save(tasks.load("libero_goal/0"), tmp_path / "a.yaml")
