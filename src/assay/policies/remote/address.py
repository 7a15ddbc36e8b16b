"""Addresses of policy servers: ``openpi://host:port?replan=5&timeout=60``.

Several copies of a server are separated by commas, ``openpi://a:8000,a:8001,b:8000``; the episodes are distributed
among them.
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
from assay.policies.remote.convention import ADJUSTABLE, CLIENTS, Convention, parse_field

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Pattern for the name of an environment variable."""
AUTHORITY = re.compile(r"([^/?#]*(?://)?)([^/?#]*)(.*)", re.DOTALL)
"""Pattern that splits any text into the parts before, within and after the hosts of an address."""
DEFAULT_PORT = 8000

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Time limits for a server."""

    timeout: Seconds = 60.0
    """Time limit for one reply, in seconds, from the first byte sent to the last byte received."""
    connect: Seconds = 10.0
    """Time, in seconds, for which connection attempts are repeated."""


@dataclass(frozen=True, slots=True)
class Access:
    """Encryption and authentication."""

    tls: bool = False
    """Whether the connection is encrypted."""
    key: str = ""
    """Environment variable that holds the key sent as ``Authorization: Api-Key ...`` (openpi)."""
    bearer: str = ""
    """Environment variable that holds the key sent as ``Authorization: Bearer ...`` (vLLM)."""

    def secret(self, address: str) -> str:
        """Return the key; empty if the server needs none. Raises PolicyError."""
        name = self.key or self.bearer
        option = "key" if self.key else "bearer"
        if name and not VARIABLE.fullmatch(name):  # perhaps the key itself, which must not be printed
            raise PolicyError(
                f"{address}: {option}: expected the name of an environment variable that contains the key, "
                f"such as {option}=ROBOT_KEY"
            )
        value = os.environ.get(name, "")
        if name and not value:
            raise PolicyError(
                f"{address}: {option}: the environment variable is unset or empty; expected the name of a "
                "variable that contains the key"
            )
        return value

    def headers(self, address: str) -> dict[str, str]:
        """Return the HTTP headers of every request. Raises PolicyError."""
        secret = self.secret(address)
        return {"Authorization": f"{'Api-Key' if self.key else 'Bearer'} {secret}"} if secret else {}


@dataclass(frozen=True, slots=True)
class Address:
    """The parsed address of a server."""

    text: str
    """Address without options, for messages: ``scheme://host:port/path``."""
    places: tuple[str, ...]
    """``host:port/path`` of each copy of the server."""
    timeouts: Timeouts
    access: Access
    adjusted: Mapping[str, object]
    """Convention fields that the address sets."""
    extra: Mapping[str, str]
    """Options that are specific to this kind of server."""

    @classmethod
    def parse(
        cls,
        address: str,
        scheme: str,
        *,
        port: int = DEFAULT_PORT,
        path: bool = True,
        extra: tuple[str, ...] = (),
    ) -> Address:
        """Parse an address; ``path``: whether a path is allowed. Raises PolicyError, listing the valid values."""
        valid = f"{scheme}://host:port"
        shown = re.sub(r"(?<=//).*@", "...@", address, flags=re.DOTALL)  # a password may contain a slash
        shown = re.sub(r"(?<=[?&])(key|bearer)=[^&#]*", r"\1=...", shown)
        try:
            # Host by host: several hosts with commas are not a URL, and newer versions of Python reject [::1] in them.
            before, authority, after = AUTHORITY.match(address).groups()  # type: ignore[union-attr]
            copies = [urlsplit(f"//{host}") for host in authority.split(",")]
            parts = urlsplit(f"{before}{authority.split(',')[0]}{after}")
            hosts = [(copy.hostname, copy.port) for copy in copies]
        except ValueError as error:
            # The error may repeat a password.
            reason = "the host or port is invalid" if "@" in address else error
            raise PolicyError(f"'{shown}': {reason}; expected {valid}") from None
        beyond = parts.path if parts.path != "/" else ""
        if (
            parts.scheme != scheme
            or not all(host for host, _ in hosts)
            or (beyond and not path)
            or parts.fragment
            or "@" in authority
            or any(letter.isspace() for letter in authority)
        ):
            raise PolicyError(
                f"'{shown}' should be {valid}{'' if path or not beyond else ', without a path'}"
            )
        places = tuple(
            f"{f'[{host}]' if ':' in str(host) else host}:{port if number is None else number}"
            for host, number in hosts
        )
        text = f"{scheme}://{','.join(places)}{beyond}"
        setting = tuple(field.name for kind in (Timeouts, Access) for field in fields(kind))
        names = (*ADJUSTABLE, "client", *setting, *extra)
        options: dict[str, str] = {}
        for name, value in parse_qsl(parts.query, keep_blank_values=True):
            if name not in names:
                raise PolicyError(f"'{shown}' has no option '{name}': {did_you_mean(name, names)}")
            if name in options:
                raise PolicyError(f"'{shown}' sets '{name}' twice")
            options[name] = value
        client = options.pop("client", None)
        if client is not None and client not in CLIENTS:
            raise PolicyError(f"'{shown}': there is no client '{client}': {did_you_mean(client, CLIENTS)}")
        options = {**CLIENTS.get(client or "", {}), **options}
        timeouts, access = (
            {
                field.name: parse_field(kind, field.name, options.pop(field.name), text)
                for field in fields(kind)
                if field.name in options
            }
            for kind in (Timeouts, Access)
        )
        own = {name: options.pop(name) for name in extra if name in options}
        return cls(
            text,
            tuple(f"{place}{beyond}" for place in places),
            Timeouts(**timeouts),  # type: ignore[arg-type]
            Access(**access),  # type: ignore[arg-type]
            {name: parse_field(Convention, name, value, text) for name, value in options.items()},
            own,
        )
