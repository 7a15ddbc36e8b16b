"""GR00T's ZeroMQ protocol, the client's end: a request names an endpoint, and is answered once.

``{"endpoint": "get_action", "data": {"observation", "options"}}`` is answered by ``[action, info]``, or by
``{"error"}``. The names of observation and action are flat (``video.image``), as its server has them with
``--use-sim-policy-wrapper``, or nested (``?nested=1``), as it has them without. Every array has two sides more, of
length one: batch and time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import PolicyError
from assay.policies.remote import codec
from assay.policies.remote.client import RemotePolicy
from assay.policies.remote.convention import Convention, Gripper, Layout, Sign
from assay.policies.remote.errors import ServerError, UnreachableError
from assay.policies.remote.rotations import OF_THREE
from assay.policies.remote.wire import LARGEST_REPLY
from assay.policies.remote.zmq_wire import ZmqWire
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
"""What GR00T's LIBERO environment gives, and how its example executes."""
AXES = ("x", "y", "z", "roll", "pitch", "yaw")
"""Of position and rotation vector in the state, and of translation and rotation in an action."""


class Gr00t(RemotePolicy):
    """A policy behind ``gr00t://host:port``."""

    scheme = "gr00t"
    default = CONVENTION
    port = 5555
    paths = False
    layouts = (Layout.HAND, Layout.NONE)
    rotations = OF_THREE
    options = ("nested",)
    _wire: ZmqWire

    def __init__(self, where: str) -> None:
        super().__init__(where)
        nested = self.address.extra.get("nested", "0")
        if nested not in ("0", "1"):
            raise PolicyError(f"{self.address.text}: nested={nested}: valid: 0, 1")
        if self.address.access.bearer:
            raise PolicyError(f"{self.address.text}: bearer: GR00T's servers take key=VARIABLE")
        self._nested = nested == "1"

    def carrier(self) -> ZmqWire:
        """ZeroMQ."""
        return ZmqWire(self.address)

    def connect(self) -> None:
        """Take a new socket and ping the server; copies that do not answer are passed over."""
        reply = self._understood(self._greeted())
        self.metadata = reply if isinstance(reply, dict) else {}

    def _greeted(self) -> bytes:
        """What the first copy says that answers, from the one whose turn it is."""
        ping, last = self._packed("ping", None), len(self.address.places) - 1
        for passed in range(last):
            self._wire.open(self._turn + passed)
            with contextlib.suppress(UnreachableError):
                return self._wire.greet(ping)
        self._wire.open(self._turn + last)
        return self._wire.greet(ping)

    def _begin(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        if not self._wire.is_open:
            self.connect()
        self._call("reset", {"options": None})

    def _ask(self, observation: Observation) -> object:
        reply = self._call("get_action", {"observation": self._observation(observation), "options": None})
        action = reply[0] if isinstance(reply, list) and reply else reply
        if not isinstance(action, dict):
            raise self._refused(f"the action should be a map, not {codec.brief(action)}")
        return np.concatenate([self._part(action, name) for name in (*AXES, "gripper")], axis=1)

    def _observation(self, observation: Observation) -> dict[str, object]:
        convention = self.convention
        video = {name: image[None, None] for name, image in convention.pictures(observation).items()}
        state: dict[str, np.ndarray] = {}
        for vector in convention.states(observation).values():
            numbers = vector.astype(np.float32)[None, None]
            state = {name: numbers[..., place : place + 1] for place, name in enumerate(AXES)}
            state["gripper"] = numbers[..., len(AXES) :]
        if self._nested:
            return {"video": video, "state": state, "language": {convention.prompt: [[self._prompt]]}}
        flat = {
            f"{kind}.{name}": each
            for kind, some in (("video", video), ("state", state))
            for name, each in some.items()
        }
        return {**flat, convention.prompt: [self._prompt]}

    def _part(self, action: Mapping[Any, Any], name: str) -> np.ndarray:
        """One component of the actions, (k, 1)."""
        part = action.get(f"action.{name}", action.get(name))
        if not isinstance(part, np.ndarray) or part.ndim != 3 or part.shape[0] != 1 or part.shape[2] != 1:
            raise self._refused(f"the action's {name} should be (1, k, 1), not {codec.brief(part)}")
        return np.asarray(part[0])

    def _call(self, endpoint: str, data: Mapping[str, object]) -> Any:
        return self._understood(self._wire.ask(self._packed(endpoint, data)))

    def _packed(self, endpoint: str, data: Mapping[str, object] | None) -> bytes:
        secret = self.address.access.secret(self.address.text)
        token = {"api_token": secret} if secret else {}
        given = {} if data is None else {"data": data}
        return codec.encode_msgpack_numpy({"endpoint": endpoint, **given, **token})

    def _understood(self, message: bytes) -> Any:
        try:
            reply = codec.decode(message, largest=LARGEST_REPLY)
        except codec.CodecError as error:
            raise self._refused(str(error)) from None
        if isinstance(reply, dict) and "error" in reply:
            self._wire.close()
            raise ServerError(self.address.text, f"the server failed: {reply['error']}")
        return reply
