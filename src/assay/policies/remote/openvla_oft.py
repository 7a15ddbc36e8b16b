"""OpenVLA-OFT's HTTP protocol: ``POST /act`` with JSON; the reply is a list of actions.

OpenVLA-OFT's script sends images of 224 pixels. Its server resizes other sizes with the same function, so images are
sent as rendered. A server that fails replies ``"error"`` and logs the reason.
"""

from __future__ import annotations

import json

from assay.policies.remote import codec
from assay.policies.remote.client import RemotePolicy
from assay.policies.remote.convention import Convention, Gripper, Sign
from assay.policies.remote.transport import HttpTransport
from assay.sim import Observation

CONVENTION = Convention(
    cameras=(("agentview", "full_image"), ("robot0_eye_in_hand", "wrist_image")),
    state="state",
    prompt="instruction",
    gripper=Gripper.UNIT,
    closes=Sign.MINUS,
    binary=True,
    replan=8,
)
"""Convention of OpenVLA-OFT's LIBERO script."""
ENDPOINT = "/act"


class OpenVlaOft(RemotePolicy):
    """Client for a policy at ``openvla-oft://host:port``; the path is ``/act`` unless the address has one."""

    scheme = "openvla-oft"
    default = CONVENTION
    port = 8777
    transport = HttpTransport
    greets = False

    def __init__(self, address: str) -> None:
        place, mark, query = address.partition("?")
        if place.count("/") == 2:
            address = f"{place}{ENDPOINT}{mark}{query}"
        super().__init__(address)

    def _request_actions(self, observation: Observation) -> object:
        body = self._transport.ask(codec.encode_json(self._content(observation)))
        reply = self._read(body, codec.decode_json)
        if isinstance(reply, str) and reply.startswith(("[", "{")):  # encoded twice
            reply = self._read(reply.encode(), codec.decode_json)
        if isinstance(reply, str):
            raise self._report_failure(f"{json.dumps(reply)}; see the server's log")
        return reply
