"""Things look different, are of another size or sort, or are gone."""

from __future__ import annotations

from xml.etree.ElementTree import tostring

import mujoco
import numpy as np
import pytest

from assay import tasks
from assay.errors import PerturbationError
from assay.perturb.world import (
    SHAPES,
    Alter,
    Among,
    Recolour,
    Remove,
    Replace,
    Resize,
    unseen,
)
from assay.sim import CompiledScene, Simulation
from assay.sim.compile import bounding_box
from assay.sim.packs.pack import AssetPack
from assay.tasks import Task
from assay.tasks.scene import Pattern

from .example import BOWL, TASK, Built, Places, changed


def test_a_new_colour_is_that_of_all_that_is_shown_of_a_thing(built: Built):
    task = changed(Recolour((0.9, 0.1, 0.1)))
    model = built(task).model
    body = built(task).entities[BOWL].body
    shown = [
        geom
        for geom in range(model.ngeom)
        if model.body_rootid[model.geom_bodyid[geom]] == body and model.geom_group[geom] == 1
    ]
    assert shown
    for geom in shown:
        np.testing.assert_allclose(model.mat_rgba[model.geom_matid[geom], :3], (0.9, 0.1, 0.1), atol=1e-6)


@pytest.mark.parametrize("pattern", list(Pattern))
def test_a_pattern_is_a_texture(drawing: str, pattern: Pattern, built: Built):
    world = Simulation(built(changed(Recolour((0.9, 0.1, 0.1), pattern))))
    observation = world.reset(world.sample(1))
    label = world.compiled.labels.index(BOWL)
    bowl = observation.image("agentview", 256)[observation.segmentation("agentview", 256) == label]
    assert bowl[:, 0].mean() > bowl[:, 2].mean() + 20, "red"
    world.close()


def test_a_larger_thing_is_larger_in_every_direction_and_heavier(built: Built):
    one, other = built(TASK), built(changed(Resize(1.2)))
    sizes = []
    for scene in (one, other):
        data = mujoco.MjData(scene.model)
        mujoco.mj_forward(scene.model, data)
        low, high = bounding_box(scene.model, data, scene.entities[BOWL].geoms)
        sizes.append(high - low)
    np.testing.assert_allclose(sizes[1], 1.2 * sizes[0], rtol=0.01)
    body = one.entities[BOWL].body
    assert other.model.body_mass[body] == pytest.approx(1.2**3 * one.model.body_mass[body], rel=0.01)


def test_a_replaced_thing_keeps_its_name_and_the_goal(built: Built):
    task = changed(Replace("ketchup"))
    entity = next(entity for entity in task.scene.objects if entity.name == BOWL)
    assert entity.category == "ketchup" and task.goal == TASK.goal
    world = Simulation(built(task))
    world.reset(world.sample(1))
    assert not world.is_satisfied(task.goal)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_abstract_shape_takes_the_place_of_a_thing(shape: str, built: Built, places: Places):
    task = changed(Replace(shape))
    _is_five_centimetres_high(built(task))
    for name in set(built(TASK).entities) - {BOWL}:
        one, other = (each.model.body_mass[each.entities[name].body] for each in (built(task), built(TASK)))
        assert one == other
    before, after = places(TASK), places(task)
    assert np.linalg.norm((after[BOWL] - before[BOWL])[:2]) < 0.02
    assert all(np.linalg.norm(after[name] - before[name]) < 0.003 for name in set(before) - {BOWL})


def test_abstract_shapes_are_the_same_among_liberos_own_things(primitives: AssetPack, libero: AssetPack):
    assert set(SHAPES) <= libero.categories
    for shape in SHAPES:
        assert tostring(libero.entity(shape)) == tostring(primitives.entity(shape))


def _is_five_centimetres_high(scene: CompiledScene) -> None:
    data = mujoco.MjData(scene.model)
    mujoco.mj_forward(scene.model, data)
    low, high = bounding_box(scene.model, data, scene.entities[BOWL].geoms)
    assert (high - low)[2] == pytest.approx(0.05, abs=1e-6) and 0.045 < (high - low)[:2].min() < 0.061


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
    with pytest.raises(PerturbationError, match="ketchup does not work as wooden_cabinet_1 does"):
        changed(Replace("ketchup"), task=task)


def _category(task: Task) -> str:
    return next(entity.category for entity in task.scene.objects if entity.name == BOWL)


def test_what_is_removed_is_gone_and_the_goal_cannot_be_reached(built: Built):
    task = changed(Remove())
    assert BOWL not in {entity.name for entity in task.scene.entities}
    world = Simulation(built(task))
    world.reset(world.sample(1))
    assert not world.is_satisfied(task.goal) and not Remove.plausible


# -- every thing a task is about


def test_every_thing_a_task_is_about_is_altered_and_nothing_else():
    usual, drawn = {each.name: each for each in TASK.scene.entities}, set()
    for seed in range(12):
        made = {each.name: each for each in changed(Alter(), seed=seed).scene.entities}
        assert {name for name in made if made[name] != usual[name]} == {BOWL, "plate_1"}
        bowl = made[BOWL]
        drawn.add((bowl.category != usual[BOWL].category, not bowl.finish.usual, bowl.size != 1.0))
    assert drawn == {(True, False, False), (False, True, False), (False, False, True)}, "model, look or size"


def test_all_of_one_category_are_altered_alike():
    task = tasks.load("libero_spatial/1")  # the black bowl next to the ramekin, and another one
    for seed in range(6):
        one, other = changed(Alter(), task=task, seed=seed).scene.objects[:2]
        assert (one.category, one.finish, one.size) == (other.category, other.finish, other.size)
        assert one.category in ("akita_black_bowl", "black_bowl"), "the words call it black"
