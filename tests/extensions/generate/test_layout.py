from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

from assay import tasks
from assay.extensions.generate.kit import FURNITURE, SUPERLATIVES, load_composition
from assay.extensions.generate.layout import MAX_OBJECTS, SceneDraft, draw
from assay.extensions.generate.scenes import hidden_objects, hidden_regions
from assay.perturb.world.ground import Spot, add_entity, move_entity
from assay.sim.compile import CompiledScene, compile_scene
from assay.sim.packs.pack import AssetPack
from assay.sim.simulation import Simulation
from assay.support.streams import stream
from assay.tasks import Arena, Entity, Rectangle, Region, Scene

EVEN = load_composition("even")


def test_a_scene_depends_only_on_its_random_stream():
    categories = AssetPack().categories
    one, other = (
        draw(stream(3, "a"), Arena.KITCHEN, (FURNITURE["stove"],), categories, EVEN) for _ in range(2)
    )
    assert one.scene == other.scene and one.objects == other.objects
    assert draw(stream(4, "a"), Arena.KITCHEN, (FURNITURE["stove"],), categories, EVEN).scene != one.scene


def test_objects_have_distance_and_a_limited_number(casts: list[SceneDraft]):
    for draft in casts:
        assert 3 <= len(draft.scene.objects) <= MAX_OBJECTS
        movable = [obj for obj in draft.objects if obj.furniture is None]
        for one, other in combinations(movable, 2):
            assert not draft.spot(one).overlaps(draft.spot(other), 0.0), (one.name, other.name)


def test_a_noun_belongs_to_one_kind_or_one_object(casts: list[SceneDraft]):
    for draft in casts:
        nouns = Counter(obj.noun for obj in draft.objects)
        assert all(nouns[obj.noun] == 1 for obj in draft.objects if obj.furniture or obj.receptacle)
        for noun in nouns:
            looks = {obj.adjectives for obj in draft.objects if obj.noun == noun}
            assert len(looks) == 1 or () not in looks, "what differs is said of each"


def test_adjectives_are_true(casts: list[SceneDraft]):
    seen = set()
    for draft in casts:
        for obj in draft.objects:
            words, entity = set(obj.adjectives), obj.entity
            seen |= words
            assert ("striped" in words) == (entity.finish.pattern == "stripes")
            assert ("checkered" in words) == (entity.finish.pattern == "checker")
            assert ("speckled" in words) == (entity.finish.pattern == "speckles")
            sizes = sorted(other.entity.size for other in draft.objects if other.noun == obj.noun)
            if words & set(SUPERLATIVES):
                assert len(sizes) == 3 and sizes.index(entity.size) == [*SUPERLATIVES].index(*words)
            else:
                assert ("small" in words) == (entity.size < 1) and ("large" in words) == (entity.size > 1)
            assert (entity.finish.colour is None) == (not words)
    assert {*SUPERLATIVES, "small", "large", "plain", "striped", "checkered", "speckled", "red"} <= seen


def test_a_caddys_left_is_the_cameras_left(some: Callable[[str], SceneDraft]):
    draft = some("caddy")
    compiled = compile_scene(draft.scene, AssetPack())
    world = Simulation(compiled)
    world.reset(world.sample(0))
    caddy = next(obj for obj in draft.objects if obj.noun == "caddy")
    at = {
        part: world.data.site_xpos[compiled.regions[f"{caddy.name}_{part}_contain_region"].site]
        for part in ("left", "right", "front", "back")
    }
    world.close()
    assert at["left"][1] < at["right"][1] and at["front"][0] > at["back"][0]


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
