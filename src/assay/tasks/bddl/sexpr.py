"""Nested lists in parentheses, with the line each thing stands on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from assay.errors import BDDLError
from assay.tasks.checks import quoted

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

    def __str__(self) -> str:
        first = self.items[0] if self.items else None
        return f"({first.text[:40]}" if isinstance(first, Word) else "("


def fail(reason: str, where: Node | int) -> BDDLError:
    """The error for something wrong on the line of a node; whoever knows the file's name adds it."""
    return BDDLError(reason, line=where if isinstance(where, int) else where.line)


def as_word(node: Node, expected: str) -> Word:
    """The node if it is a word; otherwise an error that says what was expected."""
    if isinstance(node, Group):
        raise fail(f"expected {expected}, found '({node.head[:40]}'", node)
    return node


def as_group(node: Node, expected: str) -> Group:
    """The node if it is a group; otherwise an error that says what was expected."""
    if isinstance(node, Word):
        raise fail(f"expected {expected}, found {quoted(node.text)}", node)
    return node


def parse_group(text: str, *, sections: frozenset[str] = frozenset()) -> Group:
    """The one group a text consists of; comments run from ``;`` to the end of their line.

    ``sections`` are words that may begin a group of the second level only. Such a word further inside gives
    away which parenthesis was left open, long before the end of the file does.
    """

    stack: list[_Open] = []
    done: Group | None = None
    for token, line in _tokens(text):
        if done is not None:
            if token == ")":
                raise fail("')' closes nothing", line)
            raise fail(f"{quoted(token)} stands after the end of '(define', opened on line {done.line}", line)
        if token == "(":
            if len(stack) == MAX_DEPTH:
                raise fail(f"parentheses are nested more than {MAX_DEPTH} deep", line)
            stack.append(_Open(line, []))
        elif token == ")":
            if not stack:
                raise fail("')' closes nothing", line)
            closed = stack.pop()
            group = Group(tuple(closed.items), closed.line)
            if stack:
                stack[-1].items.append(group)
            else:
                done = group
        elif not stack:
            raise fail(f"a task file begins with '(define', not with {quoted(token)}", line)
        else:
            if len(stack) > 2 and not stack[-1].items and token.lower() in sections:
                left_open = stack[1]
                raise fail(f"'{left_open}' is not closed before '({token}' on line {line}", left_open.line)
            stack[-1].items.append(Word(token, line))
    if stack:
        raise fail(f"'{stack[-1]}' is never closed", stack[-1].line)
    if done is None:
        raise fail("the file is empty", 1)
    return done


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line = 1
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token == "\n":
            line += 1
        elif not token.startswith(";"):
            yield token, line
