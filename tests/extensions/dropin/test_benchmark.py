from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import TaskError
from assay.extensions.dropin import benchmark, session
from assay.extensions.dropin.domain import get_problem_info, robosuite_parse_problem
from assay.extensions.dropin.session import get_libero_path


def test_suites_are_those_of_libero():
    suites = benchmark.get_benchmark_dict()
    assert list(suites) == ["libero_spatial", "libero_object", "libero_goal", "libero_90", "libero_10"]
    assert [suites[name]().n_tasks for name in suites] == [10, 10, 10, 90, 10]
    assert benchmark.get_benchmark("LIBERO_GOAL") is suites["libero_goal"]
    with pytest.raises(TaskError, match="libero_goal"):
        benchmark.get_benchmark("libero_gaol")


def test_the_files_of_a_task_exist(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(session, "STATES", 2)
    suite = benchmark.get_benchmark("libero_goal")()
    task = suite.get_task(7)
    assert task.language == "turn on the stove" and task.problem_folder == "libero_goal"
    assert Path(get_libero_path("bddl_files"), task.problem_folder, task.bddl_file).is_file()
    assert Path(get_libero_path("init_states"), task.problem_folder, task.init_states_file).is_file()
    assert suite.get_task_init_states(7).shape[0] == 2
    assert suite.get_task_names()[7] == task.name == "turn_on_the_stove"
    assert benchmark.grab_language_from_filename("KITCHEN_SCENE10_close_it.bddl") == "close it"


def test_task_files_are_parsed_as_in_libero():
    suite = benchmark.get_benchmark("libero_goal")()
    info = get_problem_info(suite.get_task_bddl_file_path(7))
    assert info == {
        "problem_name": "libero_tabletop_manipulation",
        "domain_name": "robosuite",
        "language_instruction": "turn on the stove",
    }
    parsed = robosuite_parse_problem(suite.get_task_bddl_file_path(7))
    assert parsed["goal_state"] == [["turnon", "flat_stove_1"]]
    assert parsed["objects"]["plate"] == ["plate_1"] and parsed["fixtures"]["table"] == ["main_table"]
