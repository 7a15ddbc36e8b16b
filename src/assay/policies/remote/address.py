"""Where a policy server is, and what is known about it: ``openpi://host:port?replan=5&timeout=60``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field

from assay.errors import PolicyError, did_you_mean
from assay.policies.remote.convention import ADJUSTABLE, CLIENTS, adjustments, validated

PORT = 8000
"""Where both kinds of server listen unless they are told otherwise."""

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a server."""

    timeout: Seconds = 60.0
    """Seconds for one reply, from the first byte sent to the last received."""
    connect: Seconds = 10.0
    """Seconds in which a connection is tried again and again."""


@dataclass(frozen=True, slots=True)
class Address:
    """A server's address, taken apart."""

    text: str
    """``scheme://host:port``, for people."""
    url: str
    """``ws://host:port``."""
    patience: Patience
    adjusted: Mapping[str, object]
    """Fields of the convention that the address sets."""


def parse(address: str, scheme: str) -> Address:
    """Take an address apart. Raises PolicyError that says what would be valid."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise PolicyError(f"'{address}': {error}; valid: {scheme}://host:port") from None
    if parts.scheme != scheme or not host or parts.path not in ("", "/") or parts.fragment or parts.username:
        raise PolicyError(f"'{address}' should be {scheme}://host:port")
    place = f"[{host}]" if ":" in host else host
    place = f"{place}:{PORT if port is None else port}"
    text = f"{scheme}://{place}"
    given = _options(parts.query, address)
    patience = {field.name: given.pop(field.name) for field in fields(Patience) if field.name in given}
    waits = {name: validated(Patience, name, value, text) for name, value in patience.items()}
    return Address(text, f"ws://{place}", Patience(**waits), adjustments(given, text))  # type: ignore[arg-type]


def _options(query: str, address: str) -> dict[str, str]:
    """The options of an address, as texts; those of a client that it names first, and then its own."""
    valid = (*ADJUSTABLE, "client", *(field.name for field in fields(Patience)))
    given: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in valid:
            raise PolicyError(f"'{address}' has no option '{name}': {did_you_mean(name, valid)}")
        if name in given:
            raise PolicyError(f"'{address}' sets '{name}' twice")
        given[name] = value
    client = given.pop("client", None)
    if client is not None and client not in CLIENTS:
        raise PolicyError(f"'{address}': there is no client '{client}': {did_you_mean(client, CLIENTS)}")
    return {**CLIENTS.get(client or "", {}), **given}
