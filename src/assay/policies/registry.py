"""Policies by address: a world's own by name, ``python:pkg.module:Class``, a folder of LeRobot's,
``lerobot:PATH``, or a server: ``openpi://host:port``.

A question mark sets fields: ``clumsy?miss=0.3``, ``replay?seeds=0,1``.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.episodes import LIBERO, Policy, world_policies, world_servers
from assay.errors import PolicyError, did_you_mean, one_line, short_traceback
from assay.support.addresses import arguments
from assay.support.plugins import PYTHON, from_python, imported

LEROBOT = "lerobot:"
"""How the address of a policy of LeRobot's begins; its folder follows."""
NEEDED = ("reset", "act")
"""The methods of a policy."""


def load_policy(address: str, world: str = LIBERO) -> Policy:
    """A new policy that acts in a world. Raises PolicyError that says what would be valid."""
    made, query = maker(address, world)
    if "://" in address:
        client: Policy = made(address)
        return client
    try:
        policy = made(**arguments(made, query, address, PolicyError))
    except PolicyError as error:
        text = str(error)
        raise PolicyError(text if text.startswith("'") else f"'{address}': {text}") from None
    except Exception as error:  # whatever somebody's class raises
        name = getattr(made, "__name__", address)
        reason = one_line(error)
        broken = PolicyError(f"'{address}': {name}() failed: {reason}{_place(error)}")
        broken.traceback = short_traceback(error)
        raise broken from error
    missing = lacking(policy)
    if missing:
        raise PolicyError(f"'{address}': {type(policy).__name__} has no {missing}")
    return policy  # type: ignore[no-any-return]


def _place(error: BaseException) -> str:
    """File and line of somebody's code in which an exception arose, in brackets; empty where it is not known."""
    frames = traceback.extract_tb(error.__traceback__)
    return (
        f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})"
        if frames and short_traceback(error)
        else ""
    )


def lacking(policy: object) -> str:
    """The methods that something lacks to be a policy, in words; empty if it is one."""
    return " and no ".join(name for name in NEEDED if not callable(getattr(policy, name, None)))


def check_address(address: str, world: str = LIBERO) -> dict[str, str]:
    """Raise PolicyError if an address cannot be right, or no server answers there.

    Somebody's own class is imported and not made: that may take a GPU. Returns what a server, or a policy
    that knows how it came about, says of itself.
    """
    if address.startswith(PYTHON):
        made, query = maker(address, world)
        arguments(made, query, address, PolicyError)
        absent = [
            name for name in NEEDED if isinstance(made, type) and not callable(getattr(made, name, None))
        ]
        if absent:
            raise PolicyError(f"'{address}': {made.__name__} has no {' and no '.join(absent)}")
        return {}
    policy = load_policy(address, world)
    connect = getattr(policy, "connect", None)
    if connect is not None:
        connect()
    metadata: Mapping[str, object] = getattr(policy, "metadata", {})
    said = {str(name): str(value)[:200] for name, value in metadata.items()}
    close = getattr(policy, "close", None)
    if close is not None:
        close()
    return said


def maker(address: str, world: str) -> tuple[Callable[..., Any], str]:
    """What makes the policy of an address, and the fields that are set."""
    if "://" in address:
        scheme = address.partition("://")[0]
        servers = world_servers(world)
        if not servers:
            raise PolicyError(
                f"'{scheme}://': no server can act in the world '{world}'; valid: {_valid(world)}"
            )
        if scheme not in servers:
            nearest = did_you_mean(scheme, servers)
            raise PolicyError(f"there is no kind of policy server '{scheme}': {nearest}")
        return imported(servers[scheme]), ""
    name, _, query = address.partition("?")
    if name.startswith(LEROBOT):
        path = f"path={quote(name.removeprefix(LEROBOT), safe='/')}"
        name, query = LEROBOT.rstrip(":"), f"{path}&{query}" if query else path
    if name.startswith(PYTHON):
        made = from_python(name, PolicyError)
        if not callable(made):
            raise PolicyError(f"'{address}': it is a {type(made).__name__}, not a class")
        return made, query
    policies = world_policies(world)
    if name not in policies:
        nearest = did_you_mean(name, policies)
        raise PolicyError(f"there is no policy '{name}': {nearest} (or {_others(world)})")
    return imported(policies[name]), query


def _others(world: str) -> str:
    servers = (f"{scheme}://host:port" for scheme in world_servers(world))
    folders = (f"{LEROBOT}PATH",) if LEROBOT.rstrip(":") in world_policies(world) else ()
    return ", ".join((f"{PYTHON}pkg.module:Class", *folders, *servers))


def _valid(world: str) -> str:
    return ", ".join((*world_policies(world), _others(world)))
