from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from assay.sim.compile import CompiledScene
from assay.sim.culling import Culling
from assay.sim.render import CAMERAS
from assay.sim.simulation import Simulation

Compiled = Callable[[str], CompiledScene]


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize(
    ("pack", "task"), [("compiled", "libero_goal/0"), ("compiled_libero", "libero_goal/0")]
)
def test_no_pixel_changes(
    pack: str, task: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    simulation = Simulation(request.getfixturevalue(pack)(task))
    simulation.reset(simulation.sample(0))
    seen = simulation.step(np.array([1, -1, -1, 1, 0, 1, 1.0]))
    left_out = {
        camera: Culling(simulation.model)
        .unseen(simulation.data, simulation.model.camera(camera).id, 1.0)
        .sum()
        for camera in CAMERAS
    }
    assert min(left_out.values()) > 10
    drawn = {camera: seen.image(camera, 96, 64) for camera in CAMERAS}
    monkeypatch.setattr(Culling, "unseen", lambda self, data, *view: np.zeros(self._model.ngeom, dtype=bool))
    for camera in CAMERAS:
        whole = simulation.renderer.colour(seen.moment, camera, 96, 64)
        assert np.array_equal(drawn[camera], whole)
    simulation.close()


def test_where_shadows_fall_nothing_is_left_out(compiled: Compiled):
    simulation = Simulation(compiled("libero_goal/0"))
    simulation.reset(simulation.sample(0))
    simulation.model.light_castshadow[0] = 1
    assert not Culling(simulation.model).unseen(simulation.data, 0, 1.0).any()
