"""Serve a policy of ours to other people's harnesses."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import parse_qsl, urlsplit

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from assay.episodes import Policy, Privileged
from assay.errors import AssayError, PolicyError, did_you_mean
from assay.policies.registry import load_policy
from assay.policies.remote.openpi import OpenPISession
from assay.policies.remote.served import LARGEST_REQUEST, Session
from assay.policies.remote.vla_eval import VlaEvalSession

PROTOCOLS: Mapping[str, type[Session]] = MappingProxyType(
    {"openpi": OpenPISession, "vla-eval": VlaEvalSession}
)
HEALTH = ("/healthz", "/health")
"""Where openpi's and vla-eval's tools ask by HTTP whether a server is ready."""
CONFIG = "/config"
"""Where vla-eval's tools ask what can be set while a server runs; of ours, nothing."""
BROKEN = 1011
"""The close code for a server that failed."""

_QUIET = logging.getLogger("assay.serve")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False


class Server:
    """A policy at a port. Each connection talks to a policy object of its own."""

    def __init__(self, policy: str, protocol: str, *, replan: int | None = None) -> None:
        if protocol not in PROTOCOLS:
            raise PolicyError(f"there is no protocol '{protocol}': {did_you_mean(protocol, PROTOCOLS)}")
        self._session = PROTOCOLS[protocol]
        self._protocol = protocol
        self._policy = policy
        self._replan = replan
        self._free = [servable(policy)]

    async def run(self, host: str, port: int, ready: Callable[[str], None] = lambda address: None) -> None:
        """Serve until cancelled; ``ready`` is told the address, where port 0 is any that was free.

        Raises PolicyError if it cannot listen there.
        """
        try:
            server = await serve(
                self._converse,
                host,
                port,
                process_request=_health,
                compression=None,
                max_size=LARGEST_REQUEST,
                ping_interval=None,
                logger=_QUIET,
            )
        except (OSError, UnicodeError) as error:
            raise PolicyError(f"{host}:{port}: {_why(error)}") from None
        try:
            ready(f"{self._protocol}://{host}:{next(iter(server.sockets)).getsockname()[1]}")
            await server.serve_forever()
        finally:
            server.close()
            await server.wait_closed()

    async def _converse(self, connection: ServerConnection) -> None:
        """Talk to one client until it leaves. Policies are kept for the next: making one may load a model."""
        policy: Policy | None = None
        try:
            policy = self._free.pop() if self._free else await asyncio.to_thread(servable, self._policy)
            session = self._session(policy, self._policy, self._replan)
            greeting = session.greeting()
            if greeting is not None:
                await connection.send(greeting)
            async for message in connection:
                if not await _answered(connection, session, message):
                    break
        except ConnectionClosed:
            pass
        except AssayError as error:
            await connection.close(BROKEN, _one_line(error)[:100])
        finally:
            if policy is not None:
                self._free.append(policy)


def servable(address: str) -> Policy:
    """A new policy that can act on what comes over a wire. Raises PolicyError."""
    policy = load_policy(address)
    if isinstance(policy, Privileged):
        raise PolicyError(
            f"'{address}' needs the simulator's state, which is not sent over a wire: it cannot be served"
            " (random, idle, learned?checkpoint=FILE and python:pkg.module:Class can)"
        )
    return policy


async def _answered(connection: ServerConnection, session: Session, message: bytes | str) -> bool:
    """Answer a message; say whether the conversation goes on."""
    ends = False
    reply: bytes | str | None
    try:
        if isinstance(message, str):
            raise PolicyError("a message should be binary, not text")
        reply = await asyncio.to_thread(session.answer, message)
    except Exception as error:  # whatever somebody's policy raises
        reply, ends = session.complaint(_one_line(error))
    if reply is not None:
        await connection.send(reply)
    if ends:
        await connection.close(BROKEN, "the policy failed; the message before says why")
    return not ends


def _health(connection: ServerConnection, request: Request) -> Response | None:
    """Answer what tools ask by HTTP; anything else is a websocket."""
    asked = urlsplit(request.path)
    if asked.path in HEALTH:
        return connection.respond(HTTPStatus.OK, "OK\n")
    if asked.path != CONFIG:
        return None
    unknown = [f"unknown key: {name}" for name, _ in parse_qsl(asked.query, keep_blank_values=True)]
    status = HTTPStatus.UNPROCESSABLE_ENTITY if unknown else HTTPStatus.OK
    said: dict[str, object] = {"errors": unknown} if unknown else {"applied": {}, "config": {}}
    return connection.respond(status, json.dumps(said) + "\n")


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return "something else listens there; choose another port with --port (0 takes any that is free)"
    return getattr(error, "strerror", None) or str(error)


def _one_line(error: Exception) -> str:
    kind = "" if isinstance(error, AssayError) else f"{type(error).__name__}: "
    return " ".join(f"{kind}{error}".split())[:300]
