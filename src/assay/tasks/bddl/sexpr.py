"""Syntax of task files: nested lists in parentheses with line numbers, and arithmetic expressions."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from assay.errors import BDDLError
from assay.tasks.checks import quote

_NUMBER_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|(?P<pi>(?:(?:np|numpy|math)\.)?pi)|[-+*/]"
)
_OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
MAX_NUMBER_LENGTH = 200


def evaluate(expression: str) -> float:
    """Compute an expression of numbers and pi, joined by ``+ - * /``: ``0.25``, ``-np.pi/4``. No code is executed.

    Raises ValueError with a reason ("is not a number", ...) for any other text, and if the value is not finite.
    """
    text = "".join(expression.lower().split())
    if len(expression) > MAX_NUMBER_LENGTH:
        raise ValueError("is too long for a number")
    if text.lstrip("+-") in ("nan", "inf", "infinity"):
        raise ValueError("is not a finite number")
    if _NUMBER_TOKEN.sub("", text):
        raise ValueError("is not a number")
    # Numbers are written anew because Python reads "007" and "1.pi" otherwise.
    python = _NUMBER_TOKEN.sub(
        lambda token: f" {float(token[0])!r} " if token["number"] else " pi " if token["pi"] else token[0],
        text,
    )

    def compute(node: ast.expr) -> float:
        match node:
            case ast.Constant(value=float(value)):
                return value
            case ast.Name("pi" | "inf" as name):
                return float(getattr(math, name))
            case ast.UnaryOp():
                return _OPERATORS[type(node.op)](compute(node.operand))
            case ast.BinOp():
                return _OPERATORS[type(node.op)](compute(node.left), compute(node.right))
        raise ValueError("is not a number")

    try:
        value = compute(ast.parse(python.strip(), mode="eval").body)
    except (SyntaxError, KeyError):
        raise ValueError("is not a number") from None
    except ZeroDivisionError:
        raise ValueError("divides by zero") from None
    if not math.isfinite(value):
        raise ValueError("is not a finite number")
    return value


MAX_DEPTH = 64
"""Maximum nesting depth of lists; task files need 6."""

_TOKEN = re.compile(r";[^\n]*|\n|[()]|[^\s();]+")


@dataclass(frozen=True, slots=True)
class Word:
    """A token between spaces and parentheses."""

    text: str
    line: int
    """Line number, from 1."""


@dataclass(frozen=True, slots=True)
class Group:
    """A parenthesised list."""

    items: tuple[Node, ...]
    line: int
    """Line number of the opening parenthesis, from 1."""

    @property
    def head(self) -> str:
        """First word in lower case; empty if the group does not begin with a word."""
        first = self.items[0] if self.items else None
        return first.text.lower() if isinstance(first, Word) else ""

    @property
    def rest(self) -> tuple[Node, ...]:
        """The items after the head."""
        return self.items[1:]


Node: TypeAlias = Word | Group


@dataclass(slots=True)
class _Open:
    """A group whose closing parenthesis has not been read yet."""

    line: int
    items: list[Node]

    @property
    def head(self) -> str:
        first = self.items[0] if self.items else None
        return first.text if isinstance(first, Word) else ""

    def __str__(self) -> str:
        return quote(f"({self.head}")


def fail(reason: str, where: Node | int) -> BDDLError:
    """Return the error for a reason and the line of a node, without the file name."""
    return BDDLError(reason, line=where if isinstance(where, int) else where.line)


def as_word(node: Node, expected: str) -> Word:
    """Return the node if it is a word. Raises an error that names the expected content otherwise."""
    if isinstance(node, Group):
        raise fail(f"expected {expected}, found {quote(f'({node.head}')}", node)
    return node


def as_group(node: Node, expected: str) -> Group:
    """Return the node if it is a group. Raises an error that names the expected content otherwise."""
    if isinstance(node, Word):
        raise fail(f"expected {expected}, found {quote(node.text)}", node)
    return node


def parse_group(text: str, *, levels: Mapping[str, int] | None = None) -> Group:
    """Parse a text that consists of one group; comments run from ``;`` to the end of the line.

    ``levels`` maps the first words of groups to their nesting level (0 for the outermost group). A known word at a
    deeper level identifies the unclosed parenthesis long before the end of the file.
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
            raise fail(f"a task file begins with '(define', not with {quote(token)}", line)
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
    """Return the error for a word that belongs on ``level`` but occurs deeper.

    The unclosed group is the word's sibling on that level if there is one, otherwise the sibling of its parent.
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
