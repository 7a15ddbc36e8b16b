"""Cells of heat maps, and the grid of paraphrases with a number in each cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assay.measures.views.style import BLACK, EMPTY, INK, SHADES, WIDTH, Axes, Drawing, Figure

NONE = "none"
"""Type of a paraphrase that keeps the object names or the action phrasing of the original instruction."""
OBJECTS = (NONE, "addition", "contextual", "habitual")
"""Ways to name objects, after LIBERO-Para; ``assay.perturb.words.grid.cells`` creates them."""
ACTIONS = (
    *(NONE, "addition", "contextual", "habitual", "coordination", "subordination"),
    *("need", "embedded", "permission", "question", "hint"),
)
"""Ways to phrase the action."""
LIGHT = 0.55
"""Position on the colour scale, 0 to 1, above which text is dark."""


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
