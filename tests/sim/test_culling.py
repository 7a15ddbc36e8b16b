from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay.sim import render
from assay.sim.compile import CompiledScene
from assay.sim.culling import invisible_geoms
from assay.sim.render import CAMERAS
from assay.sim.simulation import Simulation

Compiled = Callable[[str], CompiledScene]


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize("pack", ["compiled", "compiled_libero"])
def test_culling_changes_no_pixel(pack: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    simulation = Simulation(request.getfixturevalue(pack)("libero_goal/0"))
    simulation.reset(simulation.sample(0))
    seen = simulation.step(np.array([1, -1, -1, 1, 0, 1, 1.0]))
    model, data = simulation.model, simulation.data
    for camera in CAMERAS:
        assert invisible_geoms(model, data, model.camera(camera).id, 1.0).sum() > 10
    culled = {camera: seen.image(camera, 96, 64) for camera in CAMERAS}
    monkeypatch.setattr(render, "invisible_geoms", lambda model, *view: np.zeros(model.ngeom, dtype=bool))
    for camera in CAMERAS:
        assert np.array_equal(culled[camera], simulation.renderer.colour(seen.moment, camera, 96, 64))
    simulation.close()


def test_nothing_is_culled_with_shadows(compiled: Compiled):
    simulation = Simulation(compiled("libero_goal/0"))
    simulation.reset(simulation.sample(0))
    simulation.model.light_castshadow[0] = 1
    assert not invisible_geoms(simulation.model, simulation.data, 0, 1.0).any()
