"""Poses of the workspace, the robot and the cameras in each arena, from ``layouts.yaml``.

Positions are in metres in world coordinates; quaternions are (w, x, y, z).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import yaml
from pydantic import TypeAdapter

from assay.tasks.scene import Arena, Scene, Vector3

Quaternion = tuple[float, float, float, float]

HOME = (0.0, -1.61037389e-01, 0.0, -2.44459747e00, 0.0, 2.22675220e00, 0.7853981633974483)
"""Initial joint angles of the arm, in radians."""
HOME_FINGERS = (0.020833, -0.020833)
"""Initial positions of the finger joints in a sampled episode, in metres."""
REGION_HALF_HEIGHT = 0.007
"""Half-thickness of a region on a workspace, in metres."""


class CameraPose(NamedTuple):
    """Pose of a fixed camera."""

    position: Vector3
    quaternion: Quaternion


@dataclass(frozen=True, slots=True)
class ArenaLayout:
    """The fixed geometry of one arena; the fields are described in ``layouts.yaml``."""

    body: str
    offset: Vector3
    region_origin: Vector3
    fixture_height: float
    robot: Vector3
    mounted: bool
    inside: bool
    cameras: dict[str, CameraPose]


LAYOUTS = TypeAdapter(dict[Arena, ArenaLayout]).validate_python(
    yaml.safe_load(Path(__file__).with_name("layouts.yaml").read_text("utf-8"))
)


def layout_of(scene: Scene) -> ArenaLayout:
    """Return the layout of a scene's arena, with the robot and fixtures shifted as the scene specifies."""
    default, staging = LAYOUTS[scene.arena], scene.staging
    (x, y, z), (dx, dy) = default.robot, staging.robot.base
    if not (dx or dy or staging.lift):
        return default
    return replace(default, robot=(x + dx, y + dy, z), fixture_height=default.fixture_height + staging.lift)
