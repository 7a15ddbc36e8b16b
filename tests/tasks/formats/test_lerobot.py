from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from assay.sim import Observation
from assay.support.images import Orientation
from assay.support.streams import stream
from assay.tasks.formats import ReleaseError
from assay.tasks.formats.lerobot import LerobotFolder, robot_state
from assay.tasks.formats.lerobot_writer import (
    QUANTILES,
    ImageStats,
    combine_stats,
    describe_features,
    describe_values,
)


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
        ((-0.5, 0, 0, np.sqrt(0.75)), (0, 0, 4 * np.pi / 3)),  # LIBERO keeps the quaternion's sign
    ],
)
def test_the_angle_runs_to_a_full_turn(observation: Observation, quaternion: Any, turn: Any):
    seen = replace(observation, eef_quaternion=np.array(quaternion, dtype=float))
    np.testing.assert_allclose(robot_state(seen)[3:6], turn, atol=1e-6)


@pytest.mark.parametrize("field", ["data_path", "video_path"])
@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("data/{episode_index:02000000000d}.parquet", "at most four digits"),
        ("data/{episode_index:.20000d}.parquet", "at most four digits"),
        ("data/{episode_index:{episode_index}d}.parquet", "at most four digits"),
        ("data/{episode_index!r}.parquet", "at most four digits"),
        ("data/{episode_index.__class__}.parquet", "unknown field"),
        ("data/{episode}.parquet", "unknown field 'episode'; valid fields: chunk_index"),
        ("data/{episode_index.parquet", "expected '}'"),
        ("{episode_index:9999}" * 51, "1000 characters"),
    ],
)
def test_file_name_templates_have_known_fields_of_limited_width(
    tmp_path: Path, field: str, template: str, reason: str
):
    info = {"codebase_version": "v2.1", "fps": 10, "features": {}, field: template}
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta/info.json").write_text(json.dumps(info))
    with pytest.raises(ReleaseError, match=f"info.json.*{field}.*{reason}"):
        LerobotFolder(tmp_path)


def test_statistics_are_per_dimension():
    values = stream(0, "stats").normal(size=(500, 3)).astype(np.float32)
    stats = describe_values(values)
    np.testing.assert_allclose(stats["mean"], values.mean(axis=0), rtol=1e-4)
    np.testing.assert_allclose(stats["std"], values.std(axis=0), rtol=1e-5)
    np.testing.assert_array_equal(stats["max"], values.max(axis=0))
    np.testing.assert_allclose(stats["q90"], np.quantile(values, 0.9, axis=0), rtol=1e-6)
    assert stats["count"].tolist() == [500]


def test_image_statistics_cover_all_pixels():
    pictures = stream(0, "pictures").integers(10, 200, size=(7, 9, 11, 3)).astype(np.uint8)
    pictures[..., 2] //= 2
    counted = ImageStats()
    for picture in pictures:
        counted.add(picture)
    stats = counted.result()
    shares = pictures.reshape(-1, 3) / 255.0
    for name, expected in (
        ("min", shares.min(axis=0)),
        ("max", shares.max(axis=0)),
        ("mean", shares.mean(axis=0)),
        ("std", shares.std(axis=0)),
        *((name, np.quantile(shares, share, axis=0)) for name, share in QUANTILES.items()),
    ):
        assert stats[name].shape == (3, 1, 1)
        np.testing.assert_allclose(
            stats[name].ravel(), expected, atol=1.01 / 255 if name[0] == "q" else 1e-12
        )
    assert stats["count"].tolist() == [7]


def test_statistics_of_parts_join_to_those_of_the_whole():
    values = stream(0, "joined").normal(size=(300, 2)) * (1.0, 7.0)
    whole = describe_values(values)
    both = combine_stats([describe_values(values[:60]), describe_values(values[60:])])
    for name in ("min", "max", "mean", "std", "count"):
        np.testing.assert_allclose(both[name], whole[name], rtol=1e-12)
    assert both["q50"] == pytest.approx(whole["q50"], abs=0.5)


def test_features_have_the_schema_of_lerobots_libero():
    features = describe_features(256, Orientation.ROTATED, {})
    assert features["action"]["shape"] == [7] and features["observation.state"]["shape"] == [8]
    for key in ("observation.images.image", "observation.images.image2"):
        assert (features[key]["dtype"], features[key]["shape"]) == ("video", [256, 256, 3])
        assert features[key]["names"] == ["height", "width", "channels"]
    for key in ("frame_index", "episode_index", "index", "task_index"):
        assert features[key] == {"dtype": "int64", "shape": [1], "names": None}
    assert features["timestamp"] == {"dtype": "float32", "shape": [1], "names": None}
