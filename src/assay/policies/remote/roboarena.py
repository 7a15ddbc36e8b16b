"""RoboArena's websocket protocol, the client's end; vLLM-Omni's robot endpoint speaks it, too.

The framing is openpi's. The first message says what the server wants to see; every request names an endpoint; ``reset``
is answered by a text. A reply is a map with ``actions``, or the actions alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.episodes import EpisodeSpec
from assay.policies.remote import codec
from assay.policies.remote.convention import Convention, Gripper, Layout
from assay.policies.remote.errors import ServerError
from assay.policies.remote.openpi import OpenPI
from assay.policies.remote.rotations import OF_THREE, Rotation, written
from assay.policies.remote.wire import LARGEST_REPLY
from assay.sim import Observation
from assay.support.images import Orientation
from assay.tasks import Instruction

CONVENTION = Convention(
    cameras=(
        ("agentview", "observation/exterior_image_0_left"),
        ("robot0_eye_in_hand", "observation/wrist_image_left"),
    ),
    state="observation/cartesian_position",
    prompt="prompt",
    size=224,
    orientation=Orientation.UPRIGHT,
    rotation=Rotation.EULER,
    gripper=Gripper.UNIT,
)
"""DROID's, which RoboArena's servers are trained on: upright images, Euler angles, 1 closes the gripper."""
EXECUTABLE = "cartesian_velocity"
"""The one of RoboArena's action spaces that LIBERO's controller has."""
OPEN = 0.04
"""A finger joint of an open gripper, metres."""
DONE = "reset successful"


class RoboArena(OpenPI):
    """A policy behind ``roboarena://host:port/path``."""

    scheme = "roboarena"
    default = CONVENTION
    layouts = (Layout.HAND,)
    rotations = OF_THREE

    def connect(self) -> None:
        """Connect anew, and send from then on what the server says it needs."""
        super().connect()
        wanted = self.metadata
        space = wanted.get("action_space", EXECUTABLE)
        if space != EXECUTABLE:
            raise self._refused(
                f"the server's action_space is {space!r:.40}; only {EXECUTABLE} can be executed"
            )
        if wanted.get("needs_stereo_camera"):
            raise self._refused("the server needs stereo cameras, which LIBERO does not have")
        cameras = wanted.get("n_external_cameras", 1)
        if cameras not in (0, 1):
            raise self._refused(f"the server needs {cameras!r:.20} external cameras; LIBERO has one")
        size = wanted.get("image_resolution")
        square = isinstance(size, list) and len(size) == 2 and size[0] == size[1] and type(size[0]) is int
        if size is not None and not square:
            raise self._refused(f"the server wants images of {size!r:.40}; only square ones can be sent")
        left_out = {
            wire
            for (_, wire), needed in zip(
                CONVENTION.cameras, (cameras, wanted.get("needs_wrist_camera", True)), strict=True
            )
            if not needed
        }
        declared = {
            "cameras": tuple(pair for pair in CONVENTION.cameras if pair[1] not in left_out),
            "size": size[0] if isinstance(size, list) else CONVENTION.drawn,
        }
        self.convention = CONVENTION.adjusted(declared).adjusted(self.address.adjusted)

    def _begin(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Connect anew and reset the policy."""
        self.connect()
        self._session = f"{spec.task} {spec.condition} {spec.seed}"
        said = self._wire.ask(codec.encode_openpi({"endpoint": "reset", **self._identity()}))
        if said != DONE and isinstance(said, str):
            self._decoded(said)

    def _identity(self) -> dict[str, object]:
        return {"session_id": self._session} if self.metadata.get("needs_session_id") else {}

    def _ask(self, observation: Observation) -> object:
        convention = self.convention
        rotation = written(observation.eef_quaternion, convention.rotation)
        closed = 1.0 - observation.gripper[:1] / OPEN
        request: dict[str, Any] = {
            "endpoint": "infer",
            **self._identity(),
            **convention.pictures(observation),
            "observation/joint_position": observation.joints.astype(np.float32),
            "observation/cartesian_position": np.concatenate([observation.eef_position, rotation]).astype(
                np.float32
            ),
            "observation/gripper_position": np.clip(closed, 0.0, 1.0).astype(np.float32),
            convention.prompt: self._prompt,
        }
        message = self._wire.ask(codec.encode_openpi(request))
        if isinstance(message, str):
            self._decoded(message)
            raise ServerError(self.address.text, "the server failed")
        try:
            reply = codec.decode(message, largest=LARGEST_REPLY)
        except codec.CodecError as error:
            raise self._refused(str(error)) from None
        if not isinstance(reply, dict):
            return reply
        return reply.get("actions", reply.get("action"))
