"""What cameras see, from boxes: against drawn pictures, in compiled scenes and in planned ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from assay import tasks
from assay.perturb.world.ground import Spot, add_entity
from assay.sim.compile import Boxes, CompiledScene
from assay.sim.packs.registry import planning_pack
from assay.sim.render import CAMERAS, FIRST_ENTITY
from assay.sim.simulation import Simulation
from assay.sim.visibility import (
    IMAGE_PIXELS,
    Viewpoint,
    Visibility,
    measure_visibility,
    newly_hidden,
    planned_visibility,
    seen_now,
)
from assay.tasks import Entity
from assay.tasks.scene import CameraChange, Staging


def box(x: float, half: float, y: float = 0.0) -> Boxes:
    return Boxes(np.array([[x, y, 0.0]]), np.eye(3)[None], np.full((1, 3), half))


EYE = Viewpoint(np.array([1.0, 0.0, 0.0]), np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), 1.0)
"""Looks along -x; the picture is as wide as twice the distance."""


def test_a_box_has_as_many_pixels_as_its_face_takes_of_the_image():
    ((view,),) = measure_visibility({"one": box(0.0, 0.1)}, [], [EYE]).values()
    assert view.fraction == 1 and view.pixels == pytest.approx((IMAGE_PIXELS * 0.1 / 0.9) ** 2, rel=0.05)


def test_what_stands_before_a_object_hides_as_much_of_it_as_it_covers():
    seen = measure_visibility({"behind": box(0.0, 0.1), "before": box(0.3, 0.1, 0.1)}, [], [EYE])
    assert seen["before"][0].fraction == 1
    assert seen["behind"][0].fraction == pytest.approx(0.5, abs=0.05)
    assert measure_visibility({"behind": box(0.0, 0.1)}, [box(0.3, 0.1)], [EYE])["behind"] == [
        Visibility(0.0, 0.0)
    ]


def test_the_image_ends_at_its_edge_and_nothing_behind_the_camera_is_seen():
    half, behind = measure_visibility(
        {"edge": box(0.0, 0.1, 0.99), "behind": box(2.0, 0.1)}, [], [EYE]
    ).values()
    assert half[0].fraction == pytest.approx(0.5, abs=0.1) and behind == [Visibility(0.0, 0.0)]


def test_pixels_are_those_of_a_rendered_segmentation(
    drawing: str, world_of: Callable[[CompiledScene], Simulation], compiled: Callable[[str], CompiledScene]
):
    """In a scene in which one thing stands half behind another."""
    world = world_of(compiled("libero_spatial/3"))
    moment = world.reset(world.sample(0)).moment
    found = seen_now(world)
    assert min(views[0].fraction for views in found.values()) < 0.5
    labels = [entity.name for entity in world.compiled.scene.entities]
    for number, camera in enumerate(CAMERAS):
        picture = world.renderer.segmentation(moment, camera, IMAGE_PIXELS, IMAGE_PIXELS)
        for name, views in found.items():
            pixels = int((picture == FIRST_ENTITY + labels.index(name)).sum())
            assert views[number].pixels == pytest.approx(pixels, rel=0.12, abs=40), (camera, name)


@pytest.mark.parametrize("name", ["libero_goal/1", "libero_10/3", "libero_object/0"])
def test_a_planned_scene_is_seen_as_the_compiled_one(
    name: str, world_of: Callable[[CompiledScene], Simulation], compiled: Callable[[str], CompiledScene]
):
    world = world_of(compiled(name))
    world.reset(world.sample(0))
    there, planned = seen_now(world), planned_visibility(world.compiled.scene, planning_pack())
    assert there.keys() == planned.keys()
    for thing, views in there.items():
        assert planned[thing][0].fraction == pytest.approx(views[0].fraction, abs=0.25), thing
        assert planned[thing][0].pixels == pytest.approx(views[0].pixels, rel=0.35, abs=40), thing


def test_what_is_put_behind_a_cabinet_is_hidden_and_said_so():
    scene = tasks.load("libero_goal/1").scene
    butter = Entity("butter_1", "butter")
    behind, before = (
        add_entity(scene, butter, Spot(x, y, 0.02, 0.04)) for x, y in ((-0.33, -0.33), (0.1, 0.0))
    )
    assert newly_hidden(scene, before) == []
    assert newly_hidden(scene, behind) == ["butter_1"]
    assert newly_hidden(behind, behind) == [], "as hidden as before"


def test_a_camera_that_looks_away_sees_nothing():
    scene = tasks.load("libero_goal/1").scene
    away = tuple(CameraChange(camera, turn=(0.0, 3.0, 0.0)) for camera in CAMERAS)
    turned = replace(scene, staging=Staging(cameras=away))
    assert set(newly_hidden(scene, turned)) == {each.name for each in scene.objects}
