from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from assay import tasks
from assay.extensions.generate.scenes import hidden_objects, hidden_regions
from assay.perturb.world.ground import Spot, add_entity, move_entity
from assay.sim.compile import CompiledScene, compile_scene
from assay.sim.packs.pack import AssetPack
from assay.sim.simulation import Simulation
from assay.tasks import Entity, Rectangle, Region, Scene


def seen(scene: Scene, world_of: Callable[[CompiledScene], Simulation]) -> list[str]:
    world = world_of(compile_scene(scene, AssetPack()))
    world.reset(world.sample(0))
    return hidden_objects(world)


def test_objects_behind_a_basket_or_outside_the_image_are_hidden(
    world_of: Callable[[CompiledScene], Simulation],
):
    scene = replace(tasks.load("libero_goal/0").scene)
    assert seen(scene, world_of) == []
    butter, basket = Entity("butter_1", "butter"), Entity("basket_1", "basket")
    scene = add_entity(scene, butter, Spot(0.02, 0.22, 0.04, 0.02))
    assert seen(scene, world_of) == []
    assert seen(add_entity(scene, basket, Spot(0.14, 0.22, 0.08, 0.09)), world_of) == ["butter_1"]
    assert "butter_1" in seen(move_entity(scene, "butter_1", 0.4, 0.15), world_of)


def test_a_region_behind_a_basket_is_hidden(world_of: Callable[[CompiledScene], Simulation]):
    scene = tasks.load("libero_goal/0").scene
    square = Region("goal_region", scene.arena.workspace, (Rectangle(-0.03, 0.17, 0.07, 0.27),))
    scene = replace(scene, regions=(*scene.regions, square))
    behind = add_entity(scene, Entity("basket_1", "basket"), Spot(0.14, 0.22, 0.08, 0.09))
    for each, seen in ((scene, True), (behind, False)):
        world = world_of(compile_scene(each, AssetPack()))
        world.reset(world.sample(0))
        assert (square.full_name not in hidden_regions(world)) == seen
