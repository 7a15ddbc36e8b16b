from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from assay.sim.compile import CompiledScene, compile_scene
from assay.sim.packs.pack import AssetPack
from assay.sim.placement import CLEARANCE, PlacementScene, RejectedLayoutError
from assay.tasks import Arena, Entity, Region, Scene

LEVEL = (1.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def staged(primitives: AssetPack) -> Callable[..., PlacementScene]:
    """A stage of a kitchen for some things, none of which is put anywhere yet."""

    @cache
    def compiled(*categories: str) -> CompiledScene:
        things: dict[bool, tuple[Entity, ...]] = {True: (), False: ()}
        for category in categories:
            kind = category in ("wooden_cabinet", "flat_stove")
            things[kind] = (*things[kind], Entity(f"{category}_1", category))
        regions = tuple(
            Region("top_region", f"{each.name}") for each in things[True] if each.category == "wooden_cabinet"
        )
        return compile_scene(Scene(Arena.KITCHEN, things[True], things[False], regions, ()), primitives)

    return lambda *categories: PlacementScene(scene := compiled(*categories), copy.copy(scene.model))


@pytest.fixture
def stage(staged: Callable[..., PlacementScene]) -> PlacementScene:
    return staged("plate", "akita_black_bowl", "wine_bottle", "wooden_cabinet")


def at(x: float, y: float, z: float = 0.9, quaternion: tuple[float, ...] = LEVEL) -> np.ndarray:
    return np.array([x, y, z, *quaternion])


def alone(stage: PlacementScene, name: str, x: float, y: float) -> np.ndarray:
    """Put something on the table; returns where."""
    pose = stage.lower(name, at(x, y), ceiling=1.05, alone=True)
    stage.place(name, pose)
    return pose


def test_objects_that_wait_touch_nothing(staged: Callable[..., PlacementScene]):
    stage = staged("plate", "akita_black_bowl", "wine_bottle", "butter", "wooden_cabinet", "flat_stove")
    things = {
        geom
        for geom in range(stage.model.ngeom)
        if stage.model.geom(geom).name.split("_1_")[0]
        in ("plate", "akita_black_bowl", "wine_bottle", "butter")
    }
    assert len(things) > 20
    pairs = stage.data.contact.geom[: stage.data.ncon]
    assert not [pair for pair in pairs.tolist() if things & set(pair)]


def test_a_object_is_lowered_to_just_above_the_table(stage: PlacementScene):
    pose = stage.lower("plate_1", at(0.1, 0.1), ceiling=1.05, alone=True)
    assert pose[:2] == pytest.approx((0.1, 0.1)) and pose[3:] == pytest.approx(LEVEL)
    lowest, overlaps = stage.try_pose("plate_1", pose)
    assert lowest == pytest.approx(0.9 + CLEARANCE, abs=1e-3) and not overlaps


def test_a_object_is_lowered_onto_what_is_there(stage: PlacementScene):
    plate = alone(stage, "plate_1", 0.1, 0.1)
    bowl = stage.lower("akita_black_bowl_1", at(0.1, 0.1), ceiling=1.2, alone=False)
    assert bowl[2] > plate[2] and not stage.try_pose("akita_black_bowl_1", bowl)[1]


def test_alone_means_that_other_objects_do_not_count(stage: PlacementScene):
    alone(stage, "plate_1", 0.1, 0.1)
    bowl = stage.lower("akita_black_bowl_1", at(0.1, 0.1), ceiling=1.2, alone=True)
    assert stage.try_pose("akita_black_bowl_1", bowl)[1] == {"plate_1"}
    assert "plate_1" in stage.poses
    assert stage.try_pose("akita_black_bowl_1", bowl)[1] == {"plate_1"}, "looking changes nothing"


def test_there_is_no_room_within_a_fixture(stage: PlacementScene):
    stage.place("wooden_cabinet_1", at(0.0, 0.0, 0.905))
    with pytest.raises(RejectedLayoutError, match="no room for wine_bottle_1") as caught:
        stage.lower("wine_bottle_1", at(0.0, 0.0), ceiling=0.95, alone=True)
    assert caught.value.blamed == ("wine_bottle_1", "wooden_cabinet_1"), "either may go elsewhere"


def test_what_is_put_down_settles_where_it_is(staged: Callable[..., PlacementScene]):
    stage = staged("plate")
    pose = alone(stage, "plate_1", 0.1, 0.1)
    vector, _ = stage.settle()
    model = stage.model
    first = 1 + int(model.joint("plate_1_joint0").qposadr[0])
    assert vector[first : first + 3] == pytest.approx(pose[:3], abs=4e-3)
    assert (vector[1 + model.nq :] == 0).all()


@pytest.mark.parametrize(
    ("pose", "reason"),
    [
        pytest.param(at(0.1, 0.1, 1.0), "while it settles", id="in the air"),
        pytest.param(
            at(0.1, 0.1, 0.98, (0.92388, 0.38268, 0.0, 0.0)), "tilts|while it settles", id="leaning"
        ),
        pytest.param(at(0.51, 0.1, 0.902), "tilts|while it settles", id="over the edge"),
    ],
)
def test_what_does_not_stay_is_refused_and_blamed(
    staged: Callable[..., PlacementScene], pose: np.ndarray, reason: str
):
    stage = staged("wine_bottle")
    stage.place("wine_bottle_1", pose)
    with pytest.raises(RejectedLayoutError, match=reason) as caught:
        stage.settle()
    assert caught.value.blamed == ("wine_bottle_1",)


def test_drawers_can_be_opened_before_anything_is_put(stage: PlacementScene):
    stage.place("wooden_cabinet_1", at(0.0, -0.2, 0.905))
    site = stage.model.site("wooden_cabinet_1_top_region").id
    before, half = stage.region_box(site)
    stage.set_joint(stage.model.joint("wooden_cabinet_1_top_level").id, -0.15)
    after, _ = stage.region_box(site)
    assert np.linalg.norm(after - before) == pytest.approx(0.15)
    assert (half > 0).all()


def test_fixtures_that_nobody_puts_are_where_their_asset_has_them(staged: Callable[..., PlacementScene]):
    stage = staged("wooden_cabinet", "flat_stove")
    stage.place("wooden_cabinet_1", at(0.0, -0.4, 0.905))
    _, fixtures = stage.settle()
    assert fixtures[0] == pytest.approx(at(0.0, -0.4, 0.905))
    assert fixtures[1] == pytest.approx(at(0.0, 0.0, 0.0))


def test_what_mujoco_gives_up_on_is_refused_and_not_taken_for_rest(stage: PlacementScene):
    for name, y in (("plate_1", 0.0), ("akita_black_bowl_1", 0.2), ("wine_bottle_1", -0.2)):
        alone(stage, name, 0.0, y)
    stage.place("wooden_cabinet_1", at(0.0, -0.35))
    stage.data.qvel[-1] = 1e11  # MuJoCo puts everything back to zero, at rest
    with pytest.raises(RejectedLayoutError, match="objects fly apart"):
        stage.settle()
