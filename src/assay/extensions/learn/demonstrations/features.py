"""What a frame of a demonstration holds, in the names and shapes of LeRobotDataset v3.0."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import polars as pl

from assay.policies.remote.pictures import Orientation
from assay.sim import Observation
from assay.sim.simulation import ACTION_SIZE, CONTROL_HZ
from assay.support.video import ENCODER
from assay.tasks.formats.lerobot import ORIENTATION

FPS = CONTROL_HZ
KEYFRAMES = 2
"""Every so many pictures one stands on its own: training reads single pictures in any order."""

ACTION, STATE = "action", "observation.state"
ACTION_NAMES = ("x", "y", "z", "rx", "ry", "rz", "gripper")
STATE_NAMES = (
    *("x", "y", "z"),
    *("axis_angle_x", "axis_angle_y", "axis_angle_z"),
    *("finger_1", "finger_2"),
)
CAMERAS: Mapping[str, str] = MappingProxyType(
    {"observation.images.image": "agentview", "observation.images.image2": "robot0_eye_in_hand"}
)
"""Which camera each picture comes from."""

COUNTERS = {
    "timestamp": pl.Float32(),
    "frame_index": pl.Int64(),
    "episode_index": pl.Int64(),
    "index": pl.Int64(),
    "task_index": pl.Int64(),
}
"""Where a frame is: seconds and frames since its episode began, and which episode, frame and task of all."""
VECTORS = {ACTION: pl.Array(pl.Float32, ACTION_SIZE), STATE: pl.Array(pl.Float32, len(STATE_NAMES))}


def features(size: int, orientation: Orientation) -> dict[str, dict[str, object]]:
    """The features of a dataset with pictures of ``size`` x ``size``, as ``meta/info.json`` has them.

    The orientation is among what is said of each camera: LeRobot keeps that, and drops fields of the whole that it
    does not know.
    """
    video = {
        "video.height": size,
        "video.width": size,
        "video.codec": "h264",
        "video.pix_fmt": "yuv420p",
        "video.fps": FPS,
        "video.channels": 3,
        "video.g": KEYFRAMES,
        "video.crf": int(ENCODER["crf"]),
        "is_depth_map": False,
        "has_audio": False,
        ORIENTATION: orientation.value,
    }
    return {
        ACTION: _vector(ACTION_NAMES),
        STATE: _vector(STATE_NAMES),
        **{
            key: {
                "dtype": "video",
                "shape": [size, size, 3],
                "names": ["height", "width", "channels"],
                "info": video,
            }
            for key in CAMERAS
        },
        **{key: scalar(dtype) for key, dtype in COUNTERS.items()},
    }


def scalar(dtype: pl.DataType) -> dict[str, object]:
    """A feature of one number."""
    name = "bool" if dtype == pl.Boolean else str(dtype).lower()
    return {"dtype": name, "shape": [1], "names": None}


def state(observation: Observation) -> np.ndarray:
    """The robot's state as policies trained on LIBERO know it: float32, (8,).

    The grip site's position, metres; the hand's orientation as axis times angle, radians; the two finger
    joints, metres. The angle runs from 0 to 2 pi, for the quaternion's sign is kept.
    """
    w, axis = observation.eef_quaternion[0], observation.eef_quaternion[1:]
    sine = float(np.linalg.norm(axis))
    turn = axis * (2.0 * np.arctan2(sine, w) / sine) if sine > 0.0 else np.zeros(3)
    return np.concatenate([observation.eef_position, turn, observation.gripper]).astype(np.float32)


def _vector(names: tuple[str, ...]) -> dict[str, object]:
    return {"dtype": "float32", "shape": [len(names)], "names": list(names)}
