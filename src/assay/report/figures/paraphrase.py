"""Paraphrases: the grid, success against the distance of the words, and PRIDE over its weight."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from assay.measures.result import MeasureError
from assay.measures.success.rates import Rate
from assay.measures.views.forest import MOST, Mark, forest, height
from assay.measures.views.style import (
    BLACK,
    BLUE,
    EMPTY,
    FAINT,
    HALF,
    INK,
    ORANGE,
    SHADES,
    WIDTH,
    Drawing,
    percent_axis,
    points_axis,
    series,
    share_limits,
)
from assay.measures.views.wording import (
    between,
    methods,
    number,
    p_phrase,
    p_value,
    percent,
    plural,
    points,
    signed,
)
from assay.measures.words.names import NameGap, NameGaps
from assay.measures.words.paraphrase import ACTIONS, DISTANCE_CORRELATION, OBJECTS, Grid, ObjectGap
from assay.measures.words.pride import Sweep
from assay.report.figures.heat_map import empty_cell, grid_axes
from assay.report.run_report import RunReport

_GAP = 0.25
"""Between the grid and its margins, cells."""


def grid_figure(grid: Grid, report: RunReport) -> Drawing:
    """The 4 x 11 heat map with its margins."""
    cells: dict[tuple[float, float], Rate] = {
        (OBJECTS.index(cell.object), ACTIONS.index(cell.action)): cell.rate for cell in grid.cells
    }
    right, below = len(ACTIONS) + _GAP, len(OBJECTS) + _GAP
    margins: dict[tuple[float, float], Rate] = {}
    for obj in grid.objects:
        margins[OBJECTS.index(str(obj.group["object"])), right] = obj
    for action in grid.actions:
        margins[below, ACTIONS.index(str(action.group["action"]))] = action

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for row in range(len(OBJECTS)):
            for column in range(len(ACTIONS)):
                if (row, column) not in cells:
                    empty_cell(axes, row, column)
        for (down, along), rate in {**cells, **margins}.items():
            cell(axes, down, along, rate)
        rows, columns = [*range(len(OBJECTS)), below], [*range(len(ACTIONS)), right]
        grid_axes(axes, rows, [*OBJECTS, "all"], columns, [*ACTIONS, "all"])

    total = sum(rate.count for rate in cells.values())
    most = max(_half(rate) for rate in cells.values())
    caption = (
        f"Success in per cent and, below it, the number of episodes; {plural(total, 'episode')} in "
        f"{len(cells)} of 44 cells. Top left is the control; margins are without it; hatched cells have no "
        f"episode. The widest 95 % Wilson interval of a cell reaches {100 * most:.0f} points to one side."
    )
    return Drawing(
        "paraphrase-grid", "Success over the paraphrase grid", caption, (WIDTH, 3.6), paint, in_a_column=False
    )


def _half(rate: Rate) -> float:
    if rate.interval is None or rate.rate is None:
        return 0.0
    return max(rate.interval.high - rate.rate, rate.rate - rate.interval.low)


def cell(axes: Axes, row: float, column: float, rate: Rate) -> None:
    """Draw one cell of a heat map: success in per cent, and how many episodes."""
    share = rate.rate
    shade = colormaps[SHADES](share) if share is not None else EMPTY
    axes.add_patch(Rectangle((column, row), 1, 1, facecolor=shade, edgecolor="white", linewidth=1.2))
    ink = INK if share is None else "white" if share < 0.55 else BLACK
    text = "broke" if share is None else f"{100 * share:.0f}"
    axes.text(
        column + 0.5, row + 0.42, text, ha="center", va="center", color=ink, fontsize=9, fontweight="bold"
    )
    axes.text(column + 0.5, row + 0.78, f"{rate.count:,}", ha="center", va="center", color=ink, fontsize=6.2)


def distance_figure(grid: Grid, report: RunReport) -> Drawing:
    """Success of each cell against the mean distance of its instructions."""
    correlation = report.profile.get(DISTANCE_CORRELATION)
    points_ = [
        (cell.pd, cell.rate.rate, cell.rate.interval, OBJECTS.index(cell.object))
        for cell in grid.cells
        if cell.pd and cell.rate.rate is not None and cell.rate.interval is not None
    ]
    if not points_:
        raise MeasureError("no cell has episodes that count and a distance")

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for kind, name in enumerate(OBJECTS):
            mine = [each for each in points_ if each[3] == kind]
            if not mine:
                continue
            look = series(kind)
            x, y = np.array([(each[0], each[1]) for each in mine]).T
            axes.vlines(
                x,
                [each[2].low for each in mine],
                [each[2].high for each in mine],
                color=look["color"],
                lw=0.7,
                alpha=0.5,
            )
            axes.plot(x, y, linestyle="", label=name, markersize=4.5, clip_on=False, **look)
        if correlation is not None:
            x, y = np.array([(each[0], each[1]) for each in points_]).T
            slope, level = np.polyfit(x, y, 1)
            along = np.linspace(x.min(), x.max(), 200)
            line = slope * along + level
            within = (line >= 0) & (line <= 1)  # no success is below nothing
            axes.plot(along[within], line[within], color=FAINT, linewidth=1.1, linestyle="--", zorder=1)
        share_limits(axes)
        axes.set_xlim(left=0)
        axes.set_xlabel("mean distance from the original instruction, PD")
        axes.set_ylabel("success")
        figure.legend(title="names", loc="outside lower center", ncols=4, columnspacing=1, handletextpad=0.2)

    said = (
        "The cells are too few, or too much alike, for a correlation."
        if correlation is None
        else f"Pearson's r = {number(correlation.r, 2)} over {correlation.cells} cells "
        f"(95 % interval {between(correlation.interval, digits=2)}, Fisher's; {p_phrase(correlation.p)})."
    )
    caption = f"Each mark is a cell of the grid; lines: 95 % Wilson intervals. {said}"
    return Drawing(
        "distance-success", "Success against the distance of the instruction", caption, (HALF, 3.2), paint
    )


def sweep_figure(runs: Mapping[str, Sweep]) -> Drawing:
    """PRIDE over its weight; one line for each run."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (name, sweep) in enumerate(runs.items()):
            x = [point.alpha for point in sweep.points]
            look = series(place)
            axes.plot(x, [point.pride for point in sweep.points], label=name, markersize=4, **look)
            low, high = zip(
                *((point.interval.low, point.interval.high) for point in sweep.points), strict=True
            )
            axes.fill_between(x, low, high, color=look["color"], alpha=0.15, linewidth=0)
        axes.set_ylim(-3, 103)
        axes.set_xlabel("weight of keywords against structure, alpha")
        axes.set_ylabel("PRIDE")
        if len(runs) > 1:
            figure.legend(loc="outside lower center", ncols=min(len(runs), 2))

    slopes = "; ".join(
        (f"{name}: slope " if len(runs) > 1 else "Slope ")
        + f"{signed(sweep.slope)} per unit of alpha"
        + (
            f" (95 % interval {between(sweep.interval)}, {methods([sweep.interval])})"
            if sweep.interval
            else ""
        )
        + f", {plural(sweep.points[0].episodes, 'episode')} of {plural(sweep.points[0].wordings, 'wording')}"
        for name, sweep in runs.items()
    )
    caption = (
        "PRIDE as keywords (right) or structure (left) weigh more; band: 95 % Wilson intervals over wordings."
        f" {slopes}."
    )
    return Drawing("alpha-sweep", "PRIDE over its weight", caption, (HALF, 3.2), paint)


def names_figure(found: NameGaps, report: RunReport) -> Drawing:
    """What it costs to call each thing by another name."""

    def mark(each: NameGap) -> Mark:
        counts = f"{each.kept:,}/{each.kept_count:,}", f"{each.changed:,}/{each.changed_count:,}"
        notes = points(each.change), between(each.interval, 100), *counts, p_value(each.p)
        label = f"the {each.noun}" if each.noun else "any name"
        return Mark(label, each.change, each.interval, notes, sure=each.p < 0.05)

    groups = {"": [mark(each) for each in (found.overall, *found.nouns)][:MOST]}

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        heads = ("points", "95 % interval", "name kept", "changed", "p")
        along = "change of success with another name, points"
        forest(axes, groups, along=along, heads=heads, zero=0.0, least=0.1)
        points_axis(axes.xaxis)

    caption = (
        f"Wordings that change a name against wordings of the same tasks that keep all, over "
        f"{plural(found.overall.strata, 'stratum', 'strata')} (task x way to say what to do); below it, each "
        "noun that was renamed alone. Lines: 95 % Newcombe intervals over strata; p: exact, not adjusted; "
        "filled: p < 0.05."
    )
    return Drawing("names", "Which names it knows", caption, (WIDTH, height(groups)), paint)


def gap_figure(runs: Mapping[str, ObjectGap]) -> Drawing:
    """Success with things' own names and with other ones."""
    groups: dict[str, list[Mark]] = {}
    for name, gap in runs.items():
        groups[name if len(runs) > 1 else ""] = [
            Mark(
                label,
                rate.rate or 0.0,
                rate.interval,
                (percent(rate.rate), f"{rate.successes:,}/{rate.count:,}"),
                colour=colour,
                shape=shape,
            )
            for label, rate, colour, shape in (
                ("name kept", gap.preserved, BLUE, "o"),
                ("another name", gap.paraphrased, ORANGE, "s"),
            )
        ]

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        forest(axes, groups, along="success", heads=("success", "n"))
        axes.set_xlim(-0.02, 1.02)
        percent_axis(axes.xaxis)

    said = "; ".join(
        (f"{name}: " if len(runs) > 1 else "")
        + f"{points(gap.change)} points (95 % interval {between(gap.interval, 100)}, Newcombe over wordings)"
        for name, gap in runs.items()
    )
    caption = (
        "Paraphrases that keep things' names (none, addition) and those that change them. "
        f"{said}. Lines: 95 % Wilson intervals."
    )
    rows = sum(len(marks) + bool(name) for name, marks in groups.items())
    return Drawing("object-gap", "What another name costs", caption, (WIDTH, 0.9 + 0.22 * rows), paint)
