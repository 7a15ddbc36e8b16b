"""Policies by address: a built-in name, ``python:pkg.module:Class``, ``lerobot:PATH``, or a server, ``openpi://host:port``.

Fields are set after a question mark: ``clumsy?miss=0.3``, ``replay?seeds=0,1``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from assay.episodes import LIBERO, Policy, world_policies, world_servers
from assay.errors import PolicyError, did_you_mean, one_line, short_traceback
from assay.support.addresses import arguments
from assay.support.plugins import from_python, import_object
from assay.support.trust import PYTHON

LEROBOT = "lerobot:"
"""Prefix of the address of a LeRobot policy; the policy's folder follows."""


def load_policy(address: str, world: str = LIBERO) -> Policy:
    """Create a new policy for a world. Raises PolicyError, listing the valid addresses."""
    factory, query = find_factory(address, world)
    if "://" in address:
        client: Policy = factory(address)
        return client
    try:
        policy: Policy = factory(**arguments(factory, query, address, PolicyError))
    except PolicyError as error:
        text = str(error)
        raise PolicyError(text if text.startswith("'") else f"'{address}': {text}") from None
    except Exception as error:  # anything that a user's class raises
        name = getattr(factory, "__name__", address)
        failure = PolicyError(f"'{address}': {name}() failed: {one_line(error)}")
        failure.traceback = short_traceback(error)
        raise failure from error
    if missing := missing_methods(policy):
        raise PolicyError(f"'{address}': {type(policy).__name__} has no {missing}")
    return policy


def missing_methods(policy: object) -> str:
    """Return the required methods that an object or class lacks, as text for a message; empty if it has all."""
    return " or ".join(f"{name}()" for name in ("reset", "act") if not callable(getattr(policy, name, None)))


def check_address(address: str, world: str = LIBERO) -> dict[str, str]:
    """Raise PolicyError if an address is invalid or no server answers there.

    A user's class is imported but not instantiated, because instantiating it may occupy a GPU. Returns the metadata of
    a server, or of a policy that provides metadata.
    """
    if address.startswith(PYTHON):
        factory, query = find_factory(address, world)
        arguments(factory, query, address, PolicyError)
        if isinstance(factory, type) and (missing := missing_methods(factory)):
            raise PolicyError(f"'{address}': {factory.__name__} has no {missing}")
        return {}
    policy, metadata = connect_policy(address, world)
    close_policy(policy)
    return metadata


def connect_policy(address: str, world: str = LIBERO) -> tuple[Policy, dict[str, str]]:
    """Create a policy, connect it to its server if it has one, and return the policy with its metadata.

    The metadata of a user's class is omitted, because a run with worker processes does not instantiate the class.
    """
    policy: Any = load_policy(address, world)
    if hasattr(policy, "connect"):
        policy.connect()
    metadata: Mapping[str, object] = {} if address.startswith(PYTHON) else getattr(policy, "metadata", {})
    return policy, {str(name): str(value)[:200] for name, value in metadata.items()}


def close_policy(policy: object) -> None:
    """Close a policy, if it can be closed."""
    close = getattr(policy, "close", None)
    if callable(close):
        close()


def find_factory(address: str, world: str) -> tuple[Callable[..., Any], str]:
    """Return the class or function that creates the policy at an address, and the query that sets its fields."""
    if "://" in address:
        scheme = address.partition("://")[0]
        servers = world_servers(world)
        if not servers:
            valid = ", ".join((*world_policies(world), _other_addresses(world)))
            raise PolicyError(
                f"'{scheme}://': the world '{world}' does not support policy servers; choose one of {valid}"
            )
        if scheme not in servers:
            raise PolicyError(f"unknown kind of policy server '{scheme}': {did_you_mean(scheme, servers)}")
        return import_object(servers[scheme]), ""
    name, _, query = address.partition("?")
    if name.startswith(LEROBOT):
        path = f"path={quote(name.removeprefix(LEROBOT), safe='/')}"
        name, query = LEROBOT.rstrip(":"), f"{path}&{query}" if query else path
    if name.startswith(PYTHON):
        if ".py:" in name:
            raise PolicyError(f"'{address}': did you mean {_suggest_python(name.removeprefix(PYTHON))}?")
        factory = from_python(name, PolicyError)
        if not callable(factory):
            raise PolicyError(f"'{address}' has the type {type(factory).__name__}; expected a class")
        return factory, query
    policies = world_policies(world)
    if name not in policies:
        if suggestion := _suggest_python(name):
            raise PolicyError(f"'{address}': did you mean {suggestion}?")
        nearest = did_you_mean(name, policies)
        raise PolicyError(f"there is no policy '{name}': {nearest} (or {_other_addresses(world)})")
    return import_object(policies[name]), query


def _suggest_python(name: str) -> str:
    """Return the address that was probably meant by ``my_policy.py``, ``my_policy.py:Mine`` or ``my_policy:Mine``, or
    nothing.

    A file outside the working directory is importable only from its own folder, which the suggestion then names.
    """
    module, _, attribute = name.partition(":")
    file = Path(module)
    if file.suffix == ".py":
        inside = file.resolve().is_relative_to(Path.cwd())
        path = file.resolve().relative_to(Path.cwd()) if inside else Path(file.name)
        module = ".".join(path.with_suffix("").parts)
        where = "" if inside else f" with {file.resolve().parent} on PYTHONPATH"
        return f"'{PYTHON}{module}:{attribute or 'Class'}'{where}"
    is_module = attribute.isidentifier() and all(part.isidentifier() for part in module.split("."))
    return f"'{PYTHON}{module}:{attribute}'" if is_module else ""


def _other_addresses(world: str) -> str:
    servers = (f"{scheme}://host:port" for scheme in world_servers(world))
    folders = (f"{LEROBOT}PATH",) if LEROBOT.rstrip(":") in world_policies(world) else ()
    return ", ".join((f"{PYTHON}pkg.module:Class", *folders, *servers))
