from __future__ import annotations

import copy

import numpy as np
import pytest

from assay.sim.compile import compile_scene
from assay.sim.packs.pack import AssetPack
from assay.sim.placement import CLEARANCE, PlacementScene, RejectedLayoutError
from assay.tasks import Arena, Entity, Scene

LEVEL = (1.0, 0.0, 0.0, 0.0)


@pytest.fixture
def stage(primitives: AssetPack) -> PlacementScene:
    """A kitchen in which nothing has been placed yet."""
    objects = tuple(Entity(f"{name}_1", name) for name in ("plate", "akita_black_bowl", "wine_bottle"))
    cabinet = Entity("wooden_cabinet_1", "wooden_cabinet")
    compiled = compile_scene(Scene(Arena.KITCHEN, (cabinet,), objects, (), ()), primitives)
    return PlacementScene(compiled, copy.copy(compiled.model))


def at(x: float, y: float, z: float = 0.9, quaternion: tuple[float, ...] = LEVEL) -> np.ndarray:
    return np.array([x, y, z, *quaternion])


def test_a_object_is_lowered_to_just_above_the_table(stage: PlacementScene):
    pose = stage.lower("plate_1", at(0.1, 0.1), ceiling=1.05, alone=True)
    assert pose[:2] == pytest.approx((0.1, 0.1)) and pose[3:] == pytest.approx(LEVEL)
    lowest, overlaps = stage.try_pose("plate_1", pose)
    assert lowest == pytest.approx(0.9 + CLEARANCE, abs=1e-3) and not overlaps


def test_there_is_no_room_within_a_fixture(stage: PlacementScene):
    stage.place("wooden_cabinet_1", at(0.0, 0.0, 0.905))
    with pytest.raises(RejectedLayoutError, match="no room for wine_bottle_1") as caught:
        stage.lower("wine_bottle_1", at(0.0, 0.0), ceiling=0.95, alone=True)
    assert caught.value.blamed == ("wine_bottle_1", "wooden_cabinet_1"), "either may go elsewhere"


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
def test_what_does_not_stay_is_refused_and_blamed(stage: PlacementScene, pose: np.ndarray, reason: str):
    stage.place("wine_bottle_1", pose)
    with pytest.raises(RejectedLayoutError, match=reason) as caught:
        stage.settle()
    assert caught.value.blamed == ("wine_bottle_1",)


def test_what_mujoco_gives_up_on_is_refused_and_not_taken_for_rest(stage: PlacementScene):
    for name, y in (("plate_1", 0.0), ("akita_black_bowl_1", 0.2), ("wine_bottle_1", -0.2)):
        stage.place(name, stage.lower(name, at(0.0, y), ceiling=1.05, alone=True))
    stage.place("wooden_cabinet_1", at(0.0, -0.35))
    stage.data.qvel[-1] = 1e11  # MuJoCo puts everything back to zero, at rest
    with pytest.raises(RejectedLayoutError, match="objects fly apart"):
        stage.settle()
