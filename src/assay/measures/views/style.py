"""How figures look, and how they become SVG: the same run gives the same bytes.

Colours are Okabe and Ito's, which people with colour-blindness tell apart, and cividis; series differ in
their marks too, for print without colours. Text stays text: it is small, can be searched and copied.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from io import BytesIO, StringIO
from typing import TYPE_CHECKING, Any

from assay.measures.views.printing import Print, printed_size, readable
from assay.measures.views.wording import signed

if TYPE_CHECKING:  # matplotlib takes half a second to import: it is loaded when a figure is drawn
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, PINK, AMBER, SKY, BLACK = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#222222",
)
SERIES = (BLUE, ORANGE, GREEN, PINK, AMBER, SKY, BLACK)
MARKS = ("o", "s", "^", "D", "v", "P", "X")
# A dark page's style sheet (page.css) has others in place of these; not of white and black text, which is on shades.
INK, FAINT, RULE, EMPTY = "#1d1d22", "#5f6068", "#d9d9de", "#ececf0"
SHADES = "cividis"
WIDTH = 9.6
"""Of a figure as wide as the page, inches."""
HALF = 4.6
"""Of one that shares a row with another."""

_FAMILY = "DejaVu Sans"  # comes with matplotlib: other machines lay text out alike
_SHOWN = "'DejaVu Sans',Verdana,Arial,sans-serif"
_STYLE: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.7,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "font.family": _FAMILY,
    "font.size": 8.5,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "hatch.color": "#bbbbc2",
    "hatch.linewidth": 0.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "savefig.facecolor": "white",
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 8,
}
_NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_ONE_AT_A_TIME = threading.Lock()  # matplotlib's settings are the process's
_print: Print | None = None
"""How the figure that is being painted will be printed; None for the page. Held under the lock."""


def printing() -> Print | None:
    """How the figure that is being painted will be printed; None where it is for the page."""
    return _print


@dataclass(frozen=True)
class Drawing:
    """A figure; it is drawn when it is looked at."""

    name: str
    """Of its file, without the suffix."""
    title: str
    caption: str
    """Says what is shown, n, and how intervals were made."""
    size: tuple[float, float]
    """Of the page's, inches."""
    paint: Callable[[Figure], None]
    """Draws it, on a figure of any size."""
    in_a_column: bool = True
    """Whether it can be read in a column of a paper; otherwise it is printed as wide as the page."""

    @property
    def wide(self) -> bool:
        """Whether it wants a row for itself."""
        return self.size[0] > HALF + 0.5

    @cached_property
    def svg(self) -> str:
        """The figure as part of a page."""
        import matplotlib
        from matplotlib.figure import Figure

        with _ONE_AT_A_TIME, matplotlib.rc_context({**_STYLE, "svg.hashsalt": self.name}):
            figure = Figure(figsize=self.size, dpi=72, layout="constrained")  # 72: SVG's own
            self.paint(figure)
            if (layout := figure.get_layout_engine()) is not None:
                layout.execute(figure)
                figure.set_layout_engine(None)  # saving would draw and lay out a second time
            written = StringIO()
            figure.savefig(written, format="svg", metadata=_NO_METADATA)
        return _tidy(written.getvalue(), self.title)

    @property
    def file(self) -> str:
        """The figure as a file of its own."""
        return f'<?xml version="1.0" encoding="utf-8"?>\n{self.svg}'

    def printed(self, how: Print) -> bytes:
        """The figure for a paper: of the paper's width, with letters of its size, as PDF or SVG."""
        import matplotlib
        from matplotlib.figure import Figure

        global _print
        width, height = printed_size(self.size, how, in_a_column=self.in_a_column)
        here = replace(how, width=width)
        style = {**_STYLE, **how.style, "svg.hashsalt": self.name}
        with _ONE_AT_A_TIME, matplotlib.rc_context(style):
            _print = here
            try:
                figure = Figure(figsize=(width, height), dpi=72, layout="constrained")
                self.paint(figure)
                readable(figure, here)
                written = BytesIO()
                none = {"CreationDate": None, "Creator": None, "Producer": None}
                with _letters_alone():
                    figure.savefig(
                        written, format=how.format, metadata=none if how.format == "pdf" else _NO_METADATA
                    )
            finally:
                _print = None
        return written.getvalue()


@contextmanager
def _letters_alone() -> Iterator[None]:
    """Fonts in a PDF have the letters that are shown, and no rules for setting others: these take half of the time."""
    from fontTools.subset import Options  # type: ignore[import-untyped]

    usual = getattr(Options, "_drop_tables_default", [])  # where there is no such list, it takes longer
    Options._drop_tables_default = [*usual, "GDEF", "GPOS", "GSUB"]
    try:
        yield
    finally:
        Options._drop_tables_default = usual


def percent_axis(axis: Any) -> None:
    """Shares (0 to 1) along an axis, as percentages."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))


def points_axis(axis: Any) -> None:
    """Differences of shares (-1 to 1) along an axis, as percentage points."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: signed(100 * value, 0)))


def share_limits(axes: Axes) -> None:
    """From nothing to everything, upwards, with room for marks at both ends."""
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    percent_axis(axes.yaxis)


def series(place: int) -> dict[str, Any]:
    """Colour and mark of the n-th series."""
    return {"color": SERIES[place % len(SERIES)], "marker": MARKS[place % len(MARKS)]}


def aside(place: int, count: int) -> float:
    """How far the n-th of so many series is moved, as a part of the axis, so that error bars stay apart."""
    return 0.012 * (place - (count - 1) / 2)


def _tidy(svg: str, title: str) -> str:
    """Without what a browser does not need: prologue, metadata, names of groups."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\n\s*", "\n", svg)
    svg = svg.replace(f"'{_FAMILY}'", _SHOWN)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)
