from __future__ import annotations

import re

import pytest

from assay import tasks
from assay.episodes import CONTROL
from assay.errors import ExperimentError
from assay.experiments import load_experiment
from assay.experiments.base import choose_conditions

NAMES = (CONTROL, "pro/position", "pro/task", "pro/task=two", "pro/displace=0.1", "pro/displace=0.2")
CELLS = ("para/obj=none,act=need", "para/obj=none,act=hint", "para/obj=habitual,act=need")
BOWL = [tasks.load("libero_goal/1")]


def test_conditions_are_chosen_by_name_and_pattern():
    for selection, chosen in (
        ("position", NAMES[1:2]),
        ("pro/position, task", NAMES[1:3]),
        ("pro/displace=*,position", (NAMES[1], *NAMES[4:])),
        ("control", NAMES[:1]),
        ("*", NAMES),
    ):
        assert choose_conditions(selection, NAMES, "pro") == frozenset(chosen)
    for selection, chosen in (  # names with commas
        ("obj=none,act=hint,para/obj=habitual,act=need", CELLS[1:]),
        ("obj=none,act=*", CELLS[:2]),
        ("*hint,*habitual*", CELLS[1:]),
    ):
        assert choose_conditions(selection, CELLS, "para") == frozenset(chosen)


def test_an_unknown_condition_is_rejected_with_valid_ones():
    for selection, words in (
        ("positon", "pro has no condition 'positon' for these tasks; did you mean 'position'?"),
        ("position,zzzzzz*", "no condition 'zzzzzz*' for these tasks; choose from control, displace=0.1"),
        ("pro/postion", "did you mean 'pro/position'?"),
        (" , ", "expected at least one name; choose from control"),
    ):
        with pytest.raises(ExperimentError, match=re.escape(words)):
            choose_conditions(selection, NAMES, "pro")
    with pytest.raises(ExperimentError, match=r"no condition 'obj=none,act=neeed'.*did you mean"):
        choose_conditions("obj=none,act=neeed", CELLS, "para")


def test_selected_conditions_are_the_same_episodes_with_their_controls():
    whole = list(load_experiment("pro").plan(BOWL, (0, 1)))
    some = list(load_experiment("pro").only("position,displace=*").plan(BOWL, (0, 1)))
    assert {spec.condition.partition("=")[0] for spec in some} == {CONTROL, "pro/position", "pro/displace"}
    assert {spec.key for spec in some} < {spec.key for spec in whole}, "the same episodes, only fewer"
    assert len([spec for spec in some if spec.condition == CONTROL]) == 2
    cell = "obj=none,act=need"
    plan = load_experiment("para?per_cell=1&seed=3").only(cell).plan(BOWL, (0,))
    assert [spec.condition for spec in plan] == [CONTROL, f"para/{cell}"]


def test_a_condition_that_no_task_has_is_rejected():
    with pytest.raises(ExperimentError, match="pro has no condition 'task=known' for these tasks"):
        list(load_experiment("pro").only("task=known").plan([tasks.load("libero_10/8")], (0,)))
