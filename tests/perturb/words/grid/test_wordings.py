from __future__ import annotations

from dataclasses import replace

import pytest

from assay import tasks
from assay.perturb.words.grid.cells import ObjectType
from assay.perturb.words.grid.generate import fitting_names, wordings
from assay.tasks import Task
from assay.tasks.language import lexicon, read_task


def names(task: Task, noun: str, type: ObjectType) -> list[str]:
    read = read_task(task, lexicon())
    return fitting_names(lexicon().nouns[noun], type, noun, read.nouns)


def test_a_name_that_two_things_could_have_is_not_used() -> None:
    task = tasks.load("libero_goal/1")
    assert not {"container", "vessel"} & set(names(task, "bowl", ObjectType.CONTEXTUAL))
    others = tuple(each for each in task.scene.objects if each.category == "akita_black_bowl")
    alone = replace(task, scene=replace(task.scene, objects=others, fixtures=task.scene.fixtures[1:2]))
    assert {"container", "vessel"} <= set(names(alone, "bowl", ObjectType.CONTEXTUAL))


def test_no_scene_has_one_name_for_two_things() -> None:
    for task in tasks.resolve("all"):
        read = read_task(task, lexicon())
        for noun in read.nouns:
            for type in (ObjectType.HABITUAL, ObjectType.CONTEXTUAL):
                for name in fitting_names(noun, type, noun.name, read.nouns):
                    could = [
                        other.name
                        for other in read.nouns
                        if name.lower() in other.all_names and not set(other.things) & set(noun.things)
                    ]
                    assert set(could) <= {noun.name}, (task.id, name, could)


def test_a_name_never_ends_in_that_of_another_thing() -> None:
    nouns = lexicon().nouns
    hot_plate = nouns["stove"].model_copy(update={"habitual": ("hot plate",)})
    assert fitting_names(hot_plate, ObjectType.HABITUAL, "stove", [hot_plate]) == ["hot plate"]
    assert fitting_names(hot_plate, ObjectType.HABITUAL, "stove", [hot_plate, nouns["plate"]]) == []


@pytest.mark.parametrize("type", [ObjectType.ADDITION, ObjectType.CONTEXTUAL, ObjectType.HABITUAL])
def test_at_least_one_name_changes_and_number_is_kept(type: ObjectType) -> None:
    read = read_task(tasks.load("libero_10/8"), lexicon())
    (same,) = wordings(read, ObjectType.NONE)
    found = wordings(read, type)
    assert found and same not in found
    assert all(each["p0"].endswith("s") and not each["n1"].endswith("s") for each in found)
