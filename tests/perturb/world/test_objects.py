"""Things look different, are of another size or sort, or are gone."""

from __future__ import annotations

from xml.etree.ElementTree import tostring

import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.world.kinds import Among, unseen
from assay.perturb.world.objects import Alter, Recolour, Replace
from assay.sim import Simulation
from assay.sim.packs.pack import SHAPES, AssetPack
from assay.tasks import Task
from assay.tasks.scene import Finish, Pattern

from .example import BOWL, TASK, Built, changed


@pytest.mark.parametrize("pattern", list(Pattern))
def test_a_pattern_is_a_texture(drawing: str, pattern: Pattern, built: Built):
    world = Simulation(built(changed(Recolour((0.9, 0.1, 0.1), pattern))))
    observation = world.reset(world.sample(1))
    label = 2 + [entity.name for entity in world.compiled.scene.entities].index(BOWL)  # after arena and robot
    bowl = observation.image("agentview", 256)[observation.segmentation("agentview", 256) == label]
    assert bowl[:, 0].mean() > bowl[:, 2].mean() + 20, "red"
    world.close()


def test_abstract_shapes_are_the_same_among_liberos_own_things(primitives: AssetPack, libero: AssetPack):
    assert set(SHAPES) <= libero.categories
    for shape in SHAPES:
        assert tostring(libero.entity(shape)) == tostring(primitives.entity(shape))


def test_what_takes_the_place_of_a_thing_is_of_the_sort_that_is_asked_for():
    drawn = {
        among: {_category(changed(Replace(among=among), seed=seed)) for seed in range(12)} for among in Among
    }
    seen = {entity.category for id in tasks.all_ids() for entity in tasks.load(id).scene.entities}
    assert all(each.endswith("bowl") for each in drawn[Among.SAME]) and len(drawn[Among.SAME]) > 3
    assert not any(each.endswith("bowl") for each in drawn[Among.OTHER]) and drawn[Among.OTHER] <= seen
    assert drawn[Among.UNSEEN] <= set(unseen()) and not set(unseen()) & seen
    assert drawn[Among.SHAPE] <= set(SHAPES) and len(drawn[Among.SHAPE]) > 2


def test_nothing_is_replaced_by_what_the_scene_has_already():
    task = tasks.load("libero_10/4")
    here = {entity.category for entity in task.scene.objects}
    for seed in range(8):
        made = changed(Replace(among=Among.SAME), task=task, seed=seed).scene.objects
        assert made[0].category not in here


def test_a_fixture_is_replaced_by_one_that_works_alike_or_not_at_all(built: Built):
    task = tasks.load("libero_goal/0")
    white = changed(Replace(among=Among.SAME), task=task)
    (cabinet,) = (each for each in white.scene.fixtures if each.name == "wooden_cabinet_1")
    assert cabinet.category == "white_cabinet"
    world = Simulation(built(white))
    world.reset(world.sample(1))
    assert not world.is_satisfied(task.goal)
    with pytest.raises(PerturbationError, match="ketchup cannot be used like wooden_cabinet_1"):
        changed(Replace("ketchup"), task=task)


def _category(task: Task) -> str:
    return next(entity.category for entity in task.scene.objects if entity.name == BOWL)


def test_every_thing_a_task_is_about_is_altered_and_nothing_else():
    usual, drawn = {each.name: each for each in TASK.scene.entities}, set()
    for seed in range(12):
        made = {each.name: each for each in changed(Alter(), seed=seed).scene.entities}
        assert {name for name in made if made[name] != usual[name]} == {BOWL, "plate_1"}
        bowl = made[BOWL]
        drawn.add((bowl.category != usual[BOWL].category, bowl.finish != Finish(), bowl.size != 1.0))
    assert drawn == {(True, False, False), (False, True, False), (False, False, True)}, "model, look or size"


def test_all_of_one_category_are_altered_alike():
    task = tasks.load("libero_spatial/1")  # the black bowl next to the ramekin, and another one
    for seed in range(6):
        one, other = changed(Alter(), task=task, seed=seed).scene.objects[:2]
        assert (one.category, one.finish, one.size) == (other.category, other.finish, other.size)
        assert one.category in ("akita_black_bowl", "black_bowl"), "the words call it black"
