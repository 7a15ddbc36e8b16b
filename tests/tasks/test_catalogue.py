from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from assay import tasks
from assay.errors import TaskError
from assay.tasks import bddl


def test_there_are_four_suites_of_ten_tasks_and_one_of_ninety_with_stable_ids():
    sizes = {"libero_spatial": 10, "libero_object": 10, "libero_goal": 10, "libero_10": 10, "libero_90": 90}
    assert tasks.suites() == tuple(sizes)
    for name, size in sizes.items():
        assert [task.id for task in tasks.suite(name)] == [f"{name}/{index}" for index in range(size)]
        assert tasks.describe(name)


def test_all_is_the_four_suites_of_ten_and_libero_90_is_named():
    assert len(tasks.all_ids()) == len(set(tasks.all_ids())) == 40
    assert not any(id.startswith("libero_90/") for id in tasks.all_ids())
    assert tuple(task.id for task in tasks.resolve("all,libero_90")) == tasks.built_in_ids()
    assert len(set(tasks.built_in_ids())) == 130


@pytest.mark.parametrize(
    ("id", "suites"),
    [
        ("libero_goal/3", tasks.suites()[:4]),
        ("libero_90/3", tasks.suites()),
        ("my/task.bddl@0123456789ab", tasks.suites()[:4]),
    ],
)
def test_a_task_is_trained_with_all_and_its_own_suite(id: str, suites: tuple[str, ...]):
    assert tuple(dict.fromkeys(each.id.split("/")[0] for each in tasks.trained_with(id))) == suites


def test_every_task_equals_its_task_file(shared: Path):
    for id in tasks.built_in_ids():
        entry = tasks.entry(id)
        assert bddl.parse(bddl.write(entry.task), id=id) == entry.task
        file = bddl.read(shared / "libero/bddl" / id.split("/")[0] / f"{entry.file}.bddl")
        assert entry.task.scene == file.scene, id
        assert entry.task.goal == file.goal, id
        assert entry.task.of_interest == file.of_interest, id
        assert (entry.file_wording or entry.task.instruction.text) == file.instruction.text, id


def test_every_task_file_is_in_the_catalogue_once(shared: Path):
    for name in tasks.suites():
        listed = sorted(str(tasks.entry(task.id).file) for task in tasks.suite(name))
        assert listed == sorted(file.stem for file in (shared / "libero/bddl" / name).glob("*.bddl"))


def test_the_order_is_the_one_of_the_reference_rollouts(shared: Path):
    files = sorted((shared / "libero/reference/trajectories").glob("*.npz"))
    assert files
    for file in files:
        with np.load(file) as rollout:
            id = f"{rollout['suite']}/{rollout['task']}"
            assert f"{tasks.entry(id).file}.bddl" == str(rollout["bddl"])


def test_instructions_are_the_ones_policies_were_trained_on():
    assert tasks.load("libero_goal/0").instruction.text == "open the middle drawer of the cabinet"
    assert tasks.entry("libero_goal/0").file_wording == "Open the middle layer of the drawer"
    assert tasks.load("libero_10/5").instruction.text == (
        "pick up the book and place it in the back compartment of the caddy"
    )
    for id in tasks.built_in_ids():
        entry = tasks.entry(id)
        words = entry.task.instruction.text.replace(" ", "_")
        assert entry.file is not None and (entry.file == words or entry.file.endswith(f"_{words}"))
    differing = [id for id in tasks.built_in_ids() if tasks.entry(id).file_wording is not None]
    assert len(differing) == 34


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("libero_gaol/0", "unknown suite 'libero_gaol'; did you mean 'libero_goal'?"),
        ("libero_goal/10", "unknown task 'libero_goal/10'; 'libero_goal' has the tasks libero_goal/0"),
        ("libero_goal/" + "0" * 5000, "'libero_goal' has the tasks"),
        ("libero_goal", "write the suite and the number, for example 'libero_goal/0'"),
        ("", "unknown task ''"),
    ],
)
def test_an_unknown_id_is_rejected_with_the_nearest_valid_one(id: str, message: str):
    with pytest.raises(TaskError, match=re.escape(message)):
        tasks.load(id)


@pytest.mark.parametrize(
    ("selection", "ids"),
    [
        ("libero_goal/3,libero_10/0", ["libero_goal/3", "libero_10/0"]),
        (" libero_goal/3 , libero_goal/3 ", ["libero_goal/3"]),
        ("libero_goal/9,libero_goal", [f"libero_goal/{index}" for index in (9, *range(9))]),
        ("all", list(tasks.all_ids())),
    ],
)
def test_a_selection_names_tasks_suites_or_all(selection: str, ids: list[str]):
    assert [task.id for task in tasks.resolve(selection)] == ids


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ("", "no task selected"),
        ("libero_objects", "unknown task or suite 'libero_objects'; did you mean 'libero_object'?"),
        ("libero_goal/0,al", "unknown task or suite 'al'; did you mean 'all'?"),
        ("x" * 6000, "unknown task or suite 'x"),  # longer than the name of a file may be
    ],
)
def test_an_unknown_selection_is_rejected_with_the_nearest_valid_one(selection: str, message: str):
    with pytest.raises(TaskError, match=re.escape(message)):
        tasks.resolve(selection)
