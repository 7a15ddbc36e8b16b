from __future__ import annotations

import pytest

from assay.errors import TaskError
from assay.extensions.dropin import benchmark
from assay.extensions.dropin.domain import get_problem_info, robosuite_parse_problem


def test_suites_are_those_of_libero():
    suites = benchmark.get_benchmark_dict()
    assert list(suites) == ["libero_spatial", "libero_object", "libero_goal", "libero_90", "libero_10"]
    assert [suites[name]().n_tasks for name in suites] == [10, 10, 10, 90, 10]
    assert benchmark.get_benchmark("LIBERO_GOAL") is suites["libero_goal"]
    with pytest.raises(TaskError, match="libero_goal"):
        benchmark.get_benchmark("libero_gaol")


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
