"""openpi's websocket protocol, and two protocols with the same framing: those of starVLA and RoboArena.

On connection, the server sends a map of metadata. A text frame is the traceback of a server error.
"""

from __future__ import annotations

import math

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import did_you_mean
from assay.policies.remote import codec
from assay.policies.remote.batching import BatchCodec
from assay.policies.remote.client import RemotePolicy
from assay.policies.remote.convention import THREE_NUMBERS, Convention, Gripper, Layout, Rotation, Sign
from assay.sim import Observation
from assay.support.images import Orientation
from assay.tasks import Instruction

CONVENTION = Convention(
    cameras=(("agentview", "observation/image"), ("robot0_eye_in_hand", "observation/wrist_image")),
    state="observation/state",
    prompt="prompt",
    size=224,
    replan=5,
)
"""Convention of openpi's LIBERO example."""
STARVLA_CONVENTION = Convention(
    cameras=(("agentview", "primary"), ("robot0_eye_in_hand", "wrist")),
    state="state",
    prompt="lang",
    size=224,
    layout=Layout.NONE,
    gripper=Gripper.UNIT,
    closes=Sign.MINUS,
    binary=True,
)
"""Convention of starVLA's LIBERO script: a list of images, in this order; no state unless ``layout=hand``."""
STARVLA_SAMPLING = {"do_sample": False, "use_ddim": True, "num_ddim_steps": 10}
"""Diffusion sampling options of starVLA's script."""
ROBOARENA_CONVENTION = Convention(
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
"""Convention of DROID, RoboArena's training data: upright images, Euler angles, and 1 for a closed gripper."""
ROBOARENA_ACTION_SPACE = "cartesian_velocity"
"""The only one of RoboArena's action spaces that LIBERO's controller supports."""
OPEN_FINGER_M = 0.04
"""Position of a finger joint when the gripper is open, in metres."""


class OpenPI(RemotePolicy):
    """Client for a policy at ``openpi://host:port``.

    The request is a map of images, state and prompt; the reply is a map with ``actions`` (k, 7). The protocol has no
    message for the start of an episode, so a new connection is opened for each episode.
    """

    scheme = "openpi"
    default = CONVENTION

    def _begin(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        self.connect()

    def _request_actions(self, observation: Observation) -> object:
        message = codec.encode_openpi(self._content(observation))
        reply = self._read_map(self._transport.ask(message))
        if "actions" not in reply:
            raise self._reject(f"the reply has no 'actions', only {sorted(map(str, reply))[:6]}")
        timing = reply.get("server_timing", reply.get("policy_timing"))
        duration = timing.get("infer_ms") if isinstance(timing, dict) else None
        if isinstance(duration, float | int) and math.isfinite(duration) and duration >= 0:
            self.inference_ms.append(float(duration))
        return reply["actions"]


class StarVla(RemotePolicy):
    """Client for a policy at ``starvla://host:port``; ``?unnorm_key=...`` selects the action statistics.

    The key names the dataset whose statistics the server uses to scale its actions. The reply to ``{"type": "infer",
    "payload": {"examples": [...]}}`` is ``{"ok": true, "data": {"actions": (examples, k, 7)}}`` or ``{"ok": false,
    "error": {"message"}}``.
    """

    scheme = "starvla"
    default = STARVLA_CONVENTION
    port = 10093
    options = ("unnorm_key",)
    batches = BatchCodec(codec.encode_openpi, ("type", "infer"), ("payload", "examples"), ("data", "actions"))

    def connect(self) -> None:
        """Open a new connection, and check that the server reports the key."""
        super().connect()
        keys = self.metadata.get("available_unnorm_keys")
        key = self.address.extra.get("unnorm_key")
        if isinstance(keys, list) and key is not None and key not in keys:
            raise self._reject(f"unnorm_key={key}: {did_you_mean(key, list(map(str, keys)))}")

    def _request_actions(self, observation: Observation) -> object:
        convention = self.convention
        example = {
            "image": list(convention.images(observation).values()),
            **{name: vector[None] for name, vector in convention.states(observation).items()},
            convention.prompt: self._prompt,
        }
        payload = {
            "examples": [example],
            "unnorm_key": self.address.extra.get("unnorm_key"),
            **STARVLA_SAMPLING,
        }
        request = {"type": "infer", "request_id": "assay", "payload": payload}
        reply = self._read_map(self._transport.ask(codec.encode_openpi(request)))
        data, error = reply.get("data"), reply.get("error")
        if not reply.get("ok"):
            raise self._report_failure(error.get("message", error) if isinstance(error, dict) else error)
        actions = data.get("actions") if isinstance(data, dict) else None
        if not isinstance(actions, np.ndarray) or actions.ndim != 3 or len(actions) != 1:
            raise self._reject(f"the actions should have shape (1, k, 7), not {codec.describe(actions)}")
        return actions[0]


class RoboArena(OpenPI):
    """Client for a policy at ``roboarena://host:port/path``; vLLM-Omni's robot endpoint uses the same protocol.

    The server's first message lists the observations that it needs. Every request names an endpoint. The reply to
    ``reset`` is text; other replies are a map with ``actions``, or just the actions.
    """

    scheme = "roboarena"
    default = ROBOARENA_CONVENTION
    layouts = (Layout.END_EFFECTOR,)
    rotations = THREE_NUMBERS

    def connect(self) -> None:
        """Open a new connection, and use the cameras and the image size that the server requires."""
        super().connect()
        needs = self.metadata
        space = needs.get("action_space", ROBOARENA_ACTION_SPACE)
        if space != ROBOARENA_ACTION_SPACE:
            raise self._reject(
                f"the server's action_space is {space!r:.40}; only {ROBOARENA_ACTION_SPACE} can be executed"
            )
        if needs.get("needs_stereo_camera"):
            raise self._reject("the server requires stereo cameras, which LIBERO does not have")
        external = needs.get("n_external_cameras", 1)
        if external not in (0, 1):
            raise self._reject(f"the server requires {external!r:.20} external cameras; LIBERO has one")
        size = needs.get("image_resolution")
        square = isinstance(size, list) and len(size) == 2 and size[0] == size[1] and type(size[0]) is int
        if size is not None and not square:
            raise self._reject(
                f"the server requires images of size {size!r:.40}; only square images can be sent"
            )
        is_needed = (external, needs.get("needs_wrist_camera", True))
        declared = {
            "cameras": tuple(
                camera for camera, needed in zip(self.default.cameras, is_needed, strict=True) if needed
            ),
            "size": size[0] if isinstance(size, list) else self.default.render_size,
        }
        self.convention = self.default.adjusted(declared).adjusted(self.address.adjusted)

    def _begin(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        self.connect()
        session = f"{spec.task} {spec.condition} {spec.seed}"
        self._session = {"session_id": session} if self.metadata.get("needs_session_id") else {}
        reply = self._transport.ask(codec.encode_openpi({"endpoint": "reset", **self._session}))
        if isinstance(reply, str) and reply != "reset successful":
            self._read(reply)

    def _request_actions(self, observation: Observation) -> object:
        convention = self.convention
        pose = convention.state_vector(observation)[:-2]  # without the finger joints
        closed = 1.0 - observation.gripper[:1] / OPEN_FINGER_M
        request = {
            "endpoint": "infer",
            **self._session,
            **convention.images(observation),
            "observation/joint_position": observation.joints.astype(np.float32),
            "observation/cartesian_position": pose.astype(np.float32),
            "observation/gripper_position": np.clip(closed, 0.0, 1.0).astype(np.float32),
            convention.prompt: self._prompt,
        }
        reply = self._read(self._transport.ask(codec.encode_openpi(request)))
        return reply.get("actions", reply.get("action")) if isinstance(reply, dict) else reply
