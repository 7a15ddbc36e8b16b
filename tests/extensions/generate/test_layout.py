from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations

from assay.extensions.generate.kit import FURNITURE, SUPERLATIVES, load_composition
from assay.extensions.generate.layout import MAX_OBJECTS, SceneDraft, draw
from assay.sim import Simulation, compile_scene
from assay.sim.packs.pack import AssetPack
from assay.support.streams import stream
from assay.tasks import Arena

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


def test_all_rooms_and_furniture_are_used(casts: list[SceneDraft]):
    assert {draft.scene.arena for draft in casts} == set(EVEN.rooms)
    furniture = {obj.noun for draft in casts for obj in draft.objects if obj.furniture}
    assert furniture == {"cabinet", "stove", "microwave", "rack", "shelf", "caddy"}


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
