"""Conventions of policy servers: names, images, state, gripper and timing; one frozen instance per kind of server."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from functools import lru_cache
from typing import Annotated, get_type_hints

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from assay.episodes.rollout import MAX_CHUNK
from assay.errors import PolicyError, plain_reason
from assay.sim import Observation
from assay.support.images import Orientation, letterbox, orient

STATE_SIZE = 8
"""Length of the default state: position 3, rotation vector 3, finger joints 2."""
ACTION_SIZE = 7
GRIP_SITE_ROTATION = np.array([0.0, 0.0, -math.pi / 2])
"""Rotation vector of the grip site in the end effector's frame, in radians."""

Replan = Annotated[int, Field(ge=1, le=MAX_CHUNK)] | None
Pixels = Annotated[int, Field(ge=16, le=2048)]
Steps = Annotated[int, Field(ge=0, le=MAX_CHUNK)]


class Sign(IntEnum):
    """Sign of a number, 1 or -1."""

    PLUS = 1
    MINUS = -1


class Layout(StrEnum):
    """Contents of the state, and their order."""

    END_EFFECTOR = "hand"
    """Position of the grip site (3), orientation of the end effector (3 or 4), and the two finger joints."""
    FINGERS_FIRST = "fingers-first"
    """The two finger joints, position and orientation: LIBERO's ``robot_states``, with ``rotation=xyzw``."""
    JOINTS = "joints"
    """The arm's seven joint angles and the two finger joints."""
    NONE = "none"
    """No state is sent."""


class Gripper(StrEnum):
    """Range of an action's gripper component, as transmitted."""

    SIGNED = "signed"
    """-1 to 1, as in LIBERO."""
    UNIT = "unit"
    """0 to 1, as in RLDS datasets; 0.5 is neither open nor closed."""


class Rotation(StrEnum):
    """Representation of the end effector's orientation on the wire.

    A quaternion and its negative are the same orientation, but their rotation vectors differ. LIBERO's gripper points
    down, half a turn from the world's axes, so the scalar part is near zero and may have either sign.
    """

    ROBOSUITE = "robosuite"
    """Rotation vector that keeps the quaternion's sign: angles from 0 to 2 pi, as in LIBERO's demonstrations."""
    SHORTEST = "shortest"
    """Rotation vector of the quaternion, negated if its scalar part is negative: angles from 0 to pi."""
    XYZW = "xyzw"
    """Quaternion, scalar last, with its sign kept, as in robosuite's ``robot0_eef_quat``."""
    WXYZ = "wxyz"
    """Quaternion, scalar first, with its sign kept, as in MuJoCo."""
    EULER = "euler"
    """Roll, pitch and yaw about the fixed world axes x, y and z, in radians."""


THREE_NUMBERS = (Rotation.ROBOSUITE, Rotation.SHORTEST, Rotation.EULER)
"""Representations that consist of three numbers."""


def encode_rotation(quaternion: np.ndarray, rotation: Rotation) -> np.ndarray:
    """Convert a unit quaternion (w, x, y, z) to a representation of shape (3,) or (4,)."""
    match rotation:
        case Rotation.XYZW:
            return np.roll(quaternion, -1)
        case Rotation.WXYZ:
            return quaternion
        case Rotation.EULER:
            from scipy.spatial.transform import Rotation as SciPyRotation  # slow to import

            return np.asarray(SciPyRotation.from_quat(quaternion, scalar_first=True).as_euler("xyz"))
    scalar, vector = quaternion[0], quaternion[1:]
    if rotation is Rotation.SHORTEST and scalar < 0.0:
        scalar, vector = -scalar, -vector
    scalar = min(max(float(scalar), -1.0), 1.0)
    sine = math.sqrt(1.0 - scalar * scalar)
    return np.zeros(3) if sine == 0.0 else vector * 2.0 * math.acos(scalar) / sine


def controller_state(observation: Observation) -> np.ndarray:
    """Return the state, shape (8,) float32, with the orientation of the grip site, which the controller moves."""
    from scipy.spatial.transform import Rotation as SciPyRotation  # slow to import

    body = SciPyRotation.from_quat(observation.eef_quaternion, scalar_first=True)
    rotation = (body * SciPyRotation.from_rotvec(GRIP_SITE_ROTATION)).as_rotvec()
    return np.concatenate([observation.eef_position, rotation, observation.gripper]).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Convention:
    """Encoding of observations and actions for one kind of server."""

    cameras: tuple[tuple[str, str], ...]
    """Cameras and their names on the wire."""
    state: str | None
    """Name of the state on the wire; None if no state is sent.

    The end effector is the body whose orientation robosuite reports as ``robot0_eef_quat``. The grip site, which
    the controller moves, is rotated relative to it.
    """
    prompt: str
    """Name of the instruction on the wire."""
    render_size: Pixels = 256
    """Height and width at which images are rendered, in pixels; LIBERO's default is 256."""
    size: Pixels = 256
    """Height and width at which images are sent, in pixels."""
    orientation: Orientation = Orientation.ROTATED
    layout: Layout = Layout.END_EFFECTOR
    rotation: Rotation = Rotation.ROBOSUITE
    gripper: Gripper = Gripper.SIGNED
    closes: Sign = Sign.PLUS
    """Sign of the transmitted gripper component that closes the gripper; in Assay's actions, it is positive.

    For components from 0 to 1, this is the sign of their difference from 0.5.
    """
    binary: bool = False
    """Whether the gripper component is rounded to -1 or 1 (0 becomes 1) before it is executed."""
    absolute: bool = False
    """Whether an action is a target pose of the grip site: position, in metres, and rotation vector, in radians."""
    replan: Replan = None
    """Number of actions executed from each reply; None for all."""
    wait: Steps = 10
    """Number of steps at the start in which the robot lets objects settle, and no actions are requested."""

    def adjusted(self, fields: Mapping[str, object]) -> Convention:
        """Return the convention with some of its fields replaced."""
        return replace(self, **fields)  # type: ignore[arg-type]

    def images(self, observation: Observation) -> dict[str, np.ndarray]:
        """Render the images, (size, size, 3) uint8, by their names on the wire."""
        return {
            wire: _render(observation, camera, self.render_size, self.orientation, self.size).copy()
            for camera, wire in self.cameras
        }

    def states(self, observation: Observation) -> dict[str, np.ndarray]:
        """Return the state by its name on the wire; empty if no state is sent."""
        if self.state is None or self.layout is Layout.NONE:
            return {}
        return {self.state: self.state_vector(observation)}

    def state_vector(self, observation: Observation) -> np.ndarray:
        """Return the state, float64, in the convention's layout, shape (8,) by default."""
        pose = (observation.eef_position, encode_rotation(observation.eef_quaternion, self.rotation))
        if self.layout is Layout.END_EFFECTOR:
            return np.concatenate([*pose, observation.gripper])
        if self.layout is Layout.FINGERS_FIRST:
            return np.concatenate([observation.gripper, *pose])
        if self.layout is Layout.JOINTS:
            return np.concatenate([observation.joints, observation.gripper])
        return np.zeros(0)

    def decode_actions(self, actions: object) -> np.ndarray:
        """Convert a server's actions to Assay's, shape (k, 7) with k at most ``replan``. Raises ValueError."""
        ours = check_actions(actions)[: self.replan]
        signed = 2.0 * ours[:, 6] - 1.0 if self.gripper is Gripper.UNIT else ours[:, 6]
        gripper = signed * self.closes
        ours[:, 6] = np.where(gripper < 0.0, -1.0, 1.0) if self.binary else gripper
        return ours

    def encode_actions(self, actions: np.ndarray) -> np.ndarray:
        """Convert Assay's actions (k, 7) to those of a server."""
        signed = actions[:, 6:] * self.closes
        gripper = (signed + 1.0) / 2.0 if self.gripper is Gripper.UNIT else signed
        return np.concatenate([actions[:, :6], gripper], axis=1)


@lru_cache(maxsize=4)  # several conventions are tried on the same observation
def _render(
    observation: Observation, camera: str, render_size: int, orientation: Orientation, size: int
) -> np.ndarray:
    return letterbox(orient(observation.image(camera, render_size), orientation), size, size)


ADJUSTABLE = ("replan", "size", "wait", "orientation", "layout", "rotation", "gripper", "closes")
"""Fields that an address may set, e.g. ``openpi://localhost:8000?replan=10``."""
CLIENTS: Mapping[str, Mapping[str, str]] = {
    "libero-x": {"orientation": "upright", "replan": "25", "wait": "0"}
}
"""Presets by name: with ``?client=libero-x``, the options of LIBERO-X's client for episodes from stored states."""


def parse_field(owner: type, name: str, text: str, address: str) -> object:
    """Parse the value of a dataclass field according to its declared type. Raises PolicyError."""
    try:
        kind = get_type_hints(owner, include_extras=True)[name]
        return TypeAdapter[object](kind).validate_strings(text)
    except ValidationError as error:
        reason = plain_reason(error.errors()[0]["msg"])
        raise PolicyError(f"{address}: {name}={text}: {reason}") from None


def check_actions(value: object) -> np.ndarray:
    """Validate actions from a server or policy, (k, 7) or (7,); return them as (k, 7) float64. Raises ValueError."""
    try:
        raw = np.asarray(value)
    except ValueError:  # ragged
        raw = np.empty(0, dtype=object)
    if raw.dtype.kind not in "biuf":
        raise ValueError(f"the actions should be an array of numbers, not of type {type(value).__name__}")
    actions = np.atleast_2d(raw.astype(np.float64))
    if actions.ndim != 2 or actions.shape[1] != ACTION_SIZE or not 1 <= len(actions) <= MAX_CHUNK:
        raise ValueError(
            f"the actions have shape {raw.shape}; expected (k, {ACTION_SIZE}) with k from 1 to {MAX_CHUNK}"
        )
    if not np.isfinite(actions).all():
        raise ValueError("the actions contain values that are not finite")
    return actions
