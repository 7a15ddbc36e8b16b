"""Forest plots: values with their intervals, one per row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assay.measures.views import style
from assay.measures.views.style import Axes, Drawing, Figure
from assay.measures.views.wording import between, percent, points
from assay.support.stats.intervals import Interval

ROW = 0.19
"""Height of a row in inches."""
MOST = 60
"""Maximum number of rows in a legible plot."""
SHARES = (-0.02, 1.02)
"""Limits of an axis of fractions, with room for marks at both ends."""
LETTERS = 7.2
"""Font size of the notes, in typographic points."""
CHARACTER = 4.4
"""Mean width of a character in the notes, in typographic points."""
LONGEST = 30
"""Maximum length of a label, without the experiment's name, at which a plot still fits into a paper's column."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One row of a forest plot."""

    label: str
    value: float
    interval: Interval | None
    notes: tuple[str, ...] = ()
    """Texts beside the row, for example numbers."""
    filled: bool = True
    """Whether the mark is filled (a significant result) rather than hollow."""
    color: str = style.BLUE
    marker: str = "o"

    @classmethod
    def of_change(cls, label: str, result: Any, *notes: str, **look: Any) -> Mark:
        """Return the row for a result with ``change`` and ``interval``, both being its first notes, in points."""
        numbers = points(result.change), between(result.interval, 100)
        return cls(label, result.change, result.interval, (*numbers, *notes), **look)

    @classmethod
    def of_rate(
        cls, label: str, rate: float, interval: Interval | None, hits: int, count: int, **look: Any
    ) -> Mark:
        """Return the row for a rate, with the rate and its interval in percent, and both counts, as notes."""
        notes = (percent(rate), between(interval, 100), f"{hits:,}/{count:,}")
        return cls(label, rate, interval, notes, **look)


def height(groups: Mapping[str, Sequence[Mark]]) -> float:
    """Return the height of a forest plot in inches."""
    return 0.95 + ROW * sum(len(marks) + bool(name) for name, marks in groups.items())


def forest_drawing(
    name: str,
    title: str,
    caption: str,
    groups: Mapping[str, Sequence[Mark]],
    *,
    along: str,
    heads: Sequence[str],
    unit: Literal["share", "points", ""] = "",
    limits: tuple[float, float] | None = None,
    zero: float | None = None,
    least: float = 0.0,
    finish: Callable[[Any], None] = lambda axes: None,
) -> Drawing:
    """Return a forest plot as wide as the page; ``unit`` is the axis's unit, and ``finish`` adds to the axes.

    The unit ``points`` is for changes (`Mark.of_change`): the axis includes 0, and ``heads`` are further headings.
    """
    if unit == "points":
        heads, zero, least = ("points", "95 % interval", *heads), 0.0, 0.1

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        forest(axes, groups, along=along, heads=heads, zero=zero, least=least)
        if limits is not None:
            axes.set_xlim(*limits)
        if unit:
            (style.percent_axis if unit == "share" else style.points_axis)(axes.xaxis)
        finish(axes)

    labels = (mark.label.partition("/")[2] or mark.label for marks in groups.values() for mark in marks)
    in_a_column = max(map(len, labels), default=0) <= LONGEST
    return Drawing(name, title, caption, (style.WIDTH, height(groups)), paint, in_a_column)


def forest(
    axes: Axes,
    groups: Mapping[str, Sequence[Mark]],
    *,
    along: str,
    heads: Sequence[str] = (),
    zero: float | None = None,
    least: float = 0.0,
) -> None:
    """Draw groups of marks, each below the group's name if it has one, with ``heads`` above the notes.

    The axis includes ``zero`` and extends at least ``least`` to either side of it.
    """
    from matplotlib.ticker import MaxNLocator

    rows: list[Mark | str] = []
    for name, marks in groups.items():
        rows += [name, *marks] if name else [*marks]
    how = style.print_settings
    narrow, character = False, CHARACTER
    if how is not None:
        narrow, character = how.narrow, CHARACTER * how.letters / LETTERS
    heads = heads[:1] if narrow else heads  # the others are in the table
    widths = [
        max(len(text) for text in (head, *(mark.notes[place] for mark in rows if isinstance(mark, Mark))))
        for place, head in enumerate(heads)
    ]
    ends = [10 + character * sum(width + 2 for width in widths[: place + 1]) for place in range(len(heads))]
    for end, head in zip(ends, heads, strict=True):
        note(axes, head, end, -1.0, style.FAINT)
    for place, row in enumerate(rows):
        if isinstance(row, Mark):
            if row.interval is not None:
                axes.hlines(place, row.interval.low, row.interval.high, color=row.color, linewidth=1.3)
            look: Any = {"color": row.color, "markerfacecolor": row.color if row.filled else "white"}
            # Without clipping, marks at the end of the axis are whole.
            axes.plot(row.value, place, row.marker, markersize=4.5, zorder=3, clip_on=False, **look)
            for end, text in zip(ends, row.notes, strict=False):  # a narrow print has no room for all
                note(axes, text, end, place)
    # A group's name beside the labels would leave no room for a narrow plot.
    names = [row.label if isinstance(row, Mark) else "" if narrow else row for row in rows]
    axes.set_yticks(range(len(rows)), names)
    for place, (tick, row) in enumerate(zip(axes.get_yticklabels(), rows, strict=True)):
        if isinstance(row, str):
            tick.set_fontweight("bold")
            if narrow:
                middle = ("axes fraction", "data")
                axes.annotate(row, (0.0, place), xycoords=middle, va="center", ha="left", fontweight="bold")
    axes.set_ylim(len(rows) - 0.4, -0.6 if not heads else -1.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(along)
    axes.xaxis.set_major_locator(MaxNLocator(3 if narrow else 5))
    if zero is not None:
        axes.axvline(zero, color=style.FAINT, linewidth=0.9, zorder=1)
        axes.update_datalim([(zero - least, 0), (zero + least, 0)], updatey=False)
        axes.autoscale_view(scaley=False)


def note(axes: Axes, text: str, end: float, place: float, colour: str = style.INK) -> None:
    """Write text beside the axes in a row, ending ``end`` typographic points to the right of the axes."""
    axes.annotate(
        text,
        (1.0, place),
        (end, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=LETTERS,
        color=colour,
        annotation_clip=False,
    )
