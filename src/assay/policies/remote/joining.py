"""Requests of several episodes as one, for the servers that take several observations in a request.

starVLA's have a list of examples in each request, GR00T's a leading axis in every array. What requests have beside
their observations (options, scales, names and shapes of arrays) must be equal, or they are asked one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from assay.policies.remote import codec
from assay.policies.remote.wire import LARGEST_REPLY

LARGEST_REQUEST = 64 * 2**20
"""Bytes; two images of 1024 x 1024 are 6."""


@dataclass(frozen=True)
class Request:
    """A request, taken apart."""

    rest: bytes
    """All but the observations: requests with the same rest can be one."""
    message: Mapping[Any, Any]


class Joiner(Protocol):
    """How the requests of one protocol are joined."""

    speaks_first: bool
    """Whether its servers send a message on connecting."""

    def request(self, message: bytes) -> Request | None:
        """A request for actions, taken apart; None for any other message."""
        ...

    def joined(self, requests: Sequence[Request]) -> bytes:
        """Requests with the same rest as one."""
        ...

    def parted(self, reply: bytes | str, count: int) -> list[bytes] | None:
        """The reply to so many requests, for each; None where it is an error, or not for so many."""
        ...


class StarVlaJoiner:
    """``{"type": "infer", "payload": {"examples": [...]}}`` -> ``{"ok", "data": {"actions": (examples, k, 7)}}``."""

    speaks_first = True

    def request(self, message: bytes) -> Request | None:
        """One with a list of examples."""
        read = _read(message, LARGEST_REQUEST)
        payload = read.get("payload") if isinstance(read, dict) and read.get("type") == "infer" else None
        if not isinstance(payload, dict) or not isinstance(payload.get("examples"), list):
            return None
        rest = {name: value for name, value in payload.items() if name != "examples"}
        return Request(codec.encode_openpi(rest), read)

    def joined(self, requests: Sequence[Request]) -> bytes:
        """All examples in one list."""
        first = requests[0].message
        examples = [example for request in requests for example in request.message["payload"]["examples"]]
        return codec.encode_openpi({**first, "payload": {**first["payload"], "examples": examples}})

    def parted(self, reply: bytes | str, count: int) -> list[bytes] | None:
        """The actions of each example."""
        read = _read(reply, LARGEST_REPLY)
        data = read.get("data") if isinstance(read, dict) and read.get("ok") else None
        actions = data.get("actions") if isinstance(data, dict) else None
        if not isinstance(data, dict) or not isinstance(actions, np.ndarray) or len(actions) != count:
            return None
        return [
            codec.encode_openpi({**read, "data": {**data, "actions": actions[place : place + 1]}})
            for place in range(count)
        ]


class Gr00tJoiner:
    """``{"endpoint": "get_action", "data": {"observation"}}`` -> ``[action, info]``; arrays are (batch, time, ...)."""

    speaks_first = False

    def request(self, message: bytes) -> Request | None:
        """One for actions."""
        read = _read(message, LARGEST_REQUEST)
        data = read.get("data") if isinstance(read, dict) and read.get("endpoint") == "get_action" else None
        if not isinstance(data, dict) or not isinstance(data.get("observation"), dict):
            return None
        shapes = _each(data["observation"], lambda value: str(getattr(value, "shape", "")))
        rest = {**read, "data": {**data, "observation": shapes}}
        return Request(codec.encode_msgpack_numpy(rest), read)

    def joined(self, requests: Sequence[Request]) -> bytes:
        """Arrays and lists one after the other."""
        first = requests[0].message
        observations = [request.message["data"]["observation"] for request in requests]
        data = {**first["data"], "observation": _together(observations)}
        return codec.encode_msgpack_numpy({**first, "data": data})

    def parted(self, reply: bytes | str, count: int) -> list[bytes] | None:
        """The part of each in every array of the action."""
        read = _read(reply, LARGEST_REPLY)
        if not isinstance(read, list) or not read or not isinstance(read[0], dict):
            return None
        action = read[0]
        if not all(isinstance(part, np.ndarray) and len(part) == count for part in action.values()):
            return None
        return [
            codec.encode_msgpack_numpy(
                [{name: part[place : place + 1] for name, part in action.items()}, *read[1:]]
            )
            for place in range(count)
        ]


JOINERS: Mapping[str, Joiner] = {"starvla": StarVlaJoiner(), "gr00t": Gr00tJoiner()}
"""By scheme."""


def _read(message: bytes | str, largest: int) -> Any:
    """A message's content; None where it has none."""
    if isinstance(message, str):
        return None
    try:
        return codec.decode(message, largest=largest)
    except codec.CodecError:
        return None


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """Maps in maps, with what they hold changed."""
    if isinstance(value, dict):
        return {name: _each(one, change) for name, one in value.items()}
    return change(value)


def _together(values: Sequence[Any]) -> Any:
    """Maps of arrays, or of lists, joined along their first side."""
    first = values[0]
    if isinstance(first, dict):
        return {name: _together([value[name] for value in values]) for name in first}
    if isinstance(first, np.ndarray):
        return np.concatenate(values)
    return [one for value in values for one in value]
