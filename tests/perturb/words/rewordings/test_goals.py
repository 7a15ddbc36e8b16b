from __future__ import annotations

from dataclasses import replace

import pytest

from assay import tasks
from assay.perturb import apply_perturbations
from assay.perturb.words.rewordings.designs import compositions
from assay.perturb.words.rewordings.goals import alternatives, new_goals
from assay.tasks import Instruction, Predicate, check
from assay.tasks.language.lexicon import mentions, names_of


def texts(id: str) -> set[str]:
    return {each.text for each in alternatives(tasks.load(id))}


@pytest.mark.parametrize("id", tasks.all_ids())
def test_every_built_in_task_has_another_one_in_its_scene_that_names_its_objects(id: str):
    task = tasks.load(id)
    others, own = alternatives(task), set(task.goal.atoms)
    categories = {entity.name: entity.category for entity in task.scene.entities}
    assert others and len({frozenset(other.goal.atoms) for other in others}) == len(others)
    for other in others:
        check(replace(task, goal=other.goal, instruction=Instruction(other.text)))
        asked = set(other.goal.atoms)
        assert not asked <= own and not own <= asked and len(asked) <= len(own)
        assert not asked & set(task.scene.initial) and other.text != task.instruction.text
        for name in (name for atom in other.goal.atoms for name in atom.arguments):
            region = task.scene.region(name)
            owner = region.target if region is not None else name
            if owner in categories:
                assert any(mentions(other.text, form) for form in names_of(categories[owner])), other


def test_a_task_from_elsewhere_is_left_out_where_its_words_would_mean_something_else():
    assert "put the bowl on the plate" not in texts("libero_spatial/0")  # which of the two?
    assert "open the middle drawer of the cabinet" not in texts("libero_spatial/0")  # it faces away
    assert "turn on the stove" in texts("libero_spatial/0")


def test_what_holds_already_is_not_asked_for():
    """LIBERO-PRO asks to turn off a stove that is off."""
    assert "turn off the stove" not in texts("libero_goal/7")
    assert texts("libero_10/8") == {"turn off the stove"}
    for id in tasks.all_ids():
        task = tasks.load(id)
        for atom in (atom for each in alternatives(task) for atom in each.goal.atoms):
            if atom.predicate is Predicate.CLOSE:
                assert any(a.predicate is Predicate.OPEN for a in task.scene.initial)


def test_parts_and_sides_are_exchanged_in_words_and_goal_alike():
    found = {each.text: str(each.goal) for each in alternatives(tasks.load("libero_goal/0"))}
    assert found["open the bottom drawer of the cabinet"] == "Open wooden_cabinet_1_bottom_region"
    found = {each.text: str(each.goal) for each in alternatives(tasks.load("libero_10/5"))}
    text = "pick up the book and place it in the front compartment of the caddy"
    assert found[text] == "In black_book_1 desk_caddy_1_front_contain_region"


@pytest.mark.parametrize("text", ["", "stelle die Schüssel auf den Herd", "x" * 10_000])
def test_words_that_are_not_understood_leave_what_is_known_elsewhere(text: str):
    task = replace(tasks.load("libero_goal/1"), instruction=Instruction(text))
    found = alternatives(task)
    assert found and all(each.known_from or "stove" in each.text for each in found)


def test_every_built_in_task_has_a_goal_that_was_never_trained():
    trained = {task.instruction.text for task in tasks.resolve("all")}
    for task in tasks.resolve("all"):
        suite = [each for each in tasks.suite(task.id.split("/")[0]) if each.scene == task.scene]
        goals = [set(each.goal.atoms) for each in suite]
        found = new_goals(task)
        assert found, task.id
        for each in found:
            check(replace(task, goal=each.goal, instruction=Instruction(each.text)))
            assert each.text not in trained and each.known_from is None
            assert not any(set(each.goal.atoms) <= goal for goal in goals), each.text


def test_what_a_trained_task_passes_on_its_way_is_not_new():
    found = {str(each.goal) for each in new_goals(tasks.load("libero_goal/7"))}
    assert "Open wooden_cabinet_1_top_region" not in found, "whoever puts the bowl inside opens it first"
    assert "In cream_cheese_1 wooden_cabinet_1_top_region" in found


def test_two_known_tasks_make_one_that_holds_when_both_do():
    task = tasks.load("libero_goal/1")
    found = {each.text: each for each in compositions(task)}
    both = found["put the bowl on the stove and turn on the stove"]
    made = apply_perturbations(task, both, seed=1)
    assert [str(atom.predicate) for atom in made.goal.atoms] == ["On", "TurnOn"]
    assert made.scene == task.scene and made.goal.atoms[0] == task.goal.atoms[0]


def test_goals_that_exclude_each_other_are_not_composed():
    for id in tasks.all_ids():
        task = tasks.load(id)
        for each in compositions(task):
            goal = apply_perturbations(task, each, seed=1).goal
            assert len(goal.atoms) > len(task.goal.atoms)
            carried = [atom.arguments[0] for atom in goal.atoms if atom.predicate.arity == 2]
            assert len(set(carried)) == len(carried), f"{id}: {each.text} puts something in two places"
