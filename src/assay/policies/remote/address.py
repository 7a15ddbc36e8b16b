"""Where a policy server is, and what is known about it: ``openpi://host:port?replan=5&timeout=60``.

Several copies of a server are written with commas, ``openpi://a:8000,a:8001,b:8000``: they share the episodes out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field

from assay.errors import PolicyError, did_you_mean
from assay.policies.remote.convention import ADJUSTABLE, CLIENTS, adjustments, validated

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""The name of an environment variable."""
AUTHORITY = re.compile(r"([^/?#]*(?://)?)([^/?#]*)(.*)", re.DOTALL)
"""What comes before the hosts of an address, the hosts, and what comes after them; of any text."""
PORT = 8000
"""Where most kinds of server listen unless they are told otherwise."""

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a server."""

    timeout: Seconds = 60.0
    """Seconds for one reply, from the first byte sent to the last received."""
    connect: Seconds = 10.0
    """Seconds in which a connection is tried again and again."""


@dataclass(frozen=True, slots=True)
class Access:
    """How to be let in."""

    tls: bool = False
    """Whether the connection is encrypted."""
    key: str = ""
    """The environment variable that holds the key, which is sent as ``Authorization: Api-Key ...``, openpi's way."""
    bearer: str = ""
    """The environment variable that holds the key, which is sent as ``Authorization: Bearer ...``, vLLM's way."""

    def secret(self, address: str) -> str:
        """The key itself; empty if none is needed. Raises PolicyError."""
        name = self.key or self.bearer
        option = "key" if self.key else "bearer"
        if name and not VARIABLE.fullmatch(name):  # perhaps the key itself, which nobody should read here
            raise PolicyError(
                f"{address}: {option}: not the name of an environment variable (letters, digits and _), which "
                f"should hold the key; valid: {option}=ROBOT_KEY"
            )
        found = os.environ.get(name, "")
        if name and not found:
            raise PolicyError(
                f"{address}: {option}: there is no environment variable of that name, or it is empty; valid: "
                f"{option}=NAME of one that holds the key"
            )
        return found

    def headers(self, address: str) -> dict[str, str]:
        """What goes with every request. Raises PolicyError."""
        secret = self.secret(address)
        return {"Authorization": f"{'Api-Key' if self.key else 'Bearer'} {secret}"} if secret else {}


@dataclass(frozen=True, slots=True)
class Address:
    """A server's address, taken apart."""

    text: str
    """``scheme://host:port/path``, for people."""
    places: tuple[str, ...]
    """``host:port/path`` of each copy of the server."""
    patience: Patience
    access: Access
    adjusted: Mapping[str, object]
    """Fields of the convention that the address sets."""
    extra: Mapping[str, str]
    """Options that only this kind of server has."""

    def urls(self, transport: str) -> tuple[str, ...]:
        """Where the copies are, for ``ws``, ``http`` or ``tcp``; the first two become ``wss`` and ``https``."""
        kind = f"{transport}s" if self.access.tls else transport
        return tuple(f"{kind}://{place}" for place in self.places)


def parse(
    address: str, scheme: str, *, port: int = PORT, path: bool = True, extra: tuple[str, ...] = ()
) -> Address:
    """Take an address apart; ``path``: whether it may have one. Raises PolicyError that says what would be valid."""
    valid = f"{scheme}://host:port"
    shown = without_secrets(address)
    try:
        # One by one: several hosts with commas are no URL, which newer versions of Python say of [::1] among them.
        before, hosts_of, after = AUTHORITY.match(address).groups()  # type: ignore[union-attr]
        copies = [urlsplit(f"//{each}") for each in hosts_of.split(",")]
        parts = urlsplit(f"{before}{hosts_of.split(',')[0]}{after}")
        hosts = [(copy.hostname, copy.port) for copy in copies]
    except ValueError as error:
        reason = "its host or its port is none" if "@" in address else error  # which may repeat a password
        raise PolicyError(f"'{shown}': {reason}; valid: {valid}") from None
    beyond = parts.path if parts.path != "/" else ""
    if (
        parts.scheme != scheme
        or not all(host for host, _ in hosts)
        or (beyond and not path)
        or parts.fragment
        or "@" in hosts_of
        or any(each.isspace() for each in hosts_of)
    ):
        raise PolicyError(f"'{shown}' should be {valid}{'' if path or not beyond else ', without a path'}")
    places = tuple(
        f"{f'[{host}]' if ':' in str(host) else host}:{port if number is None else number}"
        for host, number in hosts
    )
    text = f"{scheme}://{','.join(places)}{beyond}"
    given = _options(parts.query, shown, extra)
    patience, access = (
        {
            field.name: validated(kind, field.name, given.pop(field.name), text)
            for field in fields(kind)
            if field.name in given
        }
        for kind in (Patience, Access)
    )
    own = {name: given.pop(name) for name in extra if name in given}
    return Address(
        text,
        tuple(f"{place}{beyond}" for place in places),
        Patience(**patience),  # type: ignore[arg-type]
        Access(**access),  # type: ignore[arg-type]
        adjustments(given, text),
        own,
    )


def without_secrets(address: str) -> str:
    """An address as errors show it: without a password, and without a key that somebody wrote there by mistake."""
    hidden = re.sub(r"(?<=//).*@", "...@", address, flags=re.DOTALL)  # a password may have a slash in it
    return re.sub(r"(?<=[?&])(key|bearer)=[^&#]*", r"\1=...", hidden)


def _options(query: str, address: str, extra: tuple[str, ...]) -> dict[str, str]:
    """The options of an address, as texts; those of a client that it names first, and then its own."""
    valid = (
        *ADJUSTABLE,
        "client",
        *(field.name for kind in (Patience, Access) for field in fields(kind)),
        *extra,
    )
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
