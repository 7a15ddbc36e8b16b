"""Addresses of policy servers: ``openpi://host:port?replan=5&timeout=60``.

The addresses of several copies of a server are separated by commas, ``openpi://a:8000,a:8001,b:8000``; the
episodes are distributed among them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field

from assay.errors import PolicyError, did_you_mean
from assay.policies.remote.convention import ADJUSTABLE, CLIENTS, Convention, parse_field
from assay.support.peers import mask_key

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Pattern for the name of an environment variable."""
AUTHORITY = re.compile(r"([^/?#]*(?://)?)([^/?#]*)(.*)", re.DOTALL)
"""Pattern that splits any text into the parts before, within and after the hosts of an address."""
DEFAULT_PORT = 8000

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Time limits, encryption, authentication and batching."""

    timeout: Seconds = 60.0
    """Time limit for one reply, in seconds, from the first byte sent to the last byte received."""
    connect: Seconds = 10.0
    """Time, in seconds, during which connection attempts are repeated."""
    tls: bool = False
    """Whether the connection is encrypted."""
    key: str = ""
    """Environment variable that contains the key sent as ``Authorization: Api-Key ...`` (openpi)."""
    bearer: str = ""
    """Environment variable that contains the key sent as ``Authorization: Bearer ...`` (vLLM)."""
    batch: Annotated[int, Field(ge=1, le=64)] = 1
    """Maximum number of requests from several workers that are sent as one batch (starVLA, GR00T)."""


@dataclass(frozen=True, slots=True)
class Address:
    """The parsed address of a policy server."""

    text: str
    """Address without options, for messages: ``scheme://host:port/path``."""
    places: tuple[str, ...]
    """``host:port/path`` of each copy of the server."""
    options: ServerOptions
    adjusted: Mapping[str, object]
    """Fields of the convention that the address sets."""
    extra: Mapping[str, str]
    """Options that are specific to this kind of server."""

    def secret(self) -> str:
        """Return the key from the environment; empty if the address names no variable. Raises PolicyError."""
        option = "key" if self.options.key else "bearer"
        name = self.options.key or self.options.bearer
        if not name:
            return ""
        # The message does not repeat the value, which may be the key itself rather than the name of a variable.
        value = os.environ.get(name, "") if VARIABLE.fullmatch(name) else ""
        if not value:
            raise PolicyError(
                f"{self.text}: {option}: expected the name of an environment variable that contains the key, such as "
                f"{option}=ROBOT_KEY; the variable does not exist or is empty"
            )
        return value

    def headers(self) -> dict[str, str]:
        """Return the HTTP headers of every request. Raises PolicyError."""
        secret = self.secret()
        return {"Authorization": f"{'Api-Key' if self.options.key else 'Bearer'} {secret}"} if secret else {}

    def mask(self, value: Any) -> Any:
        """Return a reply or a message in which the key is replaced by ``[key]``."""
        name = self.options.key or self.options.bearer
        return mask_key(value, os.environ.get(name) if name else None)

    @classmethod
    def parse(
        cls,
        address: str,
        scheme: str,
        *,
        port: int = DEFAULT_PORT,
        allows_path: bool = True,
        extra: tuple[str, ...] = (),
    ) -> Address:
        """Parse an address. Raises PolicyError, listing the valid values."""
        valid = f"{scheme}://host:port"
        shown = re.sub(r"(?<=//).*@", "...@", address, flags=re.DOTALL)  # a password may contain a slash
        shown = re.sub(r"(?<=[?&])(key|bearer)=[^&#]*", r"\1=...", shown)
        try:
            # Host by host: several hosts with commas are not a URL, and newer versions of Python reject [::1] in them.
            before, authority, after = AUTHORITY.match(address).groups()  # type: ignore[union-attr]
            parts = urlsplit(f"{before}{authority.split(',')[0]}{after}")
            urls = [urlsplit(f"//{host}") for host in authority.split(",")]
            hosts = [(url.hostname, url.port) for url in urls]
        except ValueError as error:
            reason = "the host or port is invalid" if "@" in address else error  # which may repeat a password
            raise PolicyError(f"'{shown}': {reason}; expected {valid}") from None
        path = parts.path if parts.path != "/" else ""
        if (
            parts.scheme != scheme
            or not all(host for host, _ in hosts)
            or (path and not allows_path)
            or parts.fragment
            or "@" in authority
            or any(letter.isspace() for letter in authority)
        ):
            raise PolicyError(
                f"'{shown}' should be {valid}{'' if allows_path or not path else ', without a path'}"
            )
        places = [
            f"{f'[{host}]' if ':' in str(host) else host}:{port if number is None else number}"
            for host, number in hosts
        ]
        text = f"{scheme}://{','.join(places)}{path}"
        settings = tuple(field.name for field in fields(ServerOptions))
        names = (*ADJUSTABLE, "client", *settings, *extra)
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
        parsed = {
            name: parse_field(ServerOptions, name, options.pop(name), text)
            for name in settings
            if name in options
        }
        own = {name: options.pop(name) for name in extra if name in options}
        adjusted = {name: parse_field(Convention, name, value, text) for name, value in options.items()}
        copies = tuple(f"{place}{path}" for place in places)
        return cls(text, copies, ServerOptions(**parsed), adjusted, own)  # type: ignore[arg-type]
