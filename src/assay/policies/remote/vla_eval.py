"""vla-eval's websocket protocol, version 1, both ends of it.

Every message is a map of ``type``, ``payload``, ``seq`` and ``timestamp``. Hello is answered by hello; an
episode's start and end have no answer; an observation is answered by an action, or by an error, with the same
``seq``.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from assay import __version__
from assay.episodes import Episode, EpisodeSpec, Outcome, Policy
from assay.errors import PolicyError
from assay.policies.remote import codec
from assay.policies.remote.client import RemotePolicy
from assay.policies.remote.convention import Convention
from assay.policies.remote.errors import RemoteError, ServerError
from assay.policies.remote.rotations import Rotation, of_grip_site, rotation_vector
from assay.policies.remote.served import Session, read, text
from assay.policies.remote.wire import Wire
from assay.sim import Observation
from assay.tasks import Instruction

VERSION = 1
HELLO, START, OBSERVATION, ACTION, END, ERROR = (
    "hello",
    "episode_start",
    "observation",
    "action",
    "episode_end",
    "error",
)
WRIST = "wrist"
CONTROLLER_STATES = "controller_states"
"""The state's name with the grip site's orientation, which X-VLA's server reads."""
CONVENTION = Convention(
    cameras=(("agentview", "agentview"), ("robot0_eye_in_hand", WRIST)),
    state="states",
    prompt="task_description",
    rotation=Rotation.SHORTEST,
    binary=True,
)
"""What vla-eval's LIBERO benchmark sends when everything is asked for."""


class VlaEval(RemotePolicy):
    """A policy behind ``vla-eval://host:port``."""

    scheme = "vla-eval"
    default = CONVENTION
    _wire: Wire

    def __init__(self, where: str) -> None:
        super().__init__(where)
        self._seq = 0
        self._playing = False
        self._started = 0.0

    def connect(self) -> None:
        """Connect anew, say hello, and send from then on what the server says it needs."""
        self._playing = False
        self._wire.open(self._turn)
        hello = {"harness_version": f"assay {__version__}", "protocol_version": VERSION, "benchmark": "assay"}
        self.metadata = self._exchange(HELLO, hello, HELLO)
        version = self.metadata.get("protocol_version")
        if version != VERSION:
            raise self._refused(f"the server speaks protocol version {version!r:.20}; valid: {VERSION}")
        wanted = self.metadata.get("observation_params")
        declared = as_declared(CONVENTION, wanted) if isinstance(wanted, dict) else CONVENTION
        self.convention = declared.adjusted(self.address.adjusted)

    def _begin(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """End the last episode and begin one."""
        if not self._wire.is_open:
            self.connect()
        if self._playing:
            self._send(END, {})  # an episode that was broken off
        self._started = time.monotonic()
        self._send(START, {"task": _task(instruction, spec)})
        self._playing = True

    def episode_ended(self, episode: Episode) -> None:
        """Tell the server how the episode went, as vla-eval's harness does."""
        if self._playing and self._wire.is_open:
            self._playing = False
            metrics = (
                {} if episode.outcome is Outcome.ERROR else {"success": episode.outcome is Outcome.SUCCESS}
            )
            seconds = time.monotonic() - self._started
            self._send(END, {"metrics": metrics, "steps": episode.steps, "elapsed_sec": seconds})

    def close(self) -> None:
        """End the episode and the connection."""
        with contextlib.suppress(RemoteError):
            if self._playing and self._wire.is_open:
                self._send(END, {})
        self._playing = False
        super().close()

    def _ask(self, observation: Observation) -> object:
        convention = self.convention
        payload: dict[str, Any] = {
            "images": convention.pictures(observation),
            convention.prompt: self._prompt,
            **convention.states(observation),
        }
        if convention.state in payload:
            payload[CONTROLLER_STATES] = controller_state(observation)
        action = self._exchange(OBSERVATION, payload, ACTION)
        for key in ("actions", "action"):
            if key in action:
                return action[key]
        raise self._refused(f"an action without 'actions'; it has {sorted(map(str, action))[:6]}")

    def _send(self, kind: str, payload: Mapping[str, object]) -> None:
        self._seq += 1
        self._wire.send(_packed(kind, payload, self._seq))

    def _exchange(self, kind: str, payload: Mapping[str, object], expected: str) -> dict[Any, Any]:
        """Send a message; return the payload of the reply."""
        self._seq += 1
        reply = self._decoded(self._wire.ask(_packed(kind, payload, self._seq)))
        said, content = reply.get("type"), reply.get("payload")
        if said == ERROR:
            self._wire.close()
            reason = content.get("error", content) if isinstance(content, dict) else content
            raise ServerError(self.address.text, f"the server failed: {reason}")
        if said != expected or not isinstance(content, dict):
            raise self._refused(f"'{kind}' was answered by type {said!r:.40} with {codec.brief(content)}")
        if reply.get("seq") != self._seq:
            raise self._refused(f"message {self._seq} was answered as number {reply.get('seq')!r:.20}")
        return content


class VlaEvalSession(Session):
    """One connection of somebody's vla-eval harness to a policy of ours: one action for each observation."""

    convention = replace(CONVENTION, rotation=Rotation.ROBOSUITE)

    def __init__(self, policy: Policy, name: str, replan: int | None) -> None:
        super().__init__(policy, name, replan)
        self._seq = 0
        self._task: Mapping[Any, Any] = {}
        self._left: deque[np.ndarray] = deque()

    def greeting(self) -> bytes | None:
        """Nothing: the client speaks first."""
        return None

    def answer(self, message: bytes) -> bytes | None:
        """Hello for hello, an action for an observation, nothing for the rest."""
        self._seq = 0
        said = read(message)
        kind, payload, seq = said.get("type"), said.get("payload"), said.get("seq")
        if type(seq) is not int:
            raise PolicyError(f"a message's seq should be a number, not {codec.brief(seq)}")
        self._seq = seq
        if not isinstance(payload, dict):
            raise PolicyError(f"a message's payload should be a map, not {codec.brief(payload)}")
        if kind == HELLO:
            return _packed(HELLO, self._hello(), seq)
        if kind == OBSERVATION:
            return _packed(ACTION, {"actions": self._next(payload)}, seq)
        if kind in (START, END):
            self.end()
            self._left.clear()
            task = payload.get("task")
            self._task = task if isinstance(task, dict) else {}
        elif kind != ERROR:
            raise PolicyError(f"there is no message type {kind!r:.40}")
        return None

    def complaint(self, reason: str) -> tuple[bytes | str, bool]:
        """An error message; the connection goes on."""
        return _packed(ERROR, {"error": reason}, self._seq), False

    def _hello(self) -> dict[str, object]:
        wanted = {"send_wrist_image": True, "send_state": True, "quat_no_antipodal": True}
        return {
            "harness_version": f"assay {__version__}",
            "protocol_version": VERSION,
            "model_server": self.name,
            "capabilities": {},
            "observation_params": wanted,
        }

    def _next(self, payload: Mapping[Any, Any]) -> np.ndarray:
        """The next action, (7,); the policy looks when those of its last look are used up."""
        prompt = text(payload, self.convention.prompt)
        if self.begins(prompt):
            self._left.clear()
            self.begin(prompt, *_identity(self._task, prompt))
        if not self._left:
            images = payload.get("images")
            pictures = images if isinstance(images, dict) else {}
            self._left.extend(self.look(pictures, payload.get(self.convention.state)))
        return self._left.popleft()


def as_declared(convention: Convention, wanted: Mapping[Any, Any]) -> Convention:
    """The convention of a server that said what it needs, as vla-eval's own benchmark would follow it."""
    return replace(
        convention,
        cameras=tuple(
            pair for pair in convention.cameras if pair[1] != WRIST or wanted.get("send_wrist_image")
        ),
        state=convention.state if wanted.get("send_state") else None,
        absolute=bool(wanted.get("absolute_action")),
        rotation=Rotation.ROBOSUITE if wanted.get("quat_no_antipodal") else Rotation.SHORTEST,
    )


def controller_state(observation: Observation) -> np.ndarray:
    """The state as the controller knows it, (8,) float32: with the grip site's orientation in place of the hand's."""
    rotation = rotation_vector(of_grip_site(observation.eef_quaternion), Rotation.SHORTEST)
    return np.concatenate([observation.eef_position, rotation, observation.gripper]).astype(np.float32)


def _packed(kind: str, payload: Mapping[str, object], seq: int) -> bytes:
    return codec.encode_vla_eval({"type": kind, "payload": payload, "seq": seq, "timestamp": time.time()})


def _task(instruction: Instruction, spec: EpisodeSpec) -> dict[str, object]:
    """A task as vla-eval's LIBERO benchmark names it; of others, the id takes the suite's place.

    With a held start, ``episode_idx`` is that start, and ``seed``, which vla-eval itself does not send, the
    policy's.
    """
    suite, _, number = spec.task.rpartition("/")
    numbered = (
        {"suite": suite, "task_id": int(number)} if number.isdecimal() and suite else {"suite": spec.task}
    )
    held = {} if spec.start is None else {"seed": spec.seed}
    return {"name": instruction.text, **numbered, "episode_idx": spec.world_seed, **held}


def _identity(task: Mapping[Any, Any], prompt: str) -> tuple[str, int]:
    """The id and the seed of the episode that a task stands for."""
    suite, number = task.get("suite"), task.get("task_id")
    seed = task.get("seed", task.get("episode_idx"))
    known = prompt if not isinstance(suite, str) else suite if number is None else f"{suite}/{number}"
    return known, seed if type(seed) is int else 0
