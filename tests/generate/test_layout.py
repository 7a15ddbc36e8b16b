from __future__ import annotations

from collections import Counter
from itertools import combinations

from assay.generate.kit import ROOMS, STOVE
from assay.generate.layout import MOST, Cast, draw
from assay.sim.packs.primitives import PrimitivesPack
from assay.streams import stream
from assay.tasks import Arena


def test_a_scene_hangs_on_its_stream_and_nothing_else():
    categories = PrimitivesPack().categories
    one, other = (draw(stream(3, "a"), Arena.KITCHEN, (STOVE,), categories) for _ in range(2))
    assert one.scene == other.scene and one.things == other.things
    assert draw(stream(4, "a"), Arena.KITCHEN, (STOVE,), categories).scene != one.scene


def test_things_stand_apart_and_there_are_a_few_of_them(casts: list[Cast]):
    for cast in casts:
        assert 3 <= len(cast.scene.objects) <= MOST
        movable = [thing for thing in cast.things if thing.furniture is None]
        for one, other in combinations(movable, 2):
            assert not cast.spot(one).overlaps(cast.spot(other), 0.0), (one.name, other.name)


def test_every_thing_has_doubles_or_a_name_of_its_own(casts: list[Cast]):
    for cast in casts:
        nouns = Counter(thing.noun for thing in cast.things)
        told = [(thing.noun, thing.adjectives) for thing in cast.things if thing.adjectives]
        assert len(set(told)) == len(told)
        assert all(nouns[noun] >= 2 for noun, _ in told)
        assert all(nouns[thing.noun] == 1 for thing in cast.things if thing.furniture or thing.receptacle)


def test_adjectives_are_true(casts: list[Cast]):
    seen = set()
    for cast in casts:
        for thing in cast.things:
            words, entity = set(thing.adjectives), thing.entity
            seen |= words
            assert ("striped" in words) == (entity.finish.pattern == "stripes")
            assert ("checkered" in words) == (entity.finish.pattern == "checker")
            assert ("small" in words) == (entity.size < 1) and ("large" in words) == (entity.size > 1)
            assert (entity.finish.colour is None) == (not words)
    assert {"small", "large", "plain", "striped", "checkered", "red", "blue"} <= seen


def test_all_rooms_and_furniture_are_used(casts: list[Cast]):
    assert {cast.scene.arena for cast in casts} == set(ROOMS)
    furniture = {thing.noun for cast in casts for thing in cast.things if thing.furniture}
    assert furniture == {"cabinet", "stove", "microwave", "rack", "shelf", "caddy"}
