"""What a wire means: names, pictures, state, gripper and timing, one frozen value for each kind of server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, get_type_hints

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from assay.episodes.rollout import MOST_ACTIONS
from assay.errors import PolicyError
from assay.policies.remote.rotations import Rotation, written
from assay.sim import Observation
from assay.support.images import Orientation, letterbox, orient

STATE_SIZE = 8
"""Position 3, rotation vector 3, finger joints 2: what most servers are sent."""
ACTION_SIZE = 7

Replan = Annotated[int, Field(ge=1, le=MOST_ACTIONS)] | None
Pixels = Annotated[int, Field(ge=16, le=2048)]
Steps = Annotated[int, Field(ge=0, le=MOST_ACTIONS)]


class Sign(IntEnum):
    """A sign."""

    PLUS = 1
    MINUS = -1


class Layout(StrEnum):
    """What the state holds, in which order."""

    HAND = "hand"
    """The grip site's position 3, the hand's orientation 3 or 4, the two finger joints."""
    FINGERS_FIRST = "fingers-first"
    """The two finger joints, position, orientation: LIBERO's own ``robot_states``, with ``rotation=xyzw``."""
    JOINTS = "joints"
    """The arm's seven joint angles, the two finger joints."""
    NONE = "none"
    """No state is sent."""


class Gripper(StrEnum):
    """Which numbers an action's gripper component takes on the wire."""

    SIGNED = "signed"
    """From -1 to 1, as in LIBERO."""
    UNIT = "unit"
    """From 0 to 1, as in RLDS data sets: 0.5 is neither open nor closed."""


@dataclass(frozen=True, slots=True)
class Convention:
    """How observations and actions are written for one kind of server."""

    cameras: tuple[tuple[str, str], ...]
    """Our cameras and their names on the wire."""
    state: str | None
    """The state's name on the wire; None if none is sent.

    The hand is the body of robosuite's ``robot0_eef_quat``; the grip site that the controller moves is turned
    from it.
    """
    prompt: str
    """The instruction's name on the wire."""
    drawn: Pixels = 256
    """Height and width, pixels, in which pictures are drawn: LIBERO's."""
    size: Pixels = 256
    """Height and width, pixels, in which they are sent."""
    orientation: Orientation = Orientation.ROTATED
    layout: Layout = Layout.HAND
    rotation: Rotation = Rotation.ROBOSUITE
    gripper: Gripper = Gripper.SIGNED
    closes: Sign = Sign.PLUS
    """The sign of an action's gripper component that closes the gripper on the wire; with us it is plus. Of
    numbers from 0 to 1: that of their difference from 0.5."""
    binary: bool = False
    """Whether the gripper component is made -1 or 1, with 0 as 1, before it is executed."""
    absolute: bool = False
    """Whether an action is a pose to go to: position, metres, and rotation vector, radians, of the grip site."""
    replan: Replan = None
    """How many actions of each reply are executed; None is all of them."""
    wait: Steps = 10
    """Steps at the start in which nothing is asked and the arm stays still: objects are still falling."""

    def adjusted(self, fields: Mapping[str, object]) -> Convention:
        """The convention with some of its fields set."""
        return replace(self, **fields)  # type: ignore[arg-type]

    def pictures(self, observation: Observation) -> dict[str, np.ndarray]:
        """The pictures, (size, size, 3) uint8, by their names on the wire. This is what draws them."""
        return {
            wire: _sent(observation, camera, self.drawn, self.orientation, self.size).copy()
            for camera, wire in self.cameras
        }

    def states(self, observation: Observation) -> dict[str, np.ndarray]:
        """The state by its name on the wire; empty if none is sent."""
        if self.state is None or self.layout is Layout.NONE:
            return {}
        return {self.state: self.state_vector(observation)}

    def state_vector(self, observation: Observation) -> np.ndarray:
        """The state, float64, in the convention's layout; (8,) unless it is changed."""
        hand = (observation.eef_position, written(observation.eef_quaternion, self.rotation))
        parts: tuple[np.ndarray, ...]
        match self.layout:
            case Layout.HAND:
                parts = (*hand, observation.gripper)
            case Layout.FINGERS_FIRST:
                parts = (observation.gripper, *hand)
            case Layout.JOINTS:
                parts = (observation.joints, observation.gripper)
            case Layout.NONE:
                parts = ()
        return np.concatenate([np.zeros(0), *parts])

    def executed(self, actions: object) -> np.ndarray:
        """Our actions (k, 7), k at most ``replan``, for a server's. Raises ValueError that says why not."""
        ours = checked_actions(actions)[: self.replan]
        signed = 2.0 * ours[:, 6] - 1.0 if self.gripper is Gripper.UNIT else ours[:, 6]
        gripper = signed * self.closes
        ours[:, 6] = np.where(gripper < 0.0, -1.0, 1.0) if self.binary else gripper
        return ours

    def replied(self, actions: np.ndarray) -> np.ndarray:
        """What to send for our actions (k, 7)."""
        signed = actions[:, 6:] * self.closes
        gripper = (signed + 1.0) / 2.0 if self.gripper is Gripper.UNIT else signed
        return np.concatenate([actions[:, :6], gripper], axis=1)


@lru_cache(maxsize=4)  # whoever asks about one observation in several ways asks for the same pictures
def _sent(
    observation: Observation, camera: str, drawn: int, orientation: Orientation, size: int
) -> np.ndarray:
    return letterbox(orient(observation.image(camera, drawn), orientation), size, size)


ADJUSTABLE = ("replan", "size", "wait", "orientation", "layout", "rotation", "gripper", "closes")
"""What an address may change, e.g. ``openpi://localhost:8000?replan=10``."""
CLIENTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"libero-x": {"orientation": "upright", "replan": "25", "wait": "0"}}
)
"""Whose client to be like, ``?client=libero-x``: the options by which that benchmark's differs, from stored states."""


def adjustments(given: Mapping[str, str], address: str) -> dict[str, object]:
    """The fields of a convention that an address sets, by name. Raises PolicyError."""
    return {name: validated(Convention, name, text, address) for name, text in given.items()}


@lru_cache(maxsize=64)
def _adapter(owner: type, name: str) -> TypeAdapter[object]:
    return TypeAdapter(get_type_hints(owner, include_extras=True)[name])


def validated(owner: type, name: str, text: str, address: str) -> object:
    """A field's value from its text, by the type it is declared with."""
    try:
        return _adapter(owner, name).validate_strings(text)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise PolicyError(f"{address}: {name}={text}: {reason[0].lower()}{reason[1:]}") from None


def checked_actions(given: object) -> np.ndarray:
    """Somebody's actions as (k, 7) float64; one may come as (7,). Raises ValueError that says why not."""
    try:
        raw = np.asarray(given)
    except ValueError:  # ragged
        raw = np.empty(0, dtype=object)
    if raw.dtype.kind not in "biuf":
        raise ValueError(f"the actions are {type(given).__name__}, not an array of numbers")
    actions = np.atleast_2d(raw.astype(np.float64))
    if actions.ndim != 2 or actions.shape[1] != ACTION_SIZE or not 1 <= len(actions) <= MOST_ACTIONS:
        raise ValueError(
            f"the actions have shape {raw.shape}; valid: (k, {ACTION_SIZE}) with k from 1 to {MOST_ACTIONS}"
        )
    if not np.isfinite(actions).all():
        raise ValueError("the actions hold values that are not finite")
    return actions
