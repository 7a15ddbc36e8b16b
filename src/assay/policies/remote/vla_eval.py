"""vla-eval's websocket protocol, version 1: the messages, and the client.

Every message is a map with ``type``, ``payload``, ``seq`` and ``timestamp``. The reply to hello is hello; the start and
end of an episode have no reply; the reply to an observation is an action or an error with the same ``seq``.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from assay import __version__
from assay.episodes import Episode, EpisodeSpec, Outcome
from assay.policies.remote import codec
from assay.policies.remote.client import RemotePolicy
from assay.policies.remote.convention import Convention, Rotation, controller_state
from assay.policies.remote.transport import RemoteError
from assay.sim import Observation
from assay.tasks import Instruction

VERSION = 1
HELLO, ERROR = "hello", "error"
START, OBSERVATION, ACTION, END = "episode_start", "observation", "action", "episode_end"
"""Types of messages."""
WRIST = "wrist"
CONTROLLER_STATES = "controller_states"
"""Name of the state with the orientation of the grip site; X-VLA's server reads this state."""
CONVENTION = Convention(
    cameras=(("agentview", "agentview"), ("robot0_eye_in_hand", WRIST)),
    state="states",
    prompt="task_description",
    rotation=Rotation.SHORTEST,
    binary=True,
)
"""Convention of vla-eval's LIBERO benchmark with all observations requested."""


class VlaEval(RemotePolicy):
    """Client for a policy at ``vla-eval://host:port``."""

    scheme = "vla-eval"
    default = CONVENTION
    greets = False

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._seq = 0
        self._is_playing = False
        self._started = 0.0

    def connect(self) -> None:
        """Open a new connection, exchange hello messages, and adopt the observations that the server requests."""
        self._is_playing = False
        super().connect()
        hello = {"harness_version": f"assay {__version__}", "protocol_version": VERSION, "benchmark": "assay"}
        self.metadata = self._exchange(HELLO, hello, HELLO)
        version = self.metadata.get("protocol_version")
        if version != VERSION:
            raise self._reject(f"the server uses protocol version {version!r:.20}; expected {VERSION}")
        parameters = self.metadata.get("observation_params")
        declared = adopt_parameters(CONVENTION, parameters) if isinstance(parameters, dict) else CONVENTION
        self.convention = declared.adjusted(self.address.adjusted)

    def _begin(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        super()._begin(instruction, spec)
        if self._is_playing:
            self._send(END, {})  # of an interrupted episode
        self._started = time.monotonic()
        # Described like a task of vla-eval's LIBERO benchmark; for other tasks the id replaces the suite. With a fixed
        # initial state, episode_idx is its index, and seed, which vla-eval itself does not send, is the policy's.
        suite, _, number = spec.task.rpartition("/")
        is_numbered = number.isdecimal() and suite
        numbered = {"suite": suite, "task_id": int(number)} if is_numbered else {"suite": spec.task}
        seed = {} if spec.start is None else {"seed": spec.seed}
        task = {"name": instruction.text, **numbered, "episode_idx": spec.world_seed, **seed}
        self._send(START, {"task": task})
        self._is_playing = True

    def episode_ended(self, episode: Episode) -> None:
        """Report the outcome to the server, as vla-eval's harness does."""
        if self._is_playing and self._transport.is_open:
            self._is_playing = False
            is_error = episode.outcome is Outcome.ERROR
            metrics = {} if is_error else {"success": episode.outcome is Outcome.SUCCESS}
            seconds = time.monotonic() - self._started
            self._send(END, {"metrics": metrics, "steps": episode.steps, "elapsed_sec": seconds})

    def close(self) -> None:
        """End the episode and close the connection."""
        with contextlib.suppress(RemoteError):
            if self._is_playing and self._transport.is_open:
                self._send(END, {})
        self._is_playing = False
        super().close()

    def _request_actions(self, observation: Observation) -> object:
        convention = self.convention
        payload: dict[str, Any] = {
            "images": convention.images(observation),
            convention.prompt: self._prompt,
            **convention.states(observation),
        }
        if convention.state in payload:
            payload[CONTROLLER_STATES] = controller_state(observation)
        action = self._exchange(OBSERVATION, payload, ACTION)
        for key in ("actions", "action"):
            if key in action:
                return action[key]
        raise self._reject(f"the action message has no 'actions', only {sorted(map(str, action))[:6]}")

    def _send(self, kind: str, payload: Mapping[str, object]) -> None:
        self._seq += 1
        self._transport.send(encode_message(kind, payload, self._seq))

    def _exchange(self, kind: str, payload: Mapping[str, object], expected: str) -> dict[Any, Any]:
        """Send a message and return the payload of the reply."""
        self._seq += 1
        reply = self._read_map(self._transport.ask(encode_message(kind, payload, self._seq)))
        answer, content = reply.get("type"), reply.get("payload")
        if answer == ERROR:
            raise self._report_failure(
                content.get("error", content) if isinstance(content, dict) else content
            )
        if answer != expected or not isinstance(content, dict):
            raise self._reject(
                f"'{kind}' was answered with type {answer!r:.40} and {codec.describe(content)}"
            )
        if reply.get("seq") != self._seq:
            raise self._reject(f"message {self._seq} was answered with seq {reply.get('seq')!r:.20}")
        return content


def adopt_parameters(convention: Convention, parameters: Mapping[Any, Any]) -> Convention:
    """Adapt a convention to a server's ``observation_params``, as vla-eval's benchmark does."""
    return replace(
        convention,
        cameras=tuple(
            pair for pair in convention.cameras if pair[1] != WRIST or parameters.get("send_wrist_image")
        ),
        state=convention.state if parameters.get("send_state") else None,
        absolute=bool(parameters.get("absolute_action")),
        rotation=Rotation.ROBOSUITE if parameters.get("quat_no_antipodal") else Rotation.SHORTEST,
    )


def encode_message(kind: str, payload: Mapping[str, object], seq: int) -> bytes:
    """Encode a message of the protocol."""
    return codec.encode_vla_eval({"type": kind, "payload": payload, "seq": seq, "timestamp": time.time()})
