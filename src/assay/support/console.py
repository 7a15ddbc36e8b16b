"""Console output of commands: results go to standard output, everything else to standard error.

Text is printed literally: ``[100]`` is not a style and ``:100:`` is not an emoji. Styled text is a ``Text``.
Characters that a terminal or a browser would interpret instead of displaying (escape sequences and
other control characters, bidirectional marks, unpaired surrogates) are replaced individually, in console output and
in generated pages: see ``readable``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any

from rich.box import SIMPLE, SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.status import Status
from rich.table import Column, Table
from rich.text import Text

EVERY = 30.0
"""Interval, in seconds, between progress lines if there is no terminal."""
NARROW = 60
"""Terminal width in characters below which all table columns may be wrapped."""
LONGEST = 10_000
"""Width, in characters, used to measure text without wrapping."""
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
"""Pattern of control characters that are interpreted instead of displayed, except tabs and line ends."""


def readable(text: str) -> str:
    """Return untrusted text with its control characters replaced by U+FFFD."""
    return text if text.isascii() and text.isprintable() else _CONTROL.sub("\ufffd", text)


class _Readable(Console):
    """A console that prints markup literally and replaces control characters."""

    def render_str(self, text: str, **how: Any) -> Text:
        """Convert untrusted text for measuring and printing."""
        return super().render_str(readable(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the printed segments; the only control sequences are those from rich."""
        for piece in super().render(renderable, options):
            text = piece.text if piece.control else readable(piece.text)
            yield piece if text == piece.text else Segment(text, piece.style)


output = _Readable(markup=False, emoji=False, soft_wrap=True)
errors = _Readable(stderr=True, markup=False, emoji=False)


def say(line: str, style: str = "", *, aside: bool = False) -> None:
    """Print a line literally, without wrapping; with ``aside``, print to standard error."""
    (errors if aside else output).print(Text(line, style), highlight=False, soft_wrap=True)


def working(on: str) -> Status:
    """Show the name of the operation in progress on a terminal."""
    return errors.status(Text(on))


def number_of(count: int, noun: str) -> str:
    """Format a count with its noun: ``1 episode``, ``2 episodes``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def table_of(*columns: Column | str, **style: Any) -> Table:
    """Return a table for standard output that wraps lines only between words and truncates nothing.

    Words are never split, so that ids can be copied and searched for; lines may be wider than the terminal.
    """
    if style.get("box") is SIMPLE:  # without a border at the sides, no space is left for one
        style = {"show_edge": False, "pad_edge": False, "collapse_padding": True, **style}
    table = _WholeWords(*columns, **style)
    for column in table.columns:
        column.overflow = "fold"
        column.no_wrap = column.no_wrap and output.width >= NARROW
    return table


def print_rows(
    columns: Iterable[Column | str], rows: Iterable[Iterable[RenderableType]], **style: Any
) -> None:
    """Print a table to standard output; without a ``box`` in ``style``, only the header is underlined."""
    table = table_of(*columns, **{"box": SIMPLE_HEAD, "padding": (0, 1, 0, 0), **style})
    for row in rows:
        table.add_row(*row)
    output.print(table)


def right(*names: str) -> list[Column]:
    """Return right-aligned columns for numbers."""
    return [Column(name, justify="right", no_wrap=True) for name in names]


class _WholeWords(Table):
    """A table whose columns are at least as wide as their longest words."""

    def _calculate_column_widths(self, console: Console, options: ConsoleOptions) -> list[int]:
        unbounded = options.update_width(LONGEST)
        ranges = [self._measure_column(console, unbounded, column) for column in self.columns]
        widths = [measurement.minimum for measurement in ranges]
        for column, measurement in zip(self.columns, ranges, strict=True):
            if column.no_wrap:
                widths[column._index] = measurement.maximum
        while (room := options.max_width - sum(widths)) > 0:
            wanting = [
                place for place, measurement in enumerate(ranges) if widths[place] < measurement.maximum
            ]
            if not wanting:
                break
            for place in wanting[:room]:  # one character each, so that every column gets some
                widths[place] += 1
        return widths


class Pulse:
    """Prints progress to standard error every 30 seconds when there is no terminal."""

    def __init__(self) -> None:
        self._latest = time.monotonic()

    def beat(self, line: str) -> None:
        """Print a line if the interval has elapsed."""
        if not errors.is_terminal and time.monotonic() - self._latest >= EVERY:
            self._latest = time.monotonic()
            say(line, aside=True)


class _Bar(Progress):
    """A progress bar on a terminal, periodic lines otherwise."""

    def __init__(self, *columns: Any, **settings: Any) -> None:
        super().__init__(*columns, **settings)
        self._pulse = Pulse()

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Update the progress."""
        super().update(task_id, **changes)
        self._say(task_id)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        """Advance by a number of steps; 0 only shows activity."""
        super().advance(task_id, advance)
        self._say(task_id)

    def _say(self, task_id: TaskID) -> None:
        task = next(candidate for candidate in self.tasks if candidate.id == task_id)
        total = "" if task.total is None else f" of {task.total:.0f}"
        self._pulse.beat(f"{task.description}: {task.completed:.0f}{total}")


def progress_bar() -> Progress:
    """Return a progress bar on standard error with a description, the progress and the remaining time.

    If there is no terminal, lines are printed instead.
    """
    return _Bar(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    )
