"""A policy that lives in a server: wait, ask, and execute the first actions of each reply."""

from __future__ import annotations

import math
import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol

import numpy as np

from assay.episodes import EpisodeSpec
from assay.errors import PolicyError
from assay.policies.remote import codec
from assay.policies.remote.address import PORT, parse
from assay.policies.remote.convention import Convention, Layout, checked_actions
from assay.policies.remote.errors import RemoteError, ReplyError, ServerError
from assay.policies.remote.joining import JOINERS
from assay.policies.remote.relay import RelayWire
from assay.policies.remote.rotations import Rotation
from assay.policies.remote.wire import LARGEST_REPLY, Wire
from assay.policies.simple import STILL
from assay.sim import Observation
from assay.tasks import Instruction

MOST_TOGETHER = 64
"""Requests that are sent as one."""


class Carrier(Protocol):
    """Carries messages to a server and back, one at a time. Whatever fails is a RemoteError, and closes it."""

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent."""
        ...

    def open(self, turn: int = 0) -> None:
        """Begin anew, with the copy of the server whose turn it is."""
        ...

    def ask(self, message: bytes) -> bytes | str:
        """Send a message; return the reply."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class RemotePolicy(ABC):
    """What clients of all protocols share.

    Nothing is connected before the first episode is reset. Whatever goes wrong is a RemoteError, and the next
    episode begins with a new connection.
    """

    scheme: ClassVar[str]
    """What addresses of the protocol begin with."""
    default: ClassVar[Convention]
    """What the protocol's servers expect."""
    port: ClassVar[int] = PORT
    """Where its servers listen unless they are told otherwise."""
    options: ClassVar[tuple[str, ...]] = ()
    """Options of an address that only this protocol has."""
    paths: ClassVar[bool] = True
    """Whether an address may have a path."""
    layouts: ClassVar[tuple[Layout, ...]] = tuple(Layout)
    """What of the robot's state the protocol has names for."""
    rotations: ClassVar[tuple[Rotation, ...]] = tuple(Rotation)
    """How it may write the hand's orientation."""

    def __init__(self, where: str) -> None:
        self.address = parse(
            where, self.scheme, port=self.port, path=self.paths, extra=(*self.options, "batch", "relay")
        )
        self.address.access.secret(self.address.text)  # a key that is missing is missed now
        self.convention = self.default.adjusted(self.address.adjusted)
        for name, valid in (("layout", self.layouts), ("rotation", self.rotations)):
            asked = getattr(self.convention, name)
            if asked not in valid:
                raise RemoteError(
                    self.address.text, f"{name}={asked} cannot be sent this way; valid: {', '.join(valid)}"
                )
        self.metadata: Mapping[str, Any] = {}
        """What the server said about itself when it was last connected to."""
        self.inference_ms: list[float] = []
        """Milliseconds that each decision of the episode took, where the server says so."""
        self.absolute = False
        """Whether the actions that were given last are poses to go to."""
        self.batch = self._batch()
        """How many requests of several workers may be sent as one."""
        self._turn = 0
        self._prompt = ""
        relay = self.address.extra.get("relay")
        self._wire = self.carrier() if relay is None else RelayWire(self.address, relay)

    def carrier(self) -> Carrier:
        """What carries messages: a websocket."""
        return Wire(self.address)

    def _batch(self) -> int:
        text = self.address.extra.get("batch", "1")
        if text != "1" and self.scheme not in JOINERS:
            raise PolicyError(
                f"{self.address.text}: batch: such a server takes one observation in a request; several: "
                f"{', '.join(f'{scheme}://' for scheme in JOINERS)}"
            )
        if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= MOST_TOGETHER:
            raise PolicyError(f"{self.address.text}: batch={text}: valid: 1 to {MOST_TOGETHER}")
        return int(text)

    @property
    def waiting(self) -> int:
        """Steps at the start of an episode in which the server has no say."""
        return self.convention.wait

    @abstractmethod
    def connect(self) -> None:
        """Connect anew and learn what the server says about itself. Raises RemoteError."""

    def reset(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Begin an episode; raises RemoteError if the server cannot be had.

        Of several copies of a server, the episode itself decides which plays it, whoever executes it.
        """
        turn = zlib.crc32(f"{spec.task} {spec.condition} {spec.seed}".encode()) % len(self.address.places)
        if turn != self._turn:
            self.close()
        self._turn, self._prompt, self.inference_ms = turn, instruction.text, []
        self._begin(instruction, spec)

    def instruct(self, instruction: Instruction) -> None:
        """Send another prompt from the next request on; the actions that are being executed are executed."""
        self._prompt = instruction.text

    @abstractmethod
    def _begin(self, instruction: Instruction, spec: EpisodeSpec) -> None:
        """Tell the server, where that is usual, that an episode begins; connect if there is no connection."""

    @abstractmethod
    def _ask(self, observation: Observation) -> object:
        """The actions that the server gives for an observation, as they came."""

    def act(self, observation: Observation) -> np.ndarray:
        """The still actions that are left to wait, or the next actions of the server's, (k, 7)."""
        left = self.convention.wait - observation.step
        self.absolute = self.convention.absolute and left <= 0
        if left > 0:
            return np.tile(STILL, (left, 1))
        return self.convention.executed(self.reply(observation))

    def foresee(self, observation: Observation) -> tuple[np.ndarray, int]:
        """The same with all actions of the reply, (k, 7), and how many of them are executed."""
        self.absolute = self.convention.absolute
        chunk = self.convention.adjusted({"replan": None}).executed(self.reply(observation))
        return chunk, self.convention.replan or len(chunk)

    def reply(self, observation: Observation) -> np.ndarray:
        """All actions of the server's for an observation, as they came: (k, 7). Raises RemoteError."""
        try:
            return checked_actions(self._ask(observation))
        except ValueError as error:
            raise self._refused(str(error)) from None

    def close(self) -> None:
        """End the connection; another episode opens it again."""
        self._wire.close()

    def _decoded(self, message: bytes | str) -> dict[Any, Any]:
        """A message as the map that it should be; text is what a server says when it breaks."""
        if isinstance(message, str):
            self._wire.close()
            lines = message.strip().splitlines()
            raise ServerError(
                self.address.text, f"the server failed: {lines[-1] if lines else 'no reason given'}"
            )
        try:
            decoded = codec.decode(message, largest=LARGEST_REPLY)
        except codec.CodecError as error:
            raise self._refused(str(error)) from None
        if not isinstance(decoded, dict):
            raise self._refused(f"a reply should be a map, not {codec.brief(decoded)}")
        return decoded

    def _timed(self, milliseconds: object) -> None:
        """Keep how long the server says that a decision took, if it says so."""
        if isinstance(milliseconds, float | int) and math.isfinite(milliseconds) and milliseconds >= 0:
            self.inference_ms.append(float(milliseconds))

    def _refused(self, reason: str) -> ReplyError:
        """The error for an answer that makes no sense; whoever sent it is not asked again."""
        self._wire.close()
        return ReplyError(self.address.text, reason)
