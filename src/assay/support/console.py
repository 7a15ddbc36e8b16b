"""Where commands print: results to standard output, everything else to standard error.

Text is printed as it is: ``[100]`` is not a style and ``:100:`` is not an emoji. What has a style is a
``Text`` (see ``styled``). What a terminal or a browser would obey instead of showing it (escape sequences and other
control characters, marks that turn the direction of writing, halves of surrogate pairs) is replaced, one sign for one,
in console output and in written pages: see ``readable``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any

from rich.box import SIMPLE
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
"""Seconds between lines on how far it is, where there is no terminal."""
NARROW = 60
"""Characters below which nothing is kept on one line in a table."""
LONGEST = 10_000
"""Characters of a line that is as long as it likes to be."""
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
"""What is obeyed and not shown; tabs and the ends of lines are neither harmful nor rare."""
_INSTEAD = "\ufffd"


def readable(text: str) -> str:
    """Untrusted text with control characters replaced by U+FFFD."""
    return text if text.isascii() and text.isprintable() else _OBEYED.sub(_INSTEAD, text)


class _Readable(Console):
    """A console that prints control characters and markup literally."""

    def render_str(self, text: str, **how: Any) -> Text:
        """Untrusted text, ready to be measured and printed."""
        return super().render_str(readable(text), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The printed segments; control sequences come from rich only."""
        for piece in super().render(renderable, options):
            text = piece.text if piece.control else readable(piece.text)
            yield piece if text == piece.text else Segment(text, piece.style)


output = _Readable(markup=False, emoji=False, soft_wrap=True)
errors = _Readable(stderr=True, markup=False, emoji=False)


def say(line: str, *, aside: bool = False) -> None:
    """Print a line as it is, however long; what is said aside goes to standard error."""
    (errors if aside else output).print(line, highlight=False, soft_wrap=True)


def style_text(text: str, style: str) -> Text:
    """A text in a style, such as ``green`` or ``dim``."""
    return Text(text, style)


def working(on: str) -> Status:
    """Says on a terminal what is being done, while it is."""
    return errors.status(Text(on))


def number_of(count: int, noun: str) -> str:
    """``1 episode``, ``2 episodes``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def table_of(*columns: Column | str, **style: Any) -> Table:
    """A table for standard output in which lines break between words only, and nothing is cut off.

    Ids can be copied and searched for: where not even the longest words fit, lines are longer than the terminal.
    """
    if style.get("box") is SIMPLE:  # nothing is drawn at its sides: no room is left for it
        style = {"show_edge": False, "pad_edge": False, "collapse_padding": True, **style}
    table = _WholeWords(*columns, **style)
    for column in table.columns:
        column.overflow = "fold"
        column.no_wrap = column.no_wrap and output.width >= NARROW
    return table


class _WholeWords(Table):
    """A table whose columns are no narrower than their longest words."""

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
            for place in wanting[:room]:  # one sign each, so that none goes without
                widths[place] += 1
        return widths


class Pulse:
    """Says aside how far something is every half a minute, where there is no terminal to draw it on."""

    def __init__(self) -> None:
        self._latest = time.monotonic()

    def beat(self, line: str) -> None:
        """Say it, if it is time."""
        if not errors.is_terminal and time.monotonic() - self._latest >= EVERY:
            self._latest = time.monotonic()
            say(line, aside=True)


class _Bar(Progress):
    """A bar, or now and then a line."""

    def __init__(self, *columns: Any, **settings: Any) -> None:
        super().__init__(*columns, **settings)
        self._pulse = Pulse()

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Change how far it is."""
        super().update(task_id, **changes)
        self._say(task_id)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        """Go on by some steps, or by none to show that it is alive."""
        super().advance(task_id, advance)
        self._say(task_id)

    def _say(self, task_id: TaskID) -> None:
        task = next(candidate for candidate in self.tasks if candidate.id == task_id)
        total = "" if task.total is None else f" of {task.total:.0f}"
        self._pulse.beat(f"{task.description}: {task.completed:.0f}{total}")


def progress_bar() -> Progress:
    """A bar on standard error: what, how far, how long still. Without a terminal, a line now and then."""
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
