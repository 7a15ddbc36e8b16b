"""What can be told apart by its looks, from pictures that need no GL, and whether those are like drawn ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from assay.sim.compile import compile_scene
from assay.sim.packs.pack import AssetPack
from assay.sim.portraits import PATTERN, alike, difference, portrait
from assay.sim.simulation import Simulation
from assay.sim.visibility import IMAGE_PIXELS
from assay.tasks import Arena, Atom, Entity, Predicate, Rectangle, Region, Scene
from assay.tasks.scene import Finish, Pattern

KINDS = (
    "akita_black_bowl",
    "porcelain_mug",
    "alphabet_soup",
    "cookies",
    "wine_bottle",
    "black_book",
    "plate",
)
GREEN, PINK = (0.15, 0.55, 0.20), (0.95, 0.55, 0.70)
NAMED = (None, Pattern.STRIPES, Pattern.CHECKER, Pattern.SPECKLES, Pattern.WAVY, Pattern.GRID)


@pytest.mark.parametrize("colour", [GREEN, PINK])
@pytest.mark.parametrize("category", KINDS)
def test_every_two_patterns_can_be_distinguished_on_every_shape(
    category: str, colour: tuple[float, float, float], primitives: AssetPack
):
    things = [Entity(f"thing_{n}", category, Finish(colour, each)) for n, each in enumerate(NAMED)]
    for one, other in combinations(things, 2):
        found = difference(one, other, primitives)
        assert found.pattern >= PATTERN and found.size == 1, (
            f"{one.finish.pattern} {other.finish.pattern} {found}"
        )


def test_what_differs_too_little_is_named(primitives: AssetPack):
    red = Entity("red_1", "cookies", Finish((0.80, 0.12, 0.12)))
    almost = replace(red, name="red_2", finish=Finish((0.78, 0.13, 0.12)))
    blue = replace(red, name="blue_1", finish=Finish((0.12, 0.32, 0.80)))
    assert alike([red, blue], primitives) is None
    found = alike([blue, red, almost], primitives)
    assert found is not None and found[:2] == (red, almost)
    assert str(found[2]).startswith("colours differ by 2 (minimum 12), patterns by 2 (12), outlines by 0.00")


def test_a_pattern_that_is_as_fine_as_the_image_tells_nothing_apart(
    primitives: AssetPack, monkeypatch: pytest.MonkeyPatch
):
    striped = Entity("a_1", "butter", Finish(GREEN, Pattern.STRIPES))
    checkered = replace(striped, finish=Finish(GREEN, Pattern.CHECKER))
    assert difference(striped, checkered, primitives).is_distinguishable
    monkeypatch.setattr("assay.sim.texture_coordinates.TILES", (0.002, 0.002))
    monkeypatch.setattr("assay.sim.texture_coordinates.MAX_TILES", 10**6)
    portrait.cache_clear()
    assert not difference(striped, checkered, primitives).is_distinguishable
    portrait.cache_clear()


@pytest.mark.parametrize(("sizes", "told"), [((0.78, 1.15), True), ((1.0, 1.05), False)])
def test_sizes_are_distinguished_by_how_many_pixels_they_take(
    sizes: tuple[float, float], told: bool, primitives: AssetPack
):
    small, large = (Entity("bowl_1", "akita_black_bowl", size=size) for size in sizes)
    found = difference(small, large, primitives)
    assert found.is_distinguishable == told and found.colour < 1 and found.outline == 0
    assert found.size == pytest.approx((sizes[1] / sizes[0]) ** 2, rel=0.1)


def test_shapes_are_distinguished_by_their_outlines_and_handles_on_the_other_side_are_not(
    primitives: AssetPack,
):
    cube, cylinder, mug, turned = (
        Entity("thing_1", category)
        for category in ("cube", "cylinder", "porcelain_mug", "white_porcelain_mug")
    )
    shapes, mugs = difference(cube, cylinder, primitives), difference(mug, turned, primitives)
    assert shapes.is_distinguishable and shapes.colour < 5 and shapes.pattern < 5 < 100 * shapes.outline
    assert not mugs.is_distinguishable


@pytest.mark.parametrize(
    ("category", "pattern"),
    [("alphabet_soup", None), ("akita_black_bowl", Pattern.STRIPES), ("cookies", Pattern.SPECKLES)],
)
def test_a_portrait_is_like_the_rendered_image(
    category: str, pattern: Pattern | None, drawing: str, primitives: AssetPack
):
    """As large, and light and dark in the same places."""
    entity = Entity("thing_1", category, Finish(GREEN, pattern) if pattern else Finish())
    place = Region("thing_init_region", "main_table", (Rectangle(0.0, 0.0, 0.0, 0.0),))
    scene = Scene(Arena.TABLE, (), (entity,), (place,), (Atom(Predicate.ON, ("thing_1", place.full_name)),))
    world = Simulation(compile_scene(scene, primitives))
    moment = world.reset(world.sample(0)).moment
    picture = world.renderer.colour(moment, "agentview", IMAGE_PIXELS, IMAGE_PIXELS).mean(axis=2)
    mask = world.renderer.segmentation(moment, "agentview", IMAGE_PIXELS, IMAGE_PIXELS) == 2
    world.close()
    found = portrait(entity, primitives)
    rows, columns = np.nonzero(mask)
    assert mask.sum() == pytest.approx(found.pixels, rel=0.08)
    top, left = rows.min(), columns.min()
    height, width = found.cover.shape
    best = max(
        _correlation(
            picture[top + dy : top + dy + height, left + dx : left + dx + width],
            found.colour.mean(axis=2),
            found.cover > 0.99,
        )
        for dy in (-1, 0, 1)
        for dx in (-1, 0, 1)
    )
    assert best > 0.8


def _correlation(one: np.ndarray, other: np.ndarray, where: np.ndarray) -> float:
    return float(np.corrcoef(one[where], other[where])[0, 1])
