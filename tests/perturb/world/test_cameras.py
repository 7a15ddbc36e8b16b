"""Cameras that are led around what they look at."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from assay.perturb.world import (
    Orbit,
)
from assay.tasks import Task

from .example import TASK, Built, changed


def test_a_camera_on_an_orbit_looks_at_the_same_point_from_elsewhere(built: Built):
    usual = built(TASK).model.camera("agentview")

    def point(task: Task) -> tuple[np.ndarray, float]:
        """Where the middle of the picture meets the table, and how far off."""
        model = built(task).model
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, model.camera("agentview").quat)
        ahead, place = -rotation.reshape(3, 3)[:, 2], model.camera("agentview").pos
        reach = (0.9 - place[2]) / ahead[2]
        assert abs(rotation.reshape(3, 3)[2, 0]) < 1e-3, "it does not roll"
        return place + reach * ahead, float(reach)

    centre, reach = point(TASK)
    for orbit in (Orbit(azimuth=0.5), Orbit(elevation=0.2), Orbit(distance=1.5), Orbit(-0.4, -0.1, 0.8)):
        task = changed(orbit)
        there, far = point(task)
        np.testing.assert_allclose(there, centre, atol=1e-4)
        assert far == pytest.approx(orbit.distance * reach, abs=1e-4)
        moved = built(task).model.camera("agentview").pos - usual.pos
        if orbit.azimuth and not orbit.elevation:
            assert moved[1] * orbit.azimuth > 0 and abs(moved[2]) < 1e-6
        if orbit.elevation > 0:
            assert moved[2] > 0.02 and abs(moved[1]) < 1e-3
