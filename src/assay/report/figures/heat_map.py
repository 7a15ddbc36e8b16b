"""A number for each cell of the paraphrase grid, as a heat map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from assay.measures.views.style import BLACK, EMPTY, SHADES, WIDTH, Drawing
from assay.measures.views.wording import number
from assay.measures.words.paraphrase import ACTIONS, OBJECTS

Key = tuple[str, str]
"""An object type and an action type."""
LIGHT = 0.55
"""The part of the scale of colours from which ink is dark."""


def success_map(name: str, title: str, caption: str, cells: Mapping[Key, float]) -> Drawing:
    """Success (0 to 1) of each cell, in per cent; dark cells fail."""
    return heat_map(name, title, caption, cells, lambda share: share, lambda share: number(100 * share, 1))


def distance_map(name: str, title: str, caption: str, cells: Mapping[Key, float]) -> Drawing:
    """A mean distance (0 to 1) of each cell; dark cells are far from the original."""
    farthest = max(cells.values(), default=0.0) or 1.0
    return heat_map(name, title, caption, cells, lambda far: 1 - far / farthest, lambda far: number(far, 2))


def heat_map(
    name: str,
    title: str,
    caption: str,
    cells: Mapping[Key, float],
    shade: Callable[[float], float],
    text: Callable[[float], str],
) -> Drawing:
    """The 4 x 11 grid with a number in each cell; ``shade`` is its place on the scale of colours, 0 (dark) to 1."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for row, thing in enumerate(OBJECTS):
            for column, action in enumerate(ACTIONS):
                value = cells.get((thing, action))
                if value is None:
                    empty_cell(axes, row, column)
                    continue
                place = shade(value)
                fill_cell(axes, row, column, place)
                axes.text(
                    column + 0.5,
                    row + 0.5,
                    text(value),
                    ha="center",
                    va="center",
                    color="white" if place < LIGHT else BLACK,
                    fontweight="bold",
                )
        grid_axes(axes, range(len(OBJECTS)), OBJECTS, range(len(ACTIONS)), ACTIONS)

    return Drawing(name, title, caption, (WIDTH, 2.9), paint, in_a_column=False)


def fill_cell(axes: Axes, row: float, column: float, place: float) -> None:
    """Colour a cell by a place on the scale of colours, 0 to 1."""
    shade = colormaps[SHADES](place)
    axes.add_patch(Rectangle((column, row), 1, 1, facecolor=shade, edgecolor="white", linewidth=1.2))


def empty_cell(axes: Axes, row: float, column: float) -> None:
    """Hatch a cell that has no number."""
    axes.add_patch(Rectangle((column, row), 1, 1, facecolor=EMPTY, edgecolor="white", hatch="////"))


def grid_axes(
    axes: Axes, rows: Sequence[float], down: Sequence[str], columns: Sequence[float], along: Sequence[str]
) -> None:
    """Name the rows and columns of a heat map; both begin where they say and are 1 wide."""
    axes.set_xlim(0, columns[-1] + 1)
    axes.set_ylim(rows[-1] + 1, 0)
    axes.set_aspect(0.72)
    axes.set_xticks([place + 0.5 for place in columns], along, rotation=35, ha="left")
    axes.set_yticks([place + 0.5 for place in rows], down)
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("how the action is said")
    axes.set_ylabel("how objects are named")
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
