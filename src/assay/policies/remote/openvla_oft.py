"""OpenVLA-OFT's HTTP protocol, the client's end: ``POST /act`` with JSON, answered by a list of actions.

The script of OpenVLA-OFT sends images of 224 pixels; its server resizes others by the same function, so they go as they
are drawn. A server that fails answers ``"error"`` and says why in its own log.
"""

from __future__ import annotations

import json
from typing import Any

from assay.episodes import EpisodeSpec
from assay.policies.remote import codec, json_arrays
from assay.policies.remote.client import RemotePolicy
from assay.policies.remote.convention import Convention, Gripper, Sign
from assay.policies.remote.errors import ServerError
from assay.policies.remote.http import Http
from assay.sim import Observation
from assay.tasks import Instruction

CONVENTION = Convention(
    cameras=(("agentview", "full_image"), ("robot0_eye_in_hand", "wrist_image")),
    state="state",
    prompt="instruction",
    gripper=Gripper.UNIT,
    closes=Sign.MINUS,
    binary=True,
    replan=8,
)
"""What OpenVLA-OFT's LIBERO script prepares."""
ENDPOINT = "/act"


class OpenVlaOft(RemotePolicy):
    """A policy behind ``openvla-oft://host:port``; the path is ``/act`` unless the address has one."""

    scheme = "openvla-oft"
    default = CONVENTION
    port = 8777

    def __init__(self, where: str) -> None:
        place, mark, query = where.partition("?")
        if place.count("/") == 2:
            where = f"{place}{ENDPOINT}{mark}{query}"
        super().__init__(where)

    def carrier(self) -> Http:
        """HTTP."""
        return Http(self.address)

    def connect(self) -> None:
        """See that somebody answers; the server says nothing about itself."""
        self._wire.open(self._turn)

    def _begin(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        if not self._wire.is_open:
            self.connect()

    def _ask(self, observation: Observation) -> object:
        convention = self.convention
        request: dict[str, Any] = {
            **convention.pictures(observation),
            **convention.states(observation),
            convention.prompt: self._prompt,
        }
        body = self._wire.ask(json_arrays.encode(request))
        try:
            reply = json_arrays.decode(body if isinstance(body, bytes) else body.encode())
            if isinstance(reply, str) and reply.startswith(
                ("[", "{")
            ):  # what is encoded twice is decoded twice
                reply = json_arrays.decode(reply.encode())
        except codec.CodecError as error:
            raise self._refused(str(error)) from None
        if isinstance(reply, str):
            raise ServerError(
                self.address.text, f"the server failed: {json.dumps(reply)}; its own log says why"
            )
        return reply
