from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from xml.etree.ElementTree import Element

import mujoco
import numpy as np
import pytest

from assay import tasks
from assay.errors import AssayError, AssetError, TaskError
from assay.sim.compile import CompiledScene, bounding_box, compile_scene
from assay.sim.packs.pack import AssetPack
from assay.tasks import Entity, Rectangle, Region

Compiled = Callable[[str], CompiledScene]


def test_a_movable_object_with_a_door_has_its_free_joint_last(primitives: AssetPack):
    scene = tasks.Scene(tasks.Arena.KITCHEN, (), (Entity("microwave_1", "microwave"),), (), ())
    result = compile_scene(scene, primitives)
    oven = result.entities["microwave_1"]
    assert oven.movable
    assert [result.model.joint(joint).name for joint in oven.joints] == [
        "microwave_1_microjoint",
        "microwave_1_joint0",
    ]
    assert oven.inner_joints == oven.joints[:1]


def test_a_drawers_region_moves_with_its_own_joint(compiled: Compiled):
    result = compiled("libero_goal/0")
    data = mujoco.MjData(result.model)
    for level in ("top", "middle", "bottom"):
        region = result.regions[f"wooden_cabinet_1_{level}_region"]
        assert region.parent == "wooden_cabinet_1" and len(region.inner_joints) == 1
        mujoco.mj_resetData(result.model, data)
        mujoco.mj_kinematics(result.model, data)
        before = data.site_xpos[region.site].copy()
        data.qpos[result.model.jnt_qposadr[region.inner_joints[0]]] = -0.1
        mujoco.mj_kinematics(result.model, data)
        assert np.linalg.norm(data.site_xpos[region.site] - before) == pytest.approx(0.1)


def test_an_unknown_region_is_answered_with_the_nearest(primitives: AssetPack):
    scene = tasks.load("libero_goal/0").scene
    odd = replace(scene, regions=(*scene.regions, Region("tpo_region", "wooden_cabinet_1")))
    with pytest.raises(TaskError, match=r"did you mean 'wooden_cabinet_1_top_region'\?") as caught:
        compile_scene(odd, primitives)
    assert "wooden_cabinet" in str(caught.value) and "\n" not in str(caught.value)


class Broken(AssetPack):
    """A pack with a part that MuJoCo refuses, or that says nothing about its size."""

    def __init__(self, *, lacks_sites: bool) -> None:
        super().__init__()
        self._lacks_sites = lacks_sites

    def entity(self, category: str) -> Element:
        part = super().entity(category)
        if category == "plate" and self._lacks_sites:
            outer = part.find("./worldbody/body")
            assert outer is not None
            for site in outer.findall("site"):
                outer.remove(site)
        elif category == "plate":
            next(part.iter("geom")).set("type", "dodecahedron")
        return part


@pytest.mark.parametrize(("lacks_sites", "word"), [(False, "dodecahedron"), (True, "plate has no site")])
def test_a_part_that_is_no_good_is_one_line(lacks_sites: bool, word: str):
    with pytest.raises(AssetError) as caught:
        compile_scene(tasks.load("libero_goal/0").scene, Broken(lacks_sites=lacks_sites))
    message = str(caught.value)
    assert "\n" not in message and "primitives" in message
    assert word in message or "geom" in message


def test_a_region_without_area_is_a_place_too(primitives: AssetPack):
    # A way to say that something stands exactly there; MuJoCo wants a site with a size.
    scene = tasks.load("libero_goal/0").scene
    point = Region("point", "main_table", (Rectangle(0.1, 0.1, 0.1, 0.1),))
    result = compile_scene(replace(scene, regions=(*scene.regions, point)), primitives)
    assert "main_table_point" in result.regions


def test_two_objects_with_one_name_are_refused(primitives: AssetPack):
    scene = tasks.load("libero_goal/0").scene
    odd = replace(scene, objects=(*scene.objects, Entity("plate_1", "plate")))
    with pytest.raises(AssayError):
        compile_scene(odd, primitives)


def test_a_bounding_box_contains_the_corners_of_a_turned_object(compiled: Compiled):
    result = compiled("libero_10/2")
    model, data = result.model, mujoco.MjData(result.model)
    rng = np.random.default_rng(1)
    for entity in result.entities.values():
        if not entity.movable:
            continue
        start = model.jnt_qposadr[entity.joints[-1]]
        data.qpos[start + 3 : start + 7] = rng.normal(size=4)
    mujoco.mj_normalizeQuat(model, data.qpos)
    mujoco.mj_kinematics(model, data)
    for entity in result.entities.values():
        low, high = bounding_box(model, data, entity.geoms)
        corners = [
            data.geom_xpos[geom]
            + (model.geom_aabb[geom, :3] + model.geom_aabb[geom, 3:] * signs)
            @ data.geom_xmat[geom].reshape(3, 3).T
            for geom in entity.geoms
            for signs in product((-1, 1), repeat=3)
        ]
        np.testing.assert_allclose((low, high), (np.min(corners, axis=0), np.max(corners, axis=0)), atol=1e-9)
