"""openpi's websocket protocol, both ends of it.

On connecting, the server sends a map about itself. Then a map of pictures, state and prompt is answered by a
map with ``actions`` (k, 7). There is no message for the beginning of an episode, so our client opens a
connection for each. A text frame is a traceback: the server broke.
"""

from __future__ import annotations

import time
import zlib
from typing import Any

from assay.episodes import EpisodeSpec
from assay.policies.remote import codec
from assay.policies.remote.client import RemotePolicy
from assay.policies.remote.convention import Convention
from assay.policies.remote.served import Session, read, text
from assay.policies.remote.wire import Wire
from assay.sim import Observation
from assay.tasks import Instruction

CONVENTION = Convention(
    cameras=(("agentview", "observation/image"), ("robot0_eye_in_hand", "observation/wrist_image")),
    state="observation/state",
    prompt="prompt",
    size=224,
    replan=5,
)
"""What openpi's LIBERO example sends."""
EXPECTED = 5
"""Actions that openpi's LIBERO example executes of each reply; it refuses fewer."""


class OpenPI(RemotePolicy):
    """A policy behind ``openpi://host:port``."""

    scheme = "openpi"
    default = CONVENTION
    _wire: Wire

    def connect(self) -> None:
        """Connect anew; the server speaks first."""
        self._wire.open(self._turn)
        self.metadata = self._decoded(self._wire.receive())

    def _begin(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        self.connect()

    def _ask(self, observation: Observation) -> object:
        convention = self.convention
        request: dict[str, Any] = {
            **convention.pictures(observation),
            **convention.states(observation),
            convention.prompt: self._prompt,
        }
        reply = self._decoded(self._wire.ask(codec.encode_openpi(request)))
        if "actions" not in reply:
            raise self._refused(f"a reply without 'actions'; it has {sorted(map(str, reply))[:6]}")
        timing = reply.get("server_timing", reply.get("policy_timing"))
        self._timed(timing.get("infer_ms") if isinstance(timing, dict) else None)
        return reply["actions"]


class OpenPISession(Session):
    """One connection of somebody's openpi client to a policy of ours.

    The wire does not say where an episode begins: a new connection and a new prompt do. Nor does it carry a
    seed: a digest of the first observation stands in, so that the same episode is played the same way again.
    """

    convention = CONVENTION

    def greeting(self) -> bytes | None:
        """What the client waits for on connecting."""
        return codec.encode_openpi({"server": "assay", "policy": self.name})

    def answer(self, message: bytes) -> bytes | None:
        """Actions for an observation."""
        request = read(message)
        prompt = text(request, self.convention.prompt)
        start = time.monotonic()
        if self.begins(prompt):
            self.begin(prompt, task=prompt, seed=zlib.crc32(message))
        actions = self.look(request, request.get(self.convention.state), least=self.replan or EXPECTED)
        timing = {"infer_ms": 1e3 * (time.monotonic() - start)}
        return codec.encode_openpi({"actions": actions, "server_timing": timing})

    def complaint(self, reason: str) -> tuple[bytes | str, bool]:
        """A text frame, and the connection ends."""
        return reason, True
