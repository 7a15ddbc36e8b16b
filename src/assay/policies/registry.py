"""Policies by address: built-in names, or ``python:pkg.module:Class`` for anyone's own.

A question mark sets fields: ``clumsy?miss=0.03``, ``replay?seeds=0,1``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from types import MappingProxyType
from typing import Any, get_origin, get_type_hints
from urllib.parse import parse_qsl

from pydantic import TypeAdapter, ValidationError

from assay.errors import PolicyError, did_you_mean
from assay.policies.base import Policy
from assay.policies.calibration import Blind, Clumsy, Colour, Keyword, Nearest, Replay
from assay.policies.oracle.policy import Oracle
from assay.policies.simple import Idle, Random

BUILT_IN: Mapping[str, Callable[[], Policy]] = MappingProxyType(
    {
        "oracle": Oracle,
        "replay": Replay,
        "blind": Blind,
        "keyword": Keyword,
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
    name, _, query = address.partition("?")
    made = _from_python(name) if name.startswith(PYTHON) else _built_in(name)
    policy = _configured(made, query, address)
    missing = [method for method in ("reset", "act") if not callable(getattr(policy, method, None))]
    if missing:
        raise PolicyError(f"'{address}': {type(policy).__name__} has no {' and no '.join(missing)}")
    return policy


def check_address(address: str) -> None:
    """Raise PolicyError if an address cannot be right; nobody's own code is loaded for it."""
    if not address.startswith(PYTHON):
        load_policy(address)


def _built_in(name: str) -> Callable[[], Any]:
    if name not in BUILT_IN:
        raise PolicyError(
            f"there is no policy '{name}': {did_you_mean(name, BUILT_IN)} (or python:pkg.module:Class)"
        )
    return BUILT_IN[name]


def _from_python(address: str) -> Callable[[], Any]:
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
    made = offered[name]
    if not callable(made):
        raise PolicyError(f"'{address}': {name} is a {type(made).__name__}, not a class")
    return made  # type: ignore[no-any-return]


def _configured(made: Callable[..., Any], query: str, address: str) -> Policy:
    """Make a policy, with the fields that a query sets."""
    given: dict[str, str] = {}
    for part, (name, value) in zip(query.split("&"), parse_qsl(query, keep_blank_values=True), strict=False):
        if "=" not in part or name in given:
            raise PolicyError(f"'{address}': '{part}' should be a field=value, each field once")
        given[name] = value
    known = [field.name for field in fields(made)] if is_dataclass(made) and isinstance(made, type) else []
    for name in given:
        if name not in known:
            raise PolicyError(
                f"'{address}' has no field '{name}': {did_you_mean(name, known) if known else 'it has none'}"
            )
    try:
        if not given:
            return made()  # type: ignore[no-any-return]
        arguments = {name: _parsed(made, name, text) for name, text in given.items()}
        return made(**arguments)  # type: ignore[no-any-return]
    except ValidationError as error:
        first = error.errors()[0]
        raise PolicyError(f"'{address}': {first['msg'].lower()}, got '{first['input']}'") from None
    except Exception as error:
        name = getattr(made, "__name__", address)
        raise PolicyError(f"'{address}': {name}() failed: {_one_line(error)}") from error


def _parsed(made: Callable[..., Any], name: str, text: str) -> object:
    """A field's value from its text, by its type; sequences are separated by commas."""
    kind = get_type_hints(made)[name]
    given: object = [part for part in text.split(",") if part] if get_origin(kind) in (tuple, list) else text
    return TypeAdapter(kind).validate_python(given)


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
