"""Serve a policy to other harnesses over openpi's or vla-eval's protocol: `assay serve`."""

from __future__ import annotations

import asyncio
import errno
import time
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, ClassVar, NoReturn, cast
from urllib.parse import urlsplit

import numpy as np
from scipy.spatial.transform import Rotation as SciPyRotation
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from assay import __version__
from assay.episodes import EpisodeSpec, Policy, Privileged
from assay.errors import AssayError, PolicyError, did_you_mean
from assay.policies.registry import load_policy
from assay.policies.remote import codec, openpi, vla_eval
from assay.policies.remote.convention import STATE_SIZE, Convention, Rotation, check_actions
from assay.policies.remote.transport import MUTED
from assay.sim import Observation
from assay.support.images import letterbox, orient
from assay.tasks import Instruction

MAX_REQUEST_BYTES = 32 * 2**20
"""Maximum size of a request: more than two images of 2,048 x 2,048 pixels."""
SERVED_PACK = "served"
"""Name used in the spec of a served episode in place of the asset pack."""
OPENPI_MIN_ACTIONS = 5
"""Number of actions that openpi's LIBERO example executes per reply; it rejects replies with fewer actions."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""Hosts at which only this machine can reach a server."""
HEALTH_PATHS = ("/healthz", "/health")
"""HTTP paths that openpi's and vla-eval's tools use to check whether a server is ready."""
NOT_SENT = {
    "joints": "the arm's joint angles",
    "moment": "the simulator's state",
    "depth": "depth",
    "segmentation": "segmentation",
}
"""Members of an Observation that no protocol transmits."""
STATE_MEMBERS = ("eef_position", "eef_quaternion", "gripper")
"""Members of an Observation that are computed from the transmitted state."""
SERVER_FAILED = 1011
"""Websocket close code for a server error."""


class ReceivedObservation:
    """Observation for a served policy: the content of a message, with the interface of an Observation.

    Accessing a member that was not sent raises PolicyError.
    """

    def __init__(
        self, convention: Convention, images: Mapping[str, object], state: object, step: int
    ) -> None:
        self.step = step
        """Number of earlier observations in this episode."""
        self._convention, self._images = convention, images
        if state is None:
            return
        array = np.asarray(state) if isinstance(state, list | np.ndarray) else np.empty(0, dtype=object)
        if array.dtype.kind not in "biuf" or array.shape != (STATE_SIZE,) or not np.isfinite(array).all():
            raise PolicyError(f"the state should be {STATE_SIZE} finite numbers, not {codec.describe(state)}")
        position, rotation, self.gripper = np.split(array.astype(np.float64), (3, 6))
        self.eef_position = position
        self.eef_quaternion = SciPyRotation.from_rotvec(rotation).as_quat(scalar_first=True)

    def image(self, camera: str = "agentview", height: int = 256, width: int | None = None) -> np.ndarray:
        """Return the upright image, (height, width, 3) uint8, resized if it was sent at another size."""
        names = dict(self._convention.cameras)
        if camera not in names:
            raise PolicyError(
                f"the client sends no images from camera '{camera}': {did_you_mean(camera, names)}"
            )
        name = names[camera]
        if name not in self._images:
            raise _not_sent(f"the image '{name}'")
        try:
            image = codec.decode_image(self._images[name])
        except codec.CodecError as error:
            raise PolicyError(f"'{name}': {error}") from None
        upright = orient(image, self._convention.orientation)
        return letterbox(upright, height, height if width is None else width)

    def __getattr__(self, name: str) -> NoReturn:
        """Raise an error for a member of Observation that the message does not contain."""
        if name in STATE_MEMBERS:
            raise _not_sent(f"the state '{self._convention.state}'")
        if name not in NOT_SENT:
            raise AttributeError(name)
        raise _not_sent(NOT_SENT[name])


def _not_sent(name: str) -> PolicyError:
    return PolicyError(f"the client does not send {name}; a served policy observes only what it receives")


class ServerSession(ABC):
    """Server side of one connection, with a separate policy object."""

    convention: ClassVar[Convention]

    def __init__(self, policy: Policy, name: str, replan: int | None) -> None:
        self.policy = policy
        self.name = name
        self.replan = replan
        """Number of actions of each chunk that are sent; None for all."""
        self._prompt: str | None = None
        self._observations = 0
        self._actions: deque[np.ndarray] = deque()
        """Actions of the last chunk that have not been sent, each (7,)."""

    def greeting(self) -> bytes | None:
        """Return the message sent on connection."""
        return None

    @abstractmethod
    def answer(self, message: bytes) -> bytes | None:
        """Return the reply to a message, or None if it has none. Exceptions are passed to `report_error`."""

    @abstractmethod
    def report_error(self, reason: str) -> tuple[bytes | str, bool]:
        """Return the message that reports an error, and whether it ends the connection."""

    def follow_prompt(self, message: Mapping[Any, Any], task: str | None, seed: int) -> None:
        """Reset the policy if a message's prompt differs from the current one; ``task`` defaults to the prompt."""
        prompt = message.get(self.convention.prompt)
        if not isinstance(prompt, str):
            raise PolicyError(f"'{self.convention.prompt}' should be text, not {codec.describe(prompt)}")
        if prompt != self._prompt:
            self._actions.clear()
            self.policy.reset(Instruction(prompt), EpisodeSpec(task or prompt, seed, SERVED_PACK))
            self._prompt, self._observations = prompt, 0

    def act(self, images: Mapping[str, object], state: object, *, at_least: int = 1) -> np.ndarray:
        """Return the policy's next actions for the received images and state, shape (k, 7), encoded for sending.

        A policy that returns fewer than ``at_least`` actions is called again with the same observation.
        """
        observation = ReceivedObservation(self.convention, images, state, self._observations)
        self._observations += 1
        chunks: list[np.ndarray] = []
        while sum(map(len, chunks)) < at_least:
            actions = self.policy.act(cast(Observation, observation))
            try:
                chunks.append(check_actions(actions))
            except ValueError as error:
                raise PolicyError(f"{self.name}: {error}") from None
        return self.convention.encode_actions(np.concatenate(chunks)[: self.replan])


def _decode_request(message: bytes) -> dict[Any, Any]:
    try:
        content = codec.decode(message, max_bytes=MAX_REQUEST_BYTES)
    except codec.CodecError as error:
        raise PolicyError(str(error)) from None
    if not isinstance(content, dict):
        raise PolicyError(f"a message should be a map, not {codec.describe(content)}")
    return content


class OpenPISession(ServerSession):
    """The connection to an openpi client.

    The protocol does not mark the start of an episode, so a new connection or a new prompt starts one. It does not
    transmit a seed either; a digest of the first observation replaces it, so that an episode is reproducible.
    """

    convention = openpi.CONVENTION

    def greeting(self) -> bytes | None:
        """Return the metadata that the client expects on connection."""
        return codec.encode_openpi({"server": "assay", "policy": self.name})

    def answer(self, message: bytes) -> bytes | None:
        """Return actions for an observation."""
        request = _decode_request(message)
        start = time.monotonic()
        self.follow_prompt(request, task=None, seed=zlib.crc32(message))
        at_least = self.replan or OPENPI_MIN_ACTIONS
        actions = self.act(request, request.get(self.convention.state), at_least=at_least)
        timing = {"infer_ms": 1e3 * (time.monotonic() - start)}
        return codec.encode_openpi({"actions": actions, "server_timing": timing})

    def report_error(self, reason: str) -> tuple[bytes | str, bool]:
        """Return a text frame, after which the connection ends."""
        return reason, True


class VlaEvalSession(ServerSession):
    """The connection to a vla-eval harness, with one action per observation."""

    convention = replace(vla_eval.CONVENTION, rotation=Rotation.ROBOSUITE)

    def __init__(self, policy: Policy, name: str, replan: int | None) -> None:
        super().__init__(policy, name, replan)
        self._seq = 0
        self._task: Mapping[Any, Any] = {}

    def answer(self, message: bytes) -> bytes | None:
        """Reply to hello with hello and to an observation with an action; other messages have no reply."""
        self._seq = 0
        request = _decode_request(message)
        kind, payload, seq = request.get("type"), request.get("payload"), request.get("seq")
        if type(seq) is not int:
            raise PolicyError(f"a message's seq should be a number, not {codec.describe(seq)}")
        self._seq = seq
        if not isinstance(payload, dict):
            raise PolicyError(f"a message's payload should be a map, not {codec.describe(payload)}")
        match kind:
            case vla_eval.HELLO:
                hello = {
                    "harness_version": f"assay {__version__}",
                    "protocol_version": vla_eval.VERSION,
                    "model_server": self.name,
                    "capabilities": {},
                    "observation_params": dict.fromkeys(
                        ("send_wrist_image", "send_state", "quat_no_antipodal"), True
                    ),
                }
                return vla_eval.encode_message(vla_eval.HELLO, hello, seq)
            case vla_eval.OBSERVATION:
                suite, number = self._task.get("suite"), self._task.get("task_id")
                task = suite if number is None else f"{suite}/{number}"
                seed = self._task.get("seed", self._task.get("episode_idx"))
                self.follow_prompt(
                    payload, task if isinstance(suite, str) else None, seed if type(seed) is int else 0
                )
                if not self._actions:
                    images, state = payload.get("images"), payload.get(self.convention.state)
                    self._actions.extend(self.act(images if isinstance(images, dict) else {}, state))
                return vla_eval.encode_message(vla_eval.ACTION, {"actions": self._actions.popleft()}, seq)
            case vla_eval.START | vla_eval.END:
                self._prompt = None
                described = payload.get("task")
                self._task = described if isinstance(described, dict) else {}
            case vla_eval.ERROR:
                pass
            case _:
                raise PolicyError(f"unknown message type {kind!r:.40}")
        return None

    def report_error(self, reason: str) -> tuple[bytes | str, bool]:
        """Return an error message; the connection remains open."""
        return vla_eval.encode_message(vla_eval.ERROR, {"error": reason}, self._seq), False


PROTOCOLS: Mapping[str, type[ServerSession]] = {"openpi": OpenPISession, "vla-eval": VlaEvalSession}


class PolicyServer:
    """Serves a policy on a port. Each connection has a separate policy object."""

    def __init__(self, policy: str, protocol: str, *, replan: int | None = None) -> None:
        if protocol not in PROTOCOLS:
            raise PolicyError(f"there is no protocol '{protocol}': {did_you_mean(protocol, PROTOCOLS)}")
        self._protocol, self._policy, self._replan = protocol, policy, replan
        self._idle = [load_servable(policy)]

    async def run(self, host: str, port: int, ready: Callable[[str], None] = lambda address: None) -> None:
        """Serve until cancelled; ``ready`` is called with the address. Port 0 selects any free port.

        Raises PolicyError if the port cannot be used.
        """
        try:
            server = await serve(
                self._serve_client,
                host,
                port,
                process_request=partial(_screen_request, host),
                compression=None,
                max_size=MAX_REQUEST_BYTES,
                ping_interval=None,
                logger=MUTED,
            )
        except (OSError, UnicodeError) as error:
            if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
                reason = "the port is in use; choose another one with --port (0 selects any free port)"
            else:
                reason = getattr(error, "strerror", None) or str(error)
            raise PolicyError(f"{host}:{port}: {reason}") from None
        try:
            ready(f"{self._protocol}://{host}:{next(iter(server.sockets)).getsockname()[1]}")
            await server.serve_forever()
        finally:
            server.close()
            await server.wait_closed()

    async def _serve_client(self, connection: ServerConnection) -> None:
        """Serve one client until it disconnects. Policies are reused, because creating one may load a model."""
        policy: Policy | None = None
        reply: bytes | str | None
        try:
            policy = self._idle.pop() if self._idle else await asyncio.to_thread(load_servable, self._policy)
            session = PROTOCOLS[self._protocol](policy, self._policy, self._replan)
            greeting = session.greeting()
            if greeting is not None:
                await connection.send(greeting)
            async for message in connection:
                ends = False
                try:
                    if isinstance(message, str):
                        raise PolicyError("a message should be binary, not text")
                    reply = await asyncio.to_thread(session.answer, message)
                except Exception as error:  # anything that a policy raises
                    reply, ends = session.report_error(_format_error(error))
                if reply is not None:
                    await connection.send(reply)
                if ends:
                    await connection.close(SERVER_FAILED, "the policy failed; see the previous message")
                    break
        except ConnectionClosed:
            pass
        except AssayError as error:
            await connection.close(SERVER_FAILED, _format_error(error)[:100])
        finally:
            if policy is not None:
                self._idle.append(policy)


def _screen_request(host: str, connection: ServerConnection, request: Request) -> Response | None:
    """Return the reply to a request that is rejected or checks the server's health; None for a websocket request.

    A browser lets the pages of any site open websockets to this machine, but names the site in the header Origin. A
    site may also make its name resolve to this machine (DNS rebinding); then Origin and Host both contain that name.
    """
    target, origins = ",".join(request.headers.get_all("Host")), request.headers.get_all("Origin")
    is_foreign = any(origin.partition("://")[2] != target for origin in origins)
    if is_foreign or ((origins or host in LOOPBACK) and not _is_own_name(target, host)):
        reason = (
            f"this server answers no web pages, and only requests to {host}, localhost or a numeric address\n"
        )
        return connection.respond(HTTPStatus.FORBIDDEN, reason)
    is_health_check = urlsplit(request.path).path in HEALTH_PATHS
    return connection.respond(HTTPStatus.OK, "OK\n") if is_health_check else None


def _is_own_name(target: str, host: str) -> bool:
    """Return whether a Host header names this server: as it was started, or without a name that could be rebound."""
    try:
        name = urlsplit(f"//{target}").hostname or ""
        return name in (host.lower(), "localhost") or bool(ip_address(name))
    except ValueError:
        return False


def load_servable(address: str) -> Policy:
    """Create a new policy that needs no simulator. Raises PolicyError."""
    policy = load_policy(address)
    if isinstance(policy, Privileged):
        raise PolicyError(
            f"'{address}' needs the simulator's state, so it cannot be served; choose random, idle, "
            "learned?checkpoint=FILE or python:pkg.module:Class"
        )
    return policy


def _format_error(error: Exception) -> str:
    kind = "" if isinstance(error, AssayError) else f"{type(error).__name__}: "
    return " ".join(f"{kind}{error}".split())[:300]
