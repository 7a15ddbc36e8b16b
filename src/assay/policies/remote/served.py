"""The server's half of a conversation, whatever the protocol: one connection, one policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np

from assay.episodes import EpisodeSpec, Policy
from assay.errors import PolicyError
from assay.policies.remote import codec
from assay.policies.remote.convention import Convention, checked_actions
from assay.policies.remote.received import Received
from assay.sim import Observation
from assay.tasks import Instruction

LARGEST_REQUEST = 32 * 2**20
"""Bytes: two pictures of 2,048 pixels a side and more."""
PACK = "served"
"""In place of an asset pack's name, in the spec of a served episode."""


class Session(ABC):
    """One client's conversation with one policy."""

    convention: ClassVar[Convention]

    def __init__(self, policy: Policy, name: str, replan: int | None) -> None:
        self.policy = policy
        self.name = name
        self.replan = replan
        """Actions taken of each chunk; None is all of them."""
        self._prompt: str | None = None
        self._seen = 0

    @abstractmethod
    def greeting(self) -> bytes | None:
        """What the client is told on connecting."""

    @abstractmethod
    def answer(self, message: bytes) -> bytes | None:
        """The reply to a message, if it needs one. Whatever it raises becomes a complaint."""

    @abstractmethod
    def complaint(self, reason: str) -> tuple[bytes | str, bool]:
        """How a client is told that its last message failed, and whether the connection ends with that."""

    def begins(self, prompt: str) -> bool:
        """Whether an observation with this prompt begins an episode."""
        return prompt != self._prompt

    def begin(self, prompt: str, task: str, seed: int) -> None:
        """Reset the policy for an episode."""
        self.policy.reset(Instruction(prompt), EpisodeSpec(task, seed, PACK))
        self._prompt = prompt
        self._seen = 0

    def end(self) -> None:
        """Forget the episode: the next observation begins another."""
        self._prompt = None

    def look(self, pictures: Mapping[str, object], state: object, *, least: int = 1) -> np.ndarray:
        """The policy's next actions for what came over the wire, (k, 7).

        A policy that gives fewer than ``least`` is asked again with the same observation.
        """
        received = Received(self.convention, pictures, state, self._seen)
        self._seen += 1
        chunks: list[np.ndarray] = []
        while sum(map(len, chunks)) < least:
            given = self.policy.act(cast(Observation, received))
            try:
                chunks.append(checked_actions(given))
            except ValueError as error:
                raise PolicyError(f"{self.name}: {error}") from None
        return self.convention.replied(np.concatenate(chunks)[: self.replan])


def read(message: bytes) -> dict[Any, Any]:
    """A client's message as the map that it should be. Raises PolicyError."""
    try:
        decoded = codec.decode(message, largest=LARGEST_REQUEST)
    except codec.CodecError as error:
        raise PolicyError(str(error)) from None
    if not isinstance(decoded, dict):
        raise PolicyError(f"a message should be a map, not {codec.brief(decoded)}")
    return decoded


def text(message: Mapping[Any, Any], key: str) -> str:
    """A text in a message. Raises PolicyError."""
    value = message.get(key)
    if not isinstance(value, str):
        raise PolicyError(f"'{key}' should be a text, not {codec.brief(value)}")
    return value
