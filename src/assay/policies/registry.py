"""Policies by address: built-in names, or ``python:pkg.module:Class`` for anyone's own."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType

from assay.errors import PolicyError, did_you_mean
from assay.policies.base import Policy
from assay.policies.oracle.policy import Oracle
from assay.policies.simple import Idle, Random

BUILT_IN: Mapping[str, Callable[[], Policy]] = MappingProxyType(
    {"oracle": Oracle, "idle": Idle, "random": Random}
)
PYTHON = "python:"


def load_policy(address: str) -> Policy:
    """A new policy. Raises PolicyError that says what would be valid."""
    if address.startswith(PYTHON):
        return _from_python(address)
    if address not in BUILT_IN:
        raise PolicyError(
            f"there is no policy '{address}': {did_you_mean(address, BUILT_IN)} (or python:pkg.module:Class)"
        )
    return BUILT_IN[address]()


def _from_python(address: str) -> Policy:
    module, _, name = address.removeprefix(PYTHON).partition(":")
    if not module or not name:
        raise PolicyError(f"'{address}' should be python:pkg.module:Class")
    try:
        offered = vars(importlib.import_module(module))
    except Exception as error:  # whatever somebody's module raises
        raise PolicyError(f"'{address}': {module} cannot be imported: {_one_line(error)}") from error
    if name not in offered:
        classes = [key for key, value in offered.items() if isinstance(value, type)]
        raise PolicyError(f"'{address}': {module} has no {name}: {did_you_mean(name, classes)}")
    try:
        policy: Policy = offered[name]()
    except Exception as error:
        raise PolicyError(f"'{address}': {name}() failed: {_one_line(error)}") from error
    missing = [method for method in ("reset", "act") if not callable(getattr(policy, method, None))]
    if missing:
        raise PolicyError(f"'{address}': {name} has no {' and no '.join(missing)}")
    return policy


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
