"""Addresses, which are names with fields: ``clumsy?miss=0.3``, ``para?per_cell=2``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_origin, get_type_hints
from urllib.parse import parse_qsl

from pydantic import TypeAdapter, ValidationError

from assay.errors import AssayError, did_you_mean


def call_with_fields(made: Callable[..., Any], query: str, address: str, error: type[AssayError]) -> Any:
    """Call ``made`` with the fields set by a query; exceptions raised by ``made`` are propagated."""
    values = arguments(made, query, address, error)
    try:
        inspect.signature(made).bind(**values)
    except TypeError as wrong:
        raise error(f"'{address}': {wrong}") from None
    except ValueError:  # a function written in C, without a signature
        pass
    return made(**values)


def arguments(
    made: Callable[..., Any], query: str, address: str, error: type[AssayError]
) -> dict[str, object]:
    """Return the fields set by a query, each parsed according to its type.

    Raises ``error`` with a one-line message for an unknown field or an invalid value.
    """
    texts: dict[str, str] = {}
    parts = [part for part in query.split("&") if part] if query else []
    for part in parts:
        pairs = parse_qsl(part.replace("+", "%2B"), keep_blank_values=True)  # keep plus signs: a+b.pt
        if "=" not in part or len(pairs) != 1 or pairs[0][0] in texts:
            raise error(f"'{address}': expected field=value, with each field once, got '{part}'")
        texts[pairs[0][0]] = pairs[0][1]
    try:
        hints = get_type_hints(made.__init__ if isinstance(made, type) else made)  # type: ignore[misc]
        parameters = tuple(inspect.signature(made).parameters.values())
    except (TypeError, ValueError, NameError):
        hints, parameters = {}, ()
    # An unannotated field has the type of its default.
    types = {
        field.name: hints.get(
            field.name, str if field.default in (field.empty, None) else type(field.default)
        )
        for field in parameters
        if field.kind in (field.POSITIONAL_OR_KEYWORD, field.KEYWORD_ONLY)
    }
    values: dict[str, object] = {}
    for name, text in texts.items():
        if name not in types:
            valid = did_you_mean(name, types) if types else "it takes no fields"
            raise error(f"'{address}' has no field '{name}': {valid}")
        is_sequence = get_origin(types[name]) in (tuple, list)  # items are separated by commas
        try:
            raw = [item for item in text.split(",") if item] if is_sequence else text
            values[name] = TypeAdapter(types[name]).validate_python(raw)
        except ValidationError as wrong:
            first = wrong.errors()[0]
            raise error(f"'{address}': {name}: {first['msg'].lower()}, got '{text}'") from None
    return values
