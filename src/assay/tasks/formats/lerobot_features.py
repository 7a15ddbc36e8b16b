"""Names, shapes and units of a frame in LIBERO's LeRobotDatasets, v3.0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

KEYFRAME_INTERVAL = 2
"""Number of frames between key frames; small because training reads single frames in random order."""
ACTION, STATE = "action", "observation.state"
ACTION_NAMES = ("x", "y", "z", "rx", "ry", "rz", "gripper")
STATE_NAMES = (
    *("x", "y", "z"),
    *("axis_angle_x", "axis_angle_y", "axis_angle_z"),
    *("finger_1", "finger_2"),
)
CAMERAS: Mapping[str, str] = {
    "observation.images.image": "agentview",
    "observation.images.image2": "robot0_eye_in_hand",
}
"""Camera of each image feature that Assay writes."""
FEATURE_NAMES: Mapping[str, tuple[str, ...]] = {
    "agentview": ("observation.images.image", "observation.images.agentview", "image"),
    "robot0_eye_in_hand": (
        "observation.images.image2",
        "observation.images.wrist_image",
        "observation.images.robot0_eye_in_hand",
        "wrist_image",
    ),
    "state": ("observation.state", "state"),
    "action": ("action", "actions"),
}
"""Names that published data sets of LIBERO's robot use for each camera, the state and the action."""
COUNTERS = {
    "timestamp": pl.Float32(),
    "frame_index": pl.Int64(),
    "episode_index": pl.Int64(),
    "index": pl.Int64(),
    "task_index": pl.Int64(),
}
"""Columns with seconds and frames since the start of the episode, and overall indices of episode, frame and task."""
VECTORS = {
    ACTION: pl.Array(pl.Float32, len(ACTION_NAMES)),
    STATE: pl.Array(pl.Float32, len(STATE_NAMES)),
}


def robot_state(observation: Any) -> np.ndarray:
    """Return the robot's state in an observation, in the layout of policies trained on LIBERO: float32, (8,).

    The state consists of the grip site's position in metres, the end effector's orientation as an axis-angle vector in
    radians, and the two finger joints in metres. The angle ranges from 0 to 2 pi, as the quaternion's sign is kept.
    """
    w, axis = observation.eef_quaternion[0], observation.eef_quaternion[1:]
    sine = float(np.linalg.norm(axis))
    turn = axis * (2.0 * np.arctan2(sine, w) / sine) if sine > 0.0 else np.zeros(3)
    return np.concatenate([observation.eef_position, turn, observation.gripper]).astype(np.float32)
