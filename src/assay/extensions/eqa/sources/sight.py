"""What the cameras of our own simulator see of the hand, and which way they look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.sim.bare_mujoco import mujoco
from assay.sim.compose import GRIPPER
from assay.sim.render import Snapshot

TIPS = tuple(f"{GRIPPER}finger_joint{number}_tip" for number in (1, 2))
MARGIN = 0.04
"""A fingertip nearer to the edge than this share of the picture is not in it."""
WAYS = (("right", "left"), ("up", "down"), ("towards the camera", "away from the camera"))
"""Where a camera's own axes, and their opposites, point in its picture."""


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """One camera that stands still."""

    hand_seen: np.ndarray
    """Whether both fingertips are inside its picture, (frames,)."""
    place: str
    """Where it stands, in words."""


def watched(model: mujoco.MjModel, moments: Sequence[Snapshot], cameras: Sequence[str]) -> list[Watched]:
    """What cameras that stand still see, square pictures, of moments of a world."""
    data = mujoco.MjData(model)
    bodies = [model.body(name).id for name in TIPS]
    tips = np.empty((len(moments), len(bodies), 3))
    for number, moment in enumerate(moments):
        data.qpos[:] = moment.qpos
        mujoco.mj_kinematics(model, data)
        tips[number] = data.xpos[bodies]
    mujoco.mj_camlight(model, data)
    found = []
    for name in cameras:
        camera = model.camera(name).id
        axes = data.cam_xmat[camera].reshape(3, 3)
        away = (tips - data.cam_xpos[camera]) @ axes  # right, up, towards the camera
        depth = -away[..., 2]
        reach = depth * np.tan(np.radians(model.cam_fovy[camera]) / 2) * (1 - 2 * MARGIN)
        inside = (np.abs(away[..., :2]) <= reach[..., None]).all(axis=-1) & (depth > 0)
        found.append(Watched(inside.all(axis=-1), described(axes)))
    return found


def described(axes: np.ndarray) -> str:
    """Which way the base's X, Y and Z point in the picture of a camera with these axes (3, 3), in columns."""
    told = []
    for name, along in zip("XYZ", axes, strict=True):
        most = int(np.abs(along).argmax())
        told.append(f"{name} points {WAYS[most][0 if along[most] > 0 else 1]}")
    return f"a camera that stands still, in whose picture {told[0]}, {told[1]} and {told[2]}"
