"""starVLA's websocket protocol, the client's end: openpi's framing around examples and a status.

On connecting, the server sends a map about itself. Then ``{"type": "infer", "payload": {"examples": [...]}}`` is
answered by ``{"ok": true, "data": {"actions": (examples, k, 7)}}``, or by ``{"ok": false, "error": {"message"}}``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import did_you_mean
from assay.policies.remote import codec
from assay.policies.remote.client import RemotePolicy
from assay.policies.remote.convention import Convention, Gripper, Layout, Sign
from assay.policies.remote.errors import ServerError
from assay.policies.remote.wire import Wire
from assay.sim import Observation
from assay.tasks import Instruction

CONVENTION = Convention(
    cameras=(("agentview", "primary"), ("robot0_eye_in_hand", "wrist")),
    state="state",
    prompt="lang",
    size=224,
    layout=Layout.NONE,
    gripper=Gripper.UNIT,
    closes=Sign.MINUS,
    binary=True,
)
"""What starVLA's LIBERO script sends: the images in a list, in this order, and no state; ``layout=hand`` adds one."""
SAMPLING = {"do_sample": False, "use_ddim": True, "num_ddim_steps": 10}
"""How its script lets a diffusion model sample."""


class StarVla(RemotePolicy):
    """A policy behind ``starvla://host:port``; ``?unnorm_key=...`` names the data set whose scales its actions have."""

    scheme = "starvla"
    default = CONVENTION
    port = 10093
    options = ("unnorm_key",)
    _wire: Wire

    def connect(self) -> None:
        """Connect anew; the server speaks first."""
        self._wire.open(self._turn)
        self.metadata = self._decoded(self._wire.receive())
        known = self.metadata.get("available_unnorm_keys")
        key = self.address.extra.get("unnorm_key")
        if isinstance(known, list) and key is not None and key not in known:
            raise self._refused(f"unnorm_key={key}: {did_you_mean(key, [str(each) for each in known])}")

    def _begin(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        if not self._wire.is_open:
            self.connect()

    def _ask(self, observation: Observation) -> object:
        return self._asked([self._example(observation)])[0]

    def _example(self, observation: Observation) -> dict[str, object]:
        convention = self.convention
        images = list(convention.pictures(observation).values())
        states = {name: vector[None] for name, vector in convention.states(observation).items()}
        return {"image": images, **states, convention.prompt: self._prompt}

    def _asked(self, examples: list[dict[str, object]]) -> np.ndarray:
        """The actions for several examples at once, (examples, k, 7)."""
        payload = {"examples": examples, "unnorm_key": self.address.extra.get("unnorm_key"), **SAMPLING}
        request: dict[str, Any] = {"type": "infer", "request_id": "assay", "payload": payload}
        reply = self._decoded(self._wire.ask(codec.encode_openpi(request)))
        data, error = reply.get("data"), reply.get("error")
        if not reply.get("ok"):
            said = error.get("message", error) if isinstance(error, dict) else error
            raise ServerError(self.address.text, f"the server failed: {said}")
        actions = data.get("actions") if isinstance(data, dict) else None
        if not isinstance(actions, np.ndarray) or actions.ndim != 3 or len(actions) != len(examples):
            raise self._refused(f"the actions should be ({len(examples)}, k, 7), not {codec.brief(actions)}")
        return actions
