"""Policies by address: built-in names, ``python:pkg.module:Class``, or a server: ``openpi://host:port``.

A question mark sets fields: ``clumsy?miss=0.3``, ``replay?seeds=0,1``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from assay.addresses import configured
from assay.errors import PolicyError, did_you_mean
from assay.policies.base import Policy
from assay.policies.calibration import Blind, Clumsy, Colour, Keyword, Nearest, Replay, Semantic
from assay.policies.oracle.policy import Oracle
from assay.policies.remote.client import RemotePolicy
from assay.policies.remote.registry import load_remote
from assay.policies.simple import Idle, Random

BUILT_IN: Mapping[str, Callable[[], Policy]] = MappingProxyType(
    {
        "oracle": Oracle,
        "replay": Replay,
        "blind": Blind,
        "keyword": Keyword,
        "semantic": Semantic,
        "clumsy": Clumsy,
        "colour": Colour,
        "nearest": Nearest,
        "random": Random,
        "idle": Idle,
    }
)
PYTHON = "python:"


def load_policy(address: str) -> Policy:
    """A new policy. Raises PolicyError that says what would be valid."""
    if "://" in address:
        return load_remote(address)
    policy: Policy = made_policy(address, BUILT_IN, "openpi://host:port, vla-eval://host:port")
    return policy


def made_policy(address: str, built_in: Mapping[str, Callable[..., Any]], servers: str = "") -> Any:
    """A new policy of this process: one of the built-in ones, or ``python:pkg.module:Class``."""
    name, _, query = address.partition("?")
    if name.startswith(PYTHON):
        made = _from_python(name)
    elif name in built_in:
        made = built_in[name]
    else:
        others = ", ".join(each for each in ("python:pkg.module:Class", servers) if each)
        raise PolicyError(f"there is no policy '{name}': {did_you_mean(name, built_in)} (or {others})")
    policy = _configured(made, query, address)
    missing = [method for method in ("reset", "act") if not callable(getattr(policy, method, None))]
    if missing:
        raise PolicyError(f"'{address}': {type(policy).__name__} has no {' and no '.join(missing)}")
    return policy


def check_address(address: str) -> dict[str, str]:
    """Raise PolicyError if an address cannot be right, or nobody answers there; nobody's own code is loaded.

    Returns what a server says about itself.
    """
    if address.startswith(PYTHON):
        return {}
    policy = load_policy(address)
    if not isinstance(policy, RemotePolicy):
        return {}
    policy.connect()
    said = {str(name): str(value)[:200] for name, value in policy.metadata.items()}
    policy.close()
    return said


def _from_python(address: str) -> Callable[[], Any]:
    module, _, name = address.removeprefix(PYTHON).partition(":")
    if not module or not name:
        raise PolicyError(f"'{address}' should be python:pkg.module:Class")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # as python itself does for a script of one's own
    try:
        offered = vars(importlib.import_module(module))
    except Exception as error:  # whatever somebody's module raises
        raise PolicyError(f"'{address}': {module} cannot be imported: {_one_line(error)}") from error
    if name not in offered:
        classes = [key for key, value in offered.items() if isinstance(value, type)]
        raise PolicyError(f"'{address}': {module} has no {name}: {did_you_mean(name, classes)}")
    made = offered[name]
    if not callable(made):
        raise PolicyError(f"'{address}': {name} is a {type(made).__name__}, not a class")
    return made  # type: ignore[no-any-return]


def _configured(made: Callable[..., Any], query: str, address: str) -> Any:
    """Make a policy, with the fields that a query sets."""
    try:
        return configured(made, query, address, PolicyError)
    except PolicyError as error:
        text = str(error)
        raise PolicyError(text if text.startswith("'") else f"'{address}': {text}") from None
    except Exception as error:
        name = getattr(made, "__name__", address)
        raise PolicyError(f"'{address}': {name}() failed: {_one_line(error)}") from error


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
