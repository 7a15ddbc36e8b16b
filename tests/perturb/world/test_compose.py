"""Two tasks in one."""

from __future__ import annotations

from assay import tasks
from assay.perturb.words.rewordings import compositions

from .example import changed


def test_two_known_tasks_make_one_that_holds_when_both_do():
    task = tasks.load("libero_goal/1")
    found = {each.text: each for each in compositions(task)}
    both = found["put the bowl on the stove and turn on the stove"]
    made = changed(both, task=task)
    assert [str(atom.predicate) for atom in made.goal.atoms] == ["On", "TurnOn"]
    assert made.scene == task.scene and made.goal.atoms[0] == task.goal.atoms[0]


def test_goals_that_exclude_each_other_are_not_composed():
    for id in tasks.all_ids():
        task = tasks.load(id)
        for each in compositions(task):
            goal = changed(each, task=task).goal
            assert len(goal.atoms) > len(task.goal.atoms)
            carried = [atom.arguments[0] for atom in goal.atoms if atom.predicate.arity == 2]
            assert len(set(carried)) == len(carried), f"{id}: {each.text} puts something in two places"
