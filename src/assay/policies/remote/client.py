"""Base class of clients for policy servers: wait, request actions, and execute the first actions of each reply."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import PolicyError
from assay.policies.registry import load_policy
from assay.policies.remote import codec
from assay.policies.remote.address import DEFAULT_PORT, Address
from assay.policies.remote.batching import BatchCodec, RelayTransport
from assay.policies.remote.convention import Convention, Layout, Rotation, check_actions
from assay.policies.remote.transport import (
    RemoteError,
    ReplyError,
    ServerError,
    Transport,
    WebsocketTransport,
)
from assay.policies.simple import STILL
from assay.sim import Observation
from assay.tasks import Instruction


class RemotePolicy(ABC):
    """Base class of the clients for all protocols.

    The connection is opened when the first episode begins. Any failure raises a RemoteError, and the next episode opens
    a new connection.
    """

    scheme: ClassVar[str]
    """URL scheme of the protocol's addresses."""
    default: ClassVar[Convention]
    """Default convention for the protocol's servers."""
    port: ClassVar[int] = DEFAULT_PORT
    options: ClassVar[tuple[str, ...]] = ()
    """Address options that are specific to this protocol."""
    paths: ClassVar[bool] = True
    """Whether an address may have a path."""
    layouts: ClassVar[tuple[Layout, ...]] = tuple(Layout)
    """State layouts that the protocol supports."""
    rotations: ClassVar[tuple[Rotation, ...]] = tuple(Rotation)
    """Orientation representations that the protocol supports."""
    transport: ClassVar[type[Transport]] = WebsocketTransport
    greets: ClassVar[bool] = True
    """Whether the server sends its metadata when a client connects."""
    batches: ClassVar[BatchCodec | None] = None
    """Codec that joins requests from several episodes into one; None if the protocol does not support batching."""

    def __init__(self, address: str) -> None:
        self.address = Address.parse(
            address, self.scheme, port=self.port, allows_path=self.paths, extra=self.options
        )
        text = self.address.text
        self.address.secret()  # report a missing key before anything is run
        self.convention = self.default.adjusted(self.address.adjusted)
        for name, valid in (("layout", self.layouts), ("rotation", self.rotations)):
            value = getattr(self.convention, name)
            if value not in valid:
                raise RemoteError(
                    self.address, f"{name}={value} is not supported; choose one of {', '.join(valid)}"
                )
        if self.address.options.batch > 1 and self.batches is None:
            raise PolicyError(
                f"{text}: batch={self.address.options.batch}: only starvla:// and gr00t:// servers accept several "
                "observations per request"
            )
        self.metadata: Mapping[str, Any] = {}
        """Metadata that the server reported when the client last connected."""
        self.inference_ms: list[float] = []
        """Duration of each inference in the episode, in milliseconds, if the server reports it."""
        self.absolute = False
        """Whether the most recent actions are absolute target poses."""
        self._turn = 0
        self._prompt = ""
        self._transport: Transport = self.transport(self.address)

    @property
    def waiting(self) -> int:
        """Number of steps at the start of an episode during which no actions are requested from the server."""
        return self.convention.wait

    def use_relay(self, socket: str) -> None:
        """Send requests through the relay of the run, at this socket, instead of directly to the server."""
        self._transport = RelayTransport(self.address, socket)

    def connect(self) -> None:
        """Open a new connection and read the server's metadata. Raises RemoteError."""
        self._transport.open(self._turn)
        if self.greets:
            self.metadata = self._read_map(self._transport.receive())

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Begin an episode. Raises RemoteError if no server can be reached.

        The episode determines which copy of the server is used, so that results do not depend on the worker.
        """
        turn = zlib.crc32(f"{spec.task} {spec.condition} {spec.seed}".encode()) % len(self.address.places)
        if turn != self._turn:
            self.close()
        self._turn, self._prompt, self.inference_ms = turn, instruction.text, []
        self._begin(instruction, spec)

    def instruct(self, instruction: Instruction) -> None:
        """Use a new prompt from the next request on; remaining actions of the current chunk are executed first."""
        self._prompt = instruction.text

    def _begin(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Announce an episode, if the protocol has a message for it; connect if there is no connection."""
        if not self._transport.is_open:
            self.connect()

    @abstractmethod
    def _request_actions(self, observation: Observation) -> object:
        """Request actions for an observation; return them as the server encodes them."""

    def act(self, observation: Observation) -> np.ndarray:
        """Return the remaining waiting actions at an episode's start, or the server's next actions, shape (k, 7)."""
        remaining = self.convention.wait - observation.step
        self.absolute = self.convention.absolute and remaining <= 0
        if remaining > 0:
            return np.tile(STILL, (remaining, 1))
        return self.convention.decode_actions(self.reply(observation))

    def foresee(self, observation: Observation) -> tuple[np.ndarray, int]:
        """Return all actions of the reply, shape (k, 7), and the number of them that are executed."""
        self.absolute = self.convention.absolute
        chunk = self.convention.adjusted({"replan": None}).decode_actions(self.reply(observation))
        return chunk, self.convention.replan or len(chunk)

    def reply(self, observation: Observation) -> np.ndarray:
        """Return the server's undecoded actions for an observation, shape (k, 7). Raises RemoteError."""
        try:
            return check_actions(self._request_actions(observation))
        except ValueError as error:
            raise self._reject(str(error)) from None

    def close(self) -> None:
        """Close the connection; the next episode opens a new one."""
        self._transport.close()

    def _content(self, observation: Observation) -> dict[str, Any]:
        """Return the images, state and prompt, keyed by their names on the wire."""
        convention = self.convention
        return {
            **convention.images(observation),
            **convention.states(observation),
            convention.prompt: self._prompt,
        }

    def _read(self, message: bytes | str, decode: Callable[[bytes], Any] = codec.decode) -> Any:
        """Decode a message and mask the key in it.

        A text message is a traceback from the server, which is raised as a ServerError.
        """
        if isinstance(message, str):
            lines = message.strip().splitlines()
            raise self._report_failure(lines[-1] if lines else "no reason given")
        try:
            return self.address.mask(decode(message))
        except codec.CodecError as error:
            raise self._reject(str(error)) from None

    def _read_map(self, message: bytes | str) -> dict[Any, Any]:
        content = self._read(message)
        if not isinstance(content, dict):
            raise self._reject(f"a reply should be a map, not {codec.describe(content)}")
        return content

    def _report_failure(self, reason: object) -> ServerError:
        """Close the connection and return the error for a failure reported by the server."""
        self._transport.close()
        return ServerError(self.address, f"the server failed: {reason}")

    def _reject(self, reason: str) -> ReplyError:
        """Close the connection and return the error for an invalid reply."""
        self._transport.close()
        return ReplyError(self.address, reason)


def load_client(address: str) -> RemotePolicy:
    """Create a client, not yet connected, for the server at ``scheme://host:port``. Raises PolicyError."""
    client = load_policy(address)
    if not isinstance(client, RemotePolicy):
        raise PolicyError(
            f"'{address}' is not a policy server; expected an address such as openpi://host:8000"
        )
    return client
