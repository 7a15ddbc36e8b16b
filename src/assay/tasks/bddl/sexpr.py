"""Numbers as task files write them: ``0.25``, ``pi``, ``-np.pi/4``. Nothing is ever evaluated as code."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from assay.errors import BDDLError
from assay.tasks.checks import quoted

_NUMBER_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|(?P<pi>(?:(?:np|numpy|math)\.)?pi)|[-+*/]"
)
_MAX_LENGTH = 200


def evaluate(expression: str) -> float:
    """The value of numbers and pi joined by ``+ - * /``, with the precedence Python gives them.

    Raises ValueError with a reason ("is not a number", ...) if it is anything else, or not finite.
    """
    tokens = _number_tokens(expression)
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


def _number_tokens(expression: str) -> list[str]:
    """Tokens in reverse, so that the next one is popped off the end."""
    if len(expression) > _MAX_LENGTH:
        raise ValueError("is too long for a number")
    text = "".join(expression.lower().split())
    if text.lstrip("+-") in ("nan", "inf", "infinity"):
        raise ValueError("is not a finite number")
    tokens: list[str] = []
    position = 0
    while position < len(text):
        match = _NUMBER_TOKEN.match(text, position)
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


MAX_DEPTH = 64
"""How deep lists may be nested; task files need 6."""

_TOKEN = re.compile(r";[^\n]*|\n|[()]|[^\s();]+")


@dataclass(frozen=True, slots=True)
class Word:
    """Anything between spaces and parentheses."""

    text: str
    line: int
    """Counted from 1."""


@dataclass(frozen=True, slots=True)
class Group:
    """What stands between ``(`` and its ``)``."""

    items: tuple[Node, ...]
    line: int
    """The line of the opening parenthesis."""

    @property
    def head(self) -> str:
        """The first word in lower case; empty if the group does not begin with a word."""
        first = self.items[0] if self.items else None
        return first.text.lower() if isinstance(first, Word) else ""

    @property
    def rest(self) -> tuple[Node, ...]:
        """Everything after the head."""
        return self.items[1:]


Node: TypeAlias = Word | Group


@dataclass(slots=True)
class _Open:
    """A group whose end has not been seen."""

    line: int
    items: list[Node]

    @property
    def head(self) -> str:
        first = self.items[0] if self.items else None
        return first.text if isinstance(first, Word) else ""

    def __str__(self) -> str:
        return quoted(f"({self.head}")


def fail(reason: str, where: Node | int) -> BDDLError:
    """The error for something wrong on the line of a node; whoever knows the file's name adds it."""
    return BDDLError(reason, line=where if isinstance(where, int) else where.line)


def as_word(node: Node, expected: str) -> Word:
    """The node if it is a word; otherwise an error that says what was expected."""
    if isinstance(node, Group):
        raise fail(f"expected {expected}, found {quoted(f'({node.head}')}", node)
    return node


def as_group(node: Node, expected: str) -> Group:
    """The node if it is a group; otherwise an error that says what was expected."""
    if isinstance(node, Word):
        raise fail(f"expected {expected}, found {quoted(node.text)}", node)
    return node


def parse_group(text: str, *, levels: Mapping[str, int] | None = None) -> Group:
    """The one group a text consists of; comments run from ``;`` to the end of their line.

    ``levels`` says how deep the groups that begin with certain words belong (the outermost is at 0). A word
    that turns up deeper gives away which parenthesis was left open, long before the end of the file does.
    """
    levels = levels or {}
    stack: list[_Open] = []
    done: Group | None = None
    last_line = 1
    for token, line in _tokens(text):
        if token == ")" and not stack:
            raise fail("')' closes nothing", line)
        if done is not None:
            raise fail(
                f"text after the end of the task on line {last_line}: one ')' too many before it?", line
            )
        if token == "(":
            if len(stack) == MAX_DEPTH:
                raise fail(f"parentheses are nested more than {MAX_DEPTH} deep", line)
            stack.append(_Open(line, []))
        elif token == ")":
            closed = stack.pop()
            group = Group(tuple(closed.items), closed.line)
            if stack:
                stack[-1].items.append(group)
            else:
                done = group
                last_line = line
        elif not stack:
            raise fail(f"a task file begins with '(define', not with {quoted(token)}", line)
        else:
            begins = not stack[-1].items
            stack[-1].items.append(Word(token, line))
            if begins and len(stack) - 1 > levels.get(token.lower(), MAX_DEPTH):
                raise _left_open(stack, levels, levels[token.lower()])
    if stack:
        raise fail(f"{stack[-1]} is never closed", stack[-1].line)
    if done is None:
        raise fail("the file is empty", 1)
    return done


def _left_open(stack: list[_Open], levels: Mapping[str, int], level: int) -> BDDLError:
    """The error for a word that belongs on ``level`` and stands deeper.

    If a sibling of it stands on that level, the sibling was left open; otherwise the sibling of its parent.
    """
    culprit = level if levels.get(stack[level].head.lower()) == level else level - 1
    inner = stack[culprit + 1]
    return fail(f"{stack[culprit]} is not closed before {inner} on line {inner.line}", stack[culprit].line)


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line = 1
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == "\n":
            line += 1
        elif not token.startswith(";"):
            yield token, line
