"""LIBERO-Para's figures of success: grids, names kept and changed, PRIDE's weight, action types, distance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from assay.extensions.papers.libero_para.cells import (
    CATEGORIES,
    CELLS,
    ORIGINAL,
    action_means,
    average,
    category_means,
    success_of,
)
from assay.measures.result import MeasureError, Missing
from assay.measures.views.style import (
    BLUE,
    FAINT,
    HALF,
    INK,
    MARKS,
    ORANGE,
    PINK,
    WIDTH,
    Drawing,
    percent_axis,
    series,
    share_limits,
)
from assay.measures.views.wording import between, listed, number, p_phrase, plural, points, signed
from assay.measures.views.heat_map import ACTIONS, NONE
from assay.measures.words.paraphrase import DISTANCE_CORRELATION, OBJECT_GAP
from assay.measures.words.pride import SWEEP
from assay.report.figures.heat_map import success_map
from assay.report.papers.base import PaperRun, Part, of_each

COLOURS = {"lexical": BLUE, "structural": ORANGE, "pragmatic": PINK, "": FAINT}
"""Of the categories of action types, and of the original instruction."""


def average_grid(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Figure 6: success per cell, averaged over models."""
    found, missing = of_each(runs, lambda run: run.data.result(CELLS))
    cells = average([success_of(each) for each in found.values()])
    episodes = sum(cell.episodes for each in found.values() for cell in each)
    original = "Top left is the original instruction. " if ORIGINAL in cells else ""
    caption = (
        f"Success in per cent, mean over {_named(found)}, each alike; {plural(episodes, 'episode')}. "
        f"{original}Hatched cells have no episode."
    )
    yield success_map("success", "Success of each cell, mean over models", caption, cells)
    yield from missing


def model_grid(run: PaperRun) -> Drawing:
    """Figure 17: success per cell of one model."""
    found = run.data.result(CELLS)
    seeds = {seed for cell in found for seed in cell.seeds}
    caption = (
        f"Success in per cent, mean over {plural(len(seeds), 'seed')}; "
        f"{plural(sum(cell.episodes for cell in found), 'episode')}. Hatched cells have no episode."
    )
    return success_map("success", "success of each cell", caption, success_of(found))


def names_figure(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Figure 7: success where objects keep their names and where they do not."""
    found, missing = of_each(runs, lambda run: run.data.result(OBJECT_GAP))

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, gap in enumerate(found.values()):
            for aside, rate, colour in ((-0.2, gap.preserved, BLUE), (0.2, gap.paraphrased, ORANGE)):
                share, ends = rate.rate or 0.0, rate.interval
                axes.bar(place + aside, share, 0.36, color=colour)
                if ends is not None:
                    axes.vlines(place + aside, ends.low, ends.high, color=INK, lw=1)
                axes.text(
                    place + aside, 0.02, number(100 * share), ha="center", color="white", fontweight="bold"
                )
            top = max(
                each.interval.high if each.interval else 1.0 for each in (gap.preserved, gap.paraphrased)
            )
            axes.text(place, top + 0.03, f"{points(gap.change)}", ha="center", fontweight="bold")
        share_limits(axes)
        axes.set_ylim(0, 1.14)
        _model_names(axes, list(found))
        axes.set_ylabel("success")
        axes.grid(visible=False, axis="x")
        handles = [Patch(color=BLUE, label="name kept (none, addition)")]
        handles.append(Patch(color=ORANGE, label="another name (contextual, habitual)"))
        figure.legend(handles=handles, loc="outside upper center", ncols=2)

    said = "; ".join(
        f"{name}: {points(gap.change)} points ({between(gap.interval, 100)}), n = {gap.preserved.count:,} and "
        f"{gap.paraphrased.count:,}"
        for name, gap in found.items()
    )
    caption = (
        "Paraphrases that keep the objects' names against those that change them; above each pair the difference in "
        f"points (95 % Newcombe interval over wordings). {said}. Lines: 95 % Wilson intervals."
    )
    width = HALF if len(found) < 3 else WIDTH
    yield Drawing("names", "Success with objects' names kept and changed", caption, (width, 3.3), paint)
    yield from missing


def weight_figure(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Figure 13: PRIDE over alpha, and its slope, the steepest first."""
    found, missing = of_each(runs, lambda run: run.data.result(SWEEP))

    def paint(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        for place, (name, sweep) in enumerate(found.items()):
            look = series(place)
            x = [point.alpha for point in sweep.points]
            left.plot(x, [point.pride for point in sweep.points], label=name, markersize=4, **look)
        left.set_xlabel("weight of keywords against structure, alpha")
        left.set_ylabel("PRIDE")
        order = sorted(found, key=lambda name: -found[name].slope)
        for row, name in enumerate(order):
            sweep, colour = found[name], series(list(found).index(name))["color"]
            right.barh(row, sweep.slope, 0.6, color=colour)
            if sweep.interval is not None:
                right.hlines(row, sweep.interval.low, sweep.interval.high, color=INK, lw=1)
        right.axvline(0, color=INK, lw=0.7)
        right.set_yticks(range(len(order)), [f"{name}  {signed(found[name].slope)}" for name in order])
        right.set_xlabel("slope, PRIDE per unit of alpha")
        right.grid(visible=False, axis="y")
        figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=4)

    slopes = "; ".join(
        f"{name} {signed(sweep.slope)}"
        + (f" ({between(sweep.interval)})" if sweep.interval is not None else "")
        + f", n = {sweep.points[0].episodes:,}"
        for name, sweep in sorted(found.items(), key=lambda item: item[1].slope)
    )
    mean = (
        f" Mean slope: {signed(float(np.mean([each.slope for each in found.values()])))}."
        if len(found) > 1
        else ""
    )
    caption = (
        "Left: PRIDE as structure (alpha 0) or keywords (alpha 1) alone count. Right: slope of the line through it; "
        f"negative where new keywords cost more than new structure. Steepest first, with 95 % intervals: {slopes}."
        f"{mean}"
    )
    yield Drawing("weight", "PRIDE over its weight", caption, (WIDTH, 3.4), paint)
    yield from missing


def action_figure(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Figure 14: success by action type and by category, averaged over models."""
    found, missing = of_each(runs, lambda run: success_of(run.data.result(CELLS)))
    types = {name: action_means(cells) for name, cells in found.items()}
    categories = {name: category_means(cells) for name, cells in found.items()}
    kind = {action: name for name, actions in CATEGORIES.items() for action in actions}

    def bars(
        axes: Axes, names: Sequence[str], models: Sequence[dict[str, float]], colours: Sequence[str]
    ) -> None:
        for place, (name, colour) in enumerate(zip(names, colours, strict=True)):
            values = [each[name] for each in models if name in each]
            if values:
                axes.bar(place, float(np.mean(values)), 0.7, color=colour)
                axes.text(
                    place,
                    0.02,
                    number(100 * float(np.mean(values))),
                    ha="center",
                    color="white",
                    fontsize=7.5,
                )
                if len(values) > 1:
                    for model, (value, at) in enumerate(
                        zip(values, np.linspace(-0.24, 0.24, len(values)), strict=True)
                    ):
                        axes.plot(place + at, value, MARKS[model % len(MARKS)], color=INK, markersize=3)
        share_limits(axes)
        axes.grid(visible=False, axis="x")
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right")

    def paint(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(11, 3), sharey=True)
        bars(left, ACTIONS, list(types.values()), [COLOURS[kind.get(action, "")] for action in ACTIONS])
        bars(
            right, list(CATEGORIES), list(categories.values()), [COLOURS[category] for category in CATEGORIES]
        )
        left.set_ylabel("success")
        handles: list[Artist] = [Patch(color=COLOURS[category], label=category) for category in CATEGORIES]
        if len(found) > 1:
            handles += [
                Line2D(
                    [],
                    [],
                    color=INK,
                    marker=MARKS[model % len(MARKS)],
                    linestyle="",
                    markersize=4,
                    label=name,
                )
                for model, name in enumerate(found)
            ]
        figure.legend(handles=handles, loc="outside upper center", ncols=5)

    complete = [name for name, cells in found.items() if ORIGINAL in cells]
    said = f"'{NONE}' includes the original instruction" + (
        ""
        if len(complete) == len(found)
        else f" in {listed(complete)} only"
        if complete
        else " in none of the runs"
    )
    caption = (
        f"Mean over the ways to name objects, each cell alike, then over {_named(found)}; marks are the models. "
        f"{said}. Right: mean of the action types of a category."
    )
    yield Drawing("actions", "Success by how the action is said", caption, (WIDTH, 3.5), paint)
    yield from missing


def correlation_figure(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Figure 16: success against PD, cell by cell, one panel for each model."""

    def measured(run: PaperRun) -> tuple[list[tuple[float, float, float]], str]:
        cells = [
            (cell.pd, cell.success, cell.spread or 0.0)
            for cell in run.data.result(CELLS)
            if cell.pd is not None and cell.key != ORIGINAL
        ]
        if not cells:
            raise MeasureError("no cell has a distance")
        found = run.data.attempt(DISTANCE_CORRELATION)
        if isinstance(found, Missing):
            return cells, found.missing
        return cells, f"r = {number(found.r, 3)}, {p_phrase(found.p)}"

    found, missing = of_each(runs, measured)
    across = min(len(found), 3)
    down = -(-len(found) // across)

    def paint(figure: Figure) -> None:
        panels = np.atleast_1d(figure.subplots(down, across, sharex=True, sharey=True)).ravel()
        for place, (axes, (name, (cells, said))) in enumerate(zip(panels, found.items(), strict=False)):
            x, y, spread = np.array(cells).T
            look = series(place)
            axes.errorbar(x, y, yerr=spread, linestyle="", markersize=3.5, elinewidth=0.6, **look)
            if np.ptp(x) > 0:
                slope, level = np.polyfit(x, y, 1)
                ends = np.array([x.min(), x.max()])
                axes.plot(ends, slope * ends + level, color=FAINT, lw=1.1, linestyle="--")
            share_limits(axes)
            axes.set_title(f"{name}\n{said}", fontsize=8.5)
        for axes in panels[len(found) :]:
            axes.set_visible(False)
        figure.supxlabel("mean distance from the original instruction, PD", fontsize=8.5)
        figure.supylabel("success", fontsize=8.5)

    sizes = ", ".join(f"{name} {len(cells)}" for name, (cells, _) in found.items())
    caption = (
        "Each mark is a cell of the grid without the original; lines: standard deviation over seeds. Pearson's r "
        f"over cells ({sizes}); dashed: least squares."
    )
    width = HALF if across == 1 else WIDTH
    yield Drawing(
        "correlation",
        "Success against the distance of the instruction",
        caption,
        (width, 2.5 * down + 0.5),
        paint,
    )
    yield from missing


def _named(found: Iterable[str]) -> str:
    names = list(found)
    return listed(names) if len(names) < 4 else plural(len(names), "model")


def _model_names(axes: Axes, names: Sequence[str]) -> None:
    axes.set_xticks(
        range(len(names)),
        names,
        rotation=20 if len(names) > 4 else 0,
        ha="right" if len(names) > 4 else "center",
    )
    axes.set_xlim(-0.6, len(names) - 0.4)
    percent_axis(axes.yaxis)
