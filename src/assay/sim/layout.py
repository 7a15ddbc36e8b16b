"""Poses of the workspace, the robot and the cameras in each arena.

All numbers are LIBERO's. Positions are metres in world coordinates, quaternions are (w, x, y, z).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from assay.tasks.scene import Arena, Scene

Vector3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]

HOME = (0.0, -1.61037389e-01, 0.0, -2.44459747e00, 0.0, 2.22675220e00, 0.7853981633974483)
"""Initial joint angles of the arm, radians."""

HOME_FINGERS = (0.020833, -0.020833)
"""Initial finger joints of a sampled episode, metres."""


@dataclass(frozen=True, slots=True)
class CameraPose:
    """Pose of a fixed camera."""

    position: Vector3
    quaternion: Quaternion


@dataclass(frozen=True, slots=True)
class ArenaLayout:
    """The fixed geometry of one arena."""

    body: str
    """The body that carries the workspace's regions."""
    offset: Vector3
    """Centre of the workspace's surface, in the world."""
    region_origin: Vector3
    """Position of a region at (0, 0) in ``body``'s frame."""
    fixture_height: float
    """Height of a fixture's origin above ``offset``, metres."""
    robot: Vector3
    """Position of the robot's base in the world."""
    mounted: bool
    """Whether the robot stands on a pedestal."""
    cameras: Mapping[str, CameraPose]
    """Cameras that are moved in the arena's document, or added to it, in this order."""
    inside: bool
    """Whether a sampled object's whole footprint stays inside its region."""


_UPPER = (0.6380177736282349, 0.3048497438430786, 0.30484986305236816, 0.6380177736282349)
_LOWER = (0.6182166934013367, 0.3432307541370392, 0.3432314395904541, 0.6182177066802979)
_FRONT = (0.56, 0.43, 0.43, 0.56)
_GALLERY = CameraPose(
    (2.844547668904445, 2.1279684793440667, 3.128616846013882),
    (0.42261379957199097, 0.23374411463737488, 0.41646939516067505, 0.7702690958976746),
)
_PAPER = (0.513, 0.353, 0.443, 0.645)


def _cameras(**poses: CameraPose) -> Mapping[str, CameraPose]:
    return MappingProxyType(poses)


_TABLE_AGENT = CameraPose((0.6586131746834771, 0.0, 1.6103500240372423), _UPPER)
_TABLE_FRONT = CameraPose((1.0, 0.0, 1.48), _FRONT)


REGION_HALF_HEIGHT = 0.007
"""Half-thickness of a region on a workspace, metres."""

LAYOUTS: Mapping[Arena, ArenaLayout] = MappingProxyType(
    {
        Arena.TABLE: ArenaLayout(
            body="table",
            offset=(0.0, 0.0, 0.90),
            region_origin=(0.0, 0.0, 0.02),
            fixture_height=0.01 - 0.05,
            robot=(-0.16 - 1.0 / 2, 0.0, 0.0),
            mounted=True,
            cameras=_cameras(agentview=_TABLE_AGENT, frontview=_TABLE_FRONT, galleryview=_GALLERY),
            inside=True,
        ),
        Arena.KITCHEN: ArenaLayout(
            body="table",
            offset=(0.0, 0.0, 0.90),
            region_origin=(0.0, 0.0, 0.0),
            fixture_height=0.01 - 0.05,
            robot=(-0.16 - 1.0 / 2, 0.0, 0.0),
            mounted=True,
            cameras=_cameras(
                agentview=_TABLE_AGENT,
                frontview=_TABLE_FRONT,
                galleryview=_GALLERY,
                paperview=CameraPose((2.1, 0.535, 2.075), _PAPER),
            ),
            inside=False,
        ),
        Arena.STUDY: ArenaLayout(
            body="study_table",
            offset=(-0.2, 0.0, 0.867),
            region_origin=(-0.2, 0.0, 0.867),
            fixture_height=0.01 - 0.05,
            robot=(-0.25 - 1.0 / 2, 0.0, 0.0),
            mounted=True,
            cameras=_cameras(
                agentview=CameraPose((0.4586131746834771, 0.0, 1.6103500240372423), _UPPER),
                frontview=_TABLE_FRONT,
                galleryview=_GALLERY,
                paperview=CameraPose((2.1, 0.535, 2.075), _PAPER),
            ),
            inside=False,
        ),
        Arena.LIVING_ROOM: ArenaLayout(
            body="living_room_table",
            offset=(0.0, 0.0, 0.41),
            region_origin=(0.0, 0.0, 0.41),
            fixture_height=0.01 - 0.024,
            robot=(-0.16 - 0.70 / 2, 0.0, 0.42),
            mounted=False,
            cameras=_cameras(
                agentview=CameraPose((0.6065773716836134, 0.0, 0.96), _LOWER),
                frontview=CameraPose((1.5, 0.0, 0.9), _FRONT),
                galleryview=_GALLERY,
                paperview=CameraPose((2.1, 0.735, 1.875), _PAPER),
            ),
            inside=False,
        ),
        Arena.FLOOR: ArenaLayout(
            body="floor",
            offset=(0.0, 0.0, -0.035),
            region_origin=(0.0, 0.0, 0.02),
            fixture_height=-0.025,
            robot=(-0.6, 0.0, 0.0),
            mounted=False,
            cameras=_cameras(
                agentview=CameraPose((0.8965773716836134, 5.216182733499864e-07, 0.65), _LOWER),
                frontview=CameraPose((1.0, 0.0, 0.65), _FRONT),
                galleryview=_GALLERY,
            ),
            inside=True,
        ),
        Arena.COFFEE_TABLE: ArenaLayout(
            body="coffee_table",
            offset=(0.0, 0.0, 0.41),
            region_origin=(0.0, 0.0, 0.02),
            fixture_height=0.01 - 0.024,
            robot=(-0.16 - 0.70 / 2, 0.0, 0.41),
            mounted=False,
            cameras=_cameras(
                agentview=CameraPose((1.5, 0.0, 0.9), _FRONT),
                galleryview=_GALLERY,
                canonical_agentview=CameraPose((0.5386131746834771, 0.0, 0.7903500240372423), _UPPER),
            ),
            inside=True,
        ),
    }
)


def layout_of(scene: Scene) -> ArenaLayout:
    """The layout of a scene's arena, with the robot and fixtures shifted by its staging."""
    usual, staging = LAYOUTS[scene.arena], scene.staging
    (x, y, z), (dx, dy) = usual.robot, staging.robot.base
    if not (dx or dy or staging.lift):
        return usual
    return replace(usual, robot=(x + dx, y + dy, z), fixture_height=usual.fixture_height + staging.lift)
