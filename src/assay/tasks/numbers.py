"""Numbers as task files write them: ``0.25``, ``pi``, ``-np.pi/4``. Nothing is ever evaluated as code."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|(?P<pi>(?:(?:np|numpy|math)\.)?pi)|[-+*/]"
)
_MAX_LENGTH = 200


def evaluate(expression: str) -> float:
    """The value of numbers and pi joined by ``+ - * /``, with the precedence Python gives them.

    Raises ValueError with a reason ("is not a number", ...) if it is anything else, or not finite.
    """
    tokens = _tokens(expression)
    total, sign = 0.0, 1.0
    first = True
    while first or tokens:
        if not first:
            # _product stops only at an additive operator or at the end.
            sign = -1.0 if tokens.pop() == "-" else 1.0
        value = _product(tokens)
        # Not 0.0 + value: that would lose the sign of -0.0.
        total = value if first else total + sign * value
        first = False
    if not math.isfinite(total):
        raise ValueError("is not a finite number")
    return total


def expressions(words: Iterable[str]) -> list[str]:
    """Join words into expressions: ``-np.pi / 4 0`` is two of them, ``-np.pi/4`` and ``0``.

    A blank separates expressions unless an operator on one side of it cannot stand alone; a sign that
    touches what follows begins a new expression.
    """
    joined: list[str] = []
    for word in words:
        continues = bool(joined) and (joined[-1][-1] in "+-*/" or word[0] in "*/" or word in ("+", "-"))
        if continues:
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _tokens(expression: str) -> list[str]:
    """Tokens in reverse, so that the next one is popped off the end."""
    if len(expression) > _MAX_LENGTH:
        raise ValueError("is too long for a number")
    text = "".join(expression.lower().split())
    if text.lstrip("+-") in ("nan", "inf", "infinity"):
        raise ValueError("is not a finite number")
    tokens: list[str] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError("is not a number")
        tokens.append("pi" if match.lastgroup == "pi" else match.group())
        position = match.end()
    return tokens[::-1]


def _product(tokens: list[str]) -> float:
    value = _factor(tokens)
    while tokens and tokens[-1] in ("*", "/"):
        operator = tokens.pop()
        factor = _factor(tokens)
        if operator == "/" and factor == 0.0:
            raise ValueError("divides by zero")
        value = value * factor if operator == "*" else value / factor
    if tokens and tokens[-1] not in ("+", "-"):
        raise ValueError("is not a number")
    return value


def _factor(tokens: list[str]) -> float:
    sign = 1.0
    while tokens and tokens[-1] in ("+", "-"):
        if tokens.pop() == "-":
            sign = -sign
    if not tokens or tokens[-1] in ("*", "/"):
        raise ValueError("is not a number")
    token = tokens.pop()
    return sign * (math.pi if token == "pi" else float(token))
