from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from assay.sim import Observation
from assay.sim.render import CAMERAS as DRAWN
from assay.support.images import Orientation
from assay.tasks.formats.lerobot_features import CAMERAS, robot_state
from assay.tasks.formats.lerobot_writer import describe_features


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


def test_the_features_are_those_of_lerobots_libero():
    described = describe_features(256, Orientation.ROTATED)
    assert described["action"]["shape"] == [7] and described["observation.state"]["shape"] == [8]
    assert set(CAMERAS.values()) == set(DRAWN)
    for key in ("observation.images.image", "observation.images.image2"):
        assert described[key]["dtype"] == "video" and described[key]["shape"] == [256, 256, 3]
        assert described[key]["names"] == ["height", "width", "channels"]
    for key in ("frame_index", "episode_index", "index", "task_index"):
        assert described[key] == {"dtype": "int64", "shape": [1], "names": None}
    assert described["timestamp"] == {"dtype": "float32", "shape": [1], "names": None}
