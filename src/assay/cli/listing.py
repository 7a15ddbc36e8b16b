"""What lists of policies and experiments share: what something is, and the fields that its address may set."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from rich.text import Text


def described(about: str, made: Callable[..., object]) -> Text:
    """What it is and, on a line of their own, its fields with their defaults: ``miss=0.5``."""
    fields = inspect.signature(made).parameters.values()
    told = "  ".join(_field(field) for field in fields if field.kind is not field.VAR_KEYWORD)
    return Text.assemble(about, Text(f"\n{told}" if told else "", "dim"))


def _field(parameter: inspect.Parameter) -> str:
    """As an address spells it; its name alone where it has no default, or an empty one."""
    value = parameter.default
    if value is parameter.empty or value in ("", (), None):
        return f"{parameter.name}=..."
    plain = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"{parameter.name}={plain.lower() if isinstance(value, bool) else plain}"
