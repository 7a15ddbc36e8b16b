"""Style of figures, their shared elements, and reproducible rendering: the same run gives the same bytes.

The colours are Okabe and Ito's, which are safe for colour-blind readers, and cividis. Series also differ in their
markers, for printing in black and white. Text is kept as text, so that it can be searched and copied.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.measures.frames import ACTIONS, OBJECTS
from assay.measures.views.printing import NARROW, PAGE, Print, readable
from assay.measures.views.wording import signed

if TYPE_CHECKING:  # matplotlib takes half a second to import and is loaded when a figure is drawn
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:
    Axes = Figure = Any  # names that other modules import for their annotations

SERIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#222222")
BLUE, ORANGE, GREEN, PINK, AMBER, SKY, BLACK = SERIES
MARKS = ("o", "s", "^", "D", "v", "P", "X")
# The dark style sheet (page.css) replaces these, but not white and black, which are text on shades.
INK, FAINT, RULE, EMPTY = "#1d1d22", "#5f6068", "#d9d9de", "#ececf0"
SHADES = "cividis"
WIDTH = 9.6
"""Width, in inches, of a figure that spans the page."""
HALF = 4.6
"""Width, in inches, of a figure that shares a row with another."""
LIGHT = 0.55
"""Position on the colour scale, 0 to 1, above which text is dark."""

_FAMILY = "DejaVu Sans"  # bundled with matplotlib, so that text has the same size on every machine
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
_METADATA = {"svg": ("Creator", "Date", "Format", "Type"), "pdf": ("CreationDate", "Creator", "Producer")}
"""Metadata left out of a file, so that the same run gives the same bytes."""
_ONE_AT_A_TIME = threading.Lock()  # the settings of matplotlib are global
print_settings: Print | None = None
"""Print settings of the figure being painted; None for the page. Set while holding the lock."""


@dataclass(frozen=True)
class Drawing:
    """A figure, drawn on first access."""

    name: str
    """Stem of the file name."""
    title: str
    caption: str
    """Content, number of episodes, and the method of the intervals."""
    size: tuple[float, float]
    """Width and height on the page in inches."""
    paint: Callable[[Figure], None]
    """Function that draws on a figure of any size."""
    in_a_column: bool = True
    """Whether the figure is legible in a paper's column; otherwise, it is printed as wide as the page."""

    @property
    def wide(self) -> bool:
        """Whether the figure needs a full row of the page."""
        return self.size[0] > HALF + 0.5

    @cached_property
    def svg(self) -> str:
        """Figure as an SVG element for a page."""
        svg = self._render(self.size, "svg").decode()
        svg = svg[svg.index("<svg") :]
        # A browser needs neither metadata nor names of groups.
        svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
        svg = re.sub(r'<g id="[^"]*"', "<g", svg)
        svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
        svg = re.sub(r"\n\s*", "\n", svg).replace(f"'{_FAMILY}'", _SHOWN)
        return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(self.title)}" ', 1)

    @property
    def file(self) -> str:
        """Figure as an SVG document."""
        return f'<?xml version="1.0" encoding="utf-8"?>\n{self.svg}'

    def render_print(self, how: Print) -> bytes:
        """Render the figure as PDF or SVG for a paper, at the paper's width and font size."""
        width, height = how.width if self.in_a_column else max(how.width, PAGE), self.size[1]
        # only rows of full-width figures keep their height
        if not self.in_a_column or self.size[0] <= NARROW:
            height = max(1.8, height * width / self.size[0])
        return self._render((width, height), how.format, replace(how, width=width))

    def _render(self, size: tuple[float, float], format: str, how: Print | None = None) -> bytes:
        import matplotlib
        from matplotlib.figure import Figure

        global print_settings
        style = {**_STYLE, **(how.style if how else {}), "svg.hashsalt": self.name}
        with _ONE_AT_A_TIME, matplotlib.rc_context(style):
            print_settings = how
            figure = Figure(figsize=size, dpi=72, layout="constrained")  # SVG has 72 dots per inch
            self.paint(figure)
            if how is not None:
                readable(figure, how)
            if (layout := figure.get_layout_engine()) is not None:
                layout.execute(figure)
                figure.set_layout_engine(None)  # saving would draw and lay out a second time
            written = BytesIO()
            figure.savefig(written, format=format, metadata=dict.fromkeys(_METADATA[format]))
        return written.getvalue()


def percent_axis(axis: Any) -> None:
    """Format fractions (0 to 1) along an axis as percentages."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))


def points_axis(axis: Any) -> None:
    """Format differences of fractions (-1 to 1) along an axis as percentage points."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda value, _: signed(100 * value, 0)))


def share_limits(axes: Axes) -> None:
    """Set the y axis to 0 to 100 %, with room for marks at both ends."""
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    percent_axis(axes.yaxis)


def stacked_bars(
    axes: Axes, names: Sequence[str], parts: Iterable[tuple[np.ndarray, Mapping[str, Any]]]
) -> None:
    """Draw a horizontal bar of fractions for each name, from top to bottom.

    Each part consists of the lengths of its segments (names,) and of keyword arguments for ``Axes.barh``.
    """
    left = np.zeros(len(names))
    for lengths, look in parts:
        axes.barh(range(len(names)), lengths, left=left, height=0.72, **look)
        left = left + lengths
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    percent_axis(axes.xaxis)


def legend_below(figure: Figure, count: int, columns: int = 2) -> None:
    """Add a legend below the figure for the ``count`` series of the first axes; a single series needs none."""
    if count > 1:
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(count, columns))


def series(place: int) -> dict[str, Any]:
    """Return the colour and marker of the n-th series, as keyword arguments for matplotlib and `Mark`."""
    return {"color": SERIES[place % len(SERIES)], "marker": MARKS[place % len(MARKS)]}


def aside(place: int, count: int) -> float:
    """Return the horizontal offset of the n-th of ``count`` series, as a fraction of the axis.

    Offsets keep error bars from overlapping.
    """
    return 0.012 * (place - (count - 1) / 2)


def fill_cell(axes: Axes, row: float, column: float, shade: float | None, *, hatch: str | None = None) -> str:
    """Fill a cell with a colour from the scale (0 is dark; None for empty) and return the colour of its text."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    colour = EMPTY if shade is None else colormaps[SHADES](shade)
    cell = Rectangle((column, row), 1, 1, facecolor=colour, edgecolor="white", hatch=hatch)
    axes.add_patch(cell)
    if not hatch:
        cell.set_linewidth(1.2)
    return INK if shade is None else "white" if shade < LIGHT else BLACK


def bare_axes(axes: Axes) -> None:
    """Remove the ticks, grid and frame of a heat map."""
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)


def grid_axes(
    axes: Axes, rows: Sequence[float], down: Sequence[str], columns: Sequence[float], along: Sequence[str]
) -> None:
    """Label the rows and columns of the paraphrase grid; cells begin at ``rows`` and ``columns`` and have size 1."""
    axes.set_xlim(0, columns[-1] + 1)
    axes.set_ylim(rows[-1] + 1, 0)
    axes.set_aspect(0.72)
    axes.set_xticks([place + 0.5 for place in columns], along, rotation=35, ha="left")
    axes.set_yticks([place + 0.5 for place in rows], down)
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("phrasing of the action")
    axes.set_ylabel("names of objects")
    bare_axes(axes)


def grid_map(
    name: str,
    title: str,
    caption: str,
    cells: Mapping[tuple[str, str], float],
    text: Callable[[float], str],
    shade: Callable[[float], float] = lambda value: value,
) -> Drawing:
    """Draw the 4 x 11 grid (object type, action type) with a number in each cell; ``shade`` is from 0 (dark) to 1."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for row, names in enumerate(OBJECTS):
            for column, action in enumerate(ACTIONS):
                value = cells.get((names, action))
                if value is None:
                    fill_cell(axes, row, column, None, hatch="////")
                    continue
                ink = fill_cell(axes, row, column, shade(value))
                where: Any = {"ha": "center", "va": "center", "color": ink}
                axes.text(column + 0.5, row + 0.5, text(value), fontweight="bold", **where)
        grid_axes(axes, range(len(OBJECTS)), OBJECTS, range(len(ACTIONS)), ACTIONS)

    return Drawing(name, title, caption, (WIDTH, 2.9), paint, in_a_column=False)
