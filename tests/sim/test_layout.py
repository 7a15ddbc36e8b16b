from __future__ import annotations

import mujoco
import numpy as np
import pytest

from assay.sim.compile import compile_scene
from assay.sim.layout import HOME, LAYOUTS
from assay.sim.packs.pack import AssetPack
from assay.tasks import Arena, Scene


@pytest.mark.parametrize("arena", Arena)
def test_the_camera_sees_the_workspace_and_the_end_effector_above_it(arena: Arena, primitives: AssetPack):
    compiled = compile_scene(Scene(arena, (), (), (), ()), primitives)
    model, data = compiled.model, mujoco.MjData(compiled.model)
    data.qpos[:7] = HOME
    mujoco.mj_forward(model, data)
    camera = model.camera("agentview").id
    reach = np.tan(np.radians(model.cam_fovy[camera]) / 2)
    points = {
        "workspace": np.array(LAYOUTS[arena].offset),
        "hand": data.site_xpos[model.site("gripper0_grip_site").id],
    }
    for name, point in points.items():
        x, y, z = data.cam_xmat[camera].reshape(3, 3).T @ (point - data.cam_xpos[camera])
        assert z < 0, f"the {name} is behind the camera"
        assert abs(x / z) < reach and abs(y / z) < reach, f"the {name} is outside of the picture"
    x, y, z = points["hand"] - points["workspace"]
    assert abs(x) < 0.3 and abs(y) < 0.01 and 0.1 < z < 0.4
