from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from assay.sim import Observation
from assay.tasks.formats.lerobot_features import robot_state


@pytest.fixture
def observation(compiled: Any, world_of: Any) -> Observation:
    world = world_of(compiled("libero_goal/7"))
    return world.reset(world.sample(0))


def test_the_state_is_position_axis_angle_and_fingers(observation: Observation):
    vector = robot_state(observation)
    assert vector.dtype == np.float32 and vector.shape == (8,)
    np.testing.assert_allclose(vector[:3], observation.eef_position, atol=1e-6)
    np.testing.assert_allclose(vector[6:], observation.gripper, atol=1e-6)
    w, x, y, z = observation.eef_quaternion
    turned = Rotation.from_rotvec(vector[3:6]) * Rotation.from_quat([x, y, z, w]).inv()
    assert turned.magnitude() < 1e-5


@pytest.mark.parametrize(
    ("quaternion", "turn"),
    [
        ((1, 0, 0, 0), (0, 0, 0)),
        ((0, 0, 1, 0), (0, np.pi, 0)),
        (
            (-0.5, 0, 0, np.sqrt(0.75)),
            (0, 0, 4 * np.pi / 3),
        ),  # not turned the short way: the sign is LIBERO's
    ],
)
def test_the_angle_runs_to_a_full_turn(observation: Observation, quaternion: Any, turn: Any):
    seen = replace(observation, eef_quaternion=np.array(quaternion, dtype=float))
    np.testing.assert_allclose(robot_state(seen)[3:6], turn, atol=1e-6)
