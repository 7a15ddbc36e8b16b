"""GR00T's ZeroMQ protocol: a request names an endpoint and has exactly one reply.

The reply to ``{"endpoint": "get_action", "data": {"observation", "options"}}`` is ``[action, info]`` or
``{"error"}``. Observation and action names are flat (``video.image``) if the server runs with
``--use-sim-policy-wrapper``, and nested (``?nested=1``) otherwise. Every array has two leading axes of length one:
batch and time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import PolicyError
from assay.policies.remote import codec
from assay.policies.remote.batching import BatchCodec
from assay.policies.remote.client import RemotePolicy
from assay.policies.remote.convention import THREE_NUMBERS, Convention, Gripper, Layout, Sign
from assay.policies.remote.transport import ZmqTransport
from assay.sim import Observation
from assay.tasks import Instruction

CONVENTION = Convention(
    cameras=(("agentview", "image"), ("robot0_eye_in_hand", "wrist_image")),
    state="state",
    prompt="annotation.human.action.task_description",
    gripper=Gripper.UNIT,
    closes=Sign.MINUS,
    binary=True,
    replan=8,
    wait=0,
)
"""Convention of GR00T's LIBERO environment and example."""
AXES = ("x", "y", "z", "roll", "pitch", "yaw")
"""Names of the pose components in the state, and of the translation and rotation components in an action."""


class Gr00t(RemotePolicy):
    """Client for a policy at ``gr00t://host:port``."""

    scheme = "gr00t"
    default = CONVENTION
    port = 5555
    paths = False
    layouts = (Layout.END_EFFECTOR, Layout.NONE)
    rotations = THREE_NUMBERS
    options = ("nested",)
    transport = ZmqTransport
    greets = False
    batches = BatchCodec(
        codec.encode_msgpack_numpy, ("endpoint", "get_action"), ("data", "observation"), (0,)
    )

    def __init__(self, address: str) -> None:
        super().__init__(address)
        text = self.address.text
        nested = self.address.extra.get("nested", "0")
        if nested not in ("0", "1"):
            raise PolicyError(f"{text}: nested={nested}: expected 0 or 1")
        if self.address.options.tls:
            raise PolicyError(f"{text}: tls=1: GR00T servers do not support encryption")
        if self.address.options.bearer:
            raise PolicyError(f"{text}: bearer: GR00T servers expect key=VARIABLE instead")
        self._nested = nested == "1"

    def connect(self) -> None:
        """Open a new socket and ping the server."""
        reply = self._check(self._transport.open(self._turn, hello=self._encode("ping")))
        self.metadata = reply if isinstance(reply, dict) else {}

    def _begin(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        super()._begin(instruction, spec)
        self._check(self._transport.ask(self._encode("reset", {"options": None})))

    def _request_actions(self, observation: Observation) -> object:
        convention = self.convention
        video = {name: image[None, None] for name, image in convention.images(observation).items()}
        state: dict[str, np.ndarray] = {}
        for vector in convention.states(observation).values():
            numbers = vector.astype(np.float32)[None, None]
            state = {name: numbers[..., place : place + 1] for place, name in enumerate(AXES)}
            state["gripper"] = numbers[..., len(AXES) :]
        content: dict[str, object]
        if self._nested:
            content = {"video": video, "state": state, "language": {convention.prompt: [[self._prompt]]}}
        else:
            content = {f"video.{name}": array for name, array in video.items()}
            content |= {f"state.{name}": array for name, array in state.items()}
            content[convention.prompt] = [self._prompt]
        request = self._encode("get_action", {"observation": content, "options": None})
        reply = self._check(self._transport.ask(request))
        action = reply[0] if isinstance(reply, list) and reply else reply
        if not isinstance(action, dict):
            raise self._reject(f"the action should be a map, not {codec.describe(action)}")
        parts = []
        for name in (*AXES, "gripper"):
            part = action.get(f"action.{name}", action.get(name))
            if not isinstance(part, np.ndarray) or part.ndim != 3 or part.shape[0] != 1 or part.shape[2] != 1:
                raise self._reject(
                    f"the action's {name} should have shape (1, k, 1), not {codec.describe(part)}"
                )
            parts.append(part[0])
        return np.concatenate(parts, axis=1)

    def _encode(self, endpoint: str, data: Mapping[str, object] | None = None) -> bytes:
        secret = self.address.secret()
        token = {"api_token": secret} if secret else {}
        content = {} if data is None else {"data": data}
        return codec.encode_msgpack_numpy({"endpoint": endpoint, **content, **token})

    def _check(self, message: bytes | str) -> Any:
        reply = self._read(message)
        if isinstance(reply, dict) and "error" in reply:
            raise self._report_failure(reply["error"])
        return reply
