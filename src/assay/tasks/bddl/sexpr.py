"""Syntax of task files: nested parenthesised lists with line numbers, and arithmetic expressions."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TypeAlias

from assay.errors import BDDLError
from assay.tasks.checks import quote

_OPERAND = re.compile(
    r"(?P<operator>[*/]?)(?P<sign>[-+]*)(?P<number>(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|(?:(?:np|numpy|math)\.)?pi)"
)
"""Pattern of one number in an expression, with the signs and the operator before it."""
MAX_NUMBER_LENGTH = 200
MAX_DEPTH = 64
"""Maximum nesting depth of lists; task files need a depth of 6."""
_TOKEN = re.compile(r";[^\n]*|\n|[()]|[^\s();]+")


def evaluate(expression: str) -> float:
    """Evaluate an expression of numbers and pi, joined by ``+ - * /``: ``0.25``, ``-np.pi/4``. No code is executed.

    Raises ValueError with a reason ("is not a number", ...) for any other text or if the value is not finite.
    """
    text = "".join(expression.lower().split())
    if len(expression) > MAX_NUMBER_LENGTH:
        raise ValueError("is too long for a number")
    if text.lstrip("+-") in ("nan", "inf", "infinity"):
        raise ValueError("is not a finite number")
    total = product = -0.0  # the neutral element of addition, which keeps the sign of zero
    end = 0
    for operand in _OPERAND.finditer(text):
        operator, sign, number = operand.group("operator", "sign", "number")
        joined = bool(operator or sign) if end else not operator
        if operand.start() != end or not joined:
            break
        value = math.pi if number.endswith("pi") else float(number)
        value = -value if sign.count("-") % 2 else value
        if operator == "/" and value == 0:
            raise ValueError("divides by zero")
        if operator:
            product = product * value if operator == "*" else product / value
        else:
            total, product = total + product, value
        end = operand.end()
    if end != len(text) or not text:
        raise ValueError("is not a number")
    if not math.isfinite(total + product):
        raise ValueError("is not a finite number")
    return total + product


@dataclass(frozen=True, slots=True)
class Word:
    """A token delimited by spaces or parentheses."""

    text: str
    line: int
    """Line number, from 1."""


@dataclass(frozen=True, slots=True)
class Group:
    """A parenthesised list."""

    items: list[Node]
    line: int
    """Line number of the opening parenthesis, from 1."""

    @property
    def head(self) -> str:
        """First word, in lower case; empty if the group does not begin with a word."""
        first = self.items[0] if self.items else None
        return first.text.lower() if isinstance(first, Word) else ""

    @property
    def rest(self) -> list[Node]:
        """The items after the head."""
        return self.items[1:]


Node: TypeAlias = Word | Group


def fail(reason: str, where: Node | int) -> BDDLError:
    """Return an error with a reason and the line of a node, without the file name."""
    return BDDLError(reason, line=where if isinstance(where, int) else where.line)


def as_word(node: Node, expected: str) -> Word:
    """Return the node if it is a word; otherwise raise an error that states what was expected."""
    if isinstance(node, Group):
        raise fail(f"expected {expected}, found {quote(f'({node.head}')}", node)
    return node


def as_group(node: Node, expected: str) -> Group:
    """Return the node if it is a group; otherwise raise an error that states what was expected."""
    if isinstance(node, Word):
        raise fail(f"expected {expected}, found {quote(node.text)}", node)
    return node


def parse_group(text: str) -> Group:
    """Parse a text that consists of one group; comments run from ``;`` to the end of the line."""
    stack: list[Group] = []
    root: Group | None = None
    line = last_line = 1
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == "\n":
            line += 1
        elif token.startswith(";"):
            continue
        elif token == ")" and not stack:
            raise fail("unmatched ')'", line)
        elif root is not None and not stack:
            raise fail(
                f"text after the end of the task on line {last_line}: is there one ')' too many?", line
            )
        elif token == "(":
            if len(stack) == MAX_DEPTH:
                raise fail(f"parentheses are nested more than {MAX_DEPTH} levels deep", line)
            group = Group([], line)
            if root is None:
                root = group
            else:
                stack[-1].items.append(group)
            stack.append(group)
        elif token == ")":
            stack.pop()
            last_line = line
        elif not stack:
            raise fail(f"a task file begins with '(define', not with {quote(token)}", line)
        else:
            stack[-1].items.append(Word(token, line))
    if stack:
        raise fail(f"{quote(f'({stack[-1].head}')} is never closed", stack[-1])
    if root is None:
        raise fail("the file is empty", 1)
    return root
