"""LIBERO-Para's figures of success rates: grids, object names, PRIDE's weight, action types and distance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from assay.extensions.papers.libero_para.tables import (
    CATEGORIES,
    CELLS,
    ORIGINAL,
    CellKey,
    ParaCell,
    action_means,
    average,
    category_means,
    cell_rates,
)
from assay.measures.result import MeasureError, Missing
from assay.measures.views.heat_map import ACTIONS, NONE, grid_map
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
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import between, listed, number, p_phrase, plural, points, signed
from assay.measures.words.paraphrase import DISTANCE_CORRELATION, OBJECT_GAP, ObjectGap
from assay.measures.words.pride import SWEEP, Sweep
from assay.report.papers import ExhibitPlan, PaperRun, Part, by_run

COLOURS = {"lexical": BLUE, "structural": ORANGE, "pragmatic": PINK, "": FAINT}
"""Colours of the action-type categories and of the original instruction."""


def _in_percent(share: float) -> str:
    return number(100 * share, 1)


@by_run(lambda run: run.data.result(CELLS))
def average_grid(results: dict[str, tuple[ParaCell, ...]]) -> Drawing:
    """Return Figure 6: success rate in each cell, averaged over models."""
    shares = average([{cell.key: cell.success for cell in cells} for cells in results.values()])
    episodes = sum(cell.episodes for cells in results.values() for cell in cells)
    original = "The top left cell is the original instruction. " if ORIGINAL in shares else ""
    caption = (
        f"Success rate in per cent, unweighted mean over {_name_models(results)}; {plural(episodes, 'episode')}. "
        f"{original}Hatched cells have no episodes."
    )
    return grid_map(
        "success", "Success rate in each cell, averaged over models", caption, shares, _in_percent
    )


def cell_exhibits(run: PaperRun) -> Iterator[Part]:
    """Yield Figure 17: one model's success rate in each cell, averaged over seeds and for each seed."""
    cells = run.data.result(CELLS)
    seeds = sorted({seed for cell in cells for seed in cell.seeds})

    def seed_column(seed: int) -> Column:
        return Column(f"seed {seed}", "share", value=lambda cell: cell.seeds.get(seed))

    yield Table.of(
        "cells",
        "success rate in each cell, by seed",
        cells,
        Column("names", value=lambda cell: cell.key[0]),
        Column("action", value=lambda cell: cell.key[1]),
        Column("mean", "share", value=lambda cell: cell.success),
        Column("deviation", "share", value=lambda cell: cell.spread),
        *map(seed_column, seeds),
        Column("episodes", "count", value=lambda cell: cell.episodes),
        Column("PD", "number", value=lambda cell: cell.pd),
        note="Mean over seeds; deviation: population standard deviation over seeds, as in the release's analysis.",
    )
    caption = (
        f"Success rate in per cent, mean over {plural(len(seeds), 'seed')}; "
        f"{plural(sum(cell.episodes for cell in cells), 'episode')}. Hatched cells have no episodes."
    )
    yield grid_map("success", "success rate in each cell", caption, cell_rates(run), _in_percent)


@by_run(lambda run: run.data.result(OBJECT_GAP))
def names_figure(gaps: dict[str, ObjectGap]) -> Drawing:
    """Return Figure 7: success rates with and without the original object names."""

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for place, gap in enumerate(gaps.values()):
            tops = []
            for offset, rate, colour in ((-0.2, gap.preserved, BLUE), (0.2, gap.paraphrased, ORANGE)):
                x, share, interval = place + offset, rate.rate or 0.0, rate.interval
                axes.bar(x, share, 0.36, color=colour)
                if interval is not None:
                    axes.vlines(x, interval.low, interval.high, color=INK, lw=1)
                axes.text(x, 0.02, number(100 * share), ha="center", color="white", fontweight="bold")
                tops.append(interval.high if interval is not None else 1.0)
            axes.text(place, max(tops) + 0.03, f"{points(gap.change)}", ha="center", fontweight="bold")
        share_limits(axes)
        axes.set_ylim(0, 1.14)
        rotated = len(gaps) > 4
        axes.set_xticks(
            range(len(gaps)), list(gaps), rotation=20 if rotated else 0, ha="right" if rotated else "center"
        )
        axes.set_xlim(-0.6, len(gaps) - 0.4)
        percent_axis(axes.yaxis)
        axes.set_ylabel("success")
        axes.grid(visible=False, axis="x")
        handles = [Patch(color=BLUE, label="original name (none, addition)")]
        handles.append(Patch(color=ORANGE, label="another name (contextual, habitual)"))
        figure.legend(handles=handles, loc="outside upper center", ncols=2)

    differences = "; ".join(
        f"{name}: {points(gap.change)} points ({between(gap.interval, 100)}), n = {gap.preserved.count:,} and "
        f"{gap.paraphrased.count:,}"
        for name, gap in gaps.items()
    )
    caption = (
        "Paraphrases that keep the object names and those that change them; above each pair, the difference in "
        f"points (95 % Newcombe interval over wordings). {differences}. Lines: 95 % Wilson intervals."
    )
    width = HALF if len(gaps) < 3 else WIDTH
    return Drawing("names", "Success rate with original and other object names", caption, (width, 3.3), paint)


@by_run(lambda run: run.data.result(SWEEP))
def weight_figure(sweeps: dict[str, Sweep]) -> Drawing:
    """Return Figure 13: PRIDE as a function of alpha, and its slope, steepest first."""

    def paint(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        for place, (name, sweep) in enumerate(sweeps.items()):
            look = series(place)
            x = [point.alpha for point in sweep.points]
            left.plot(x, [point.pride for point in sweep.points], label=name, markersize=4, **look)
        left.set_xlabel("weight of keywords relative to structure, alpha")
        left.set_ylabel("PRIDE")
        order = sorted(sweeps, key=lambda name: -sweeps[name].slope)
        for row, name in enumerate(order):
            sweep, colour = sweeps[name], series(list(sweeps).index(name))["color"]
            right.barh(row, sweep.slope, 0.6, color=colour)
            if sweep.interval is not None:
                right.hlines(row, sweep.interval.low, sweep.interval.high, color=INK, lw=1)
        right.axvline(0, color=INK, lw=0.7)
        right.set_yticks(range(len(order)), [f"{name}  {signed(sweeps[name].slope)}" for name in order])
        right.set_xlabel("slope, PRIDE per unit of alpha")
        right.grid(visible=False, axis="y")
        figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=4)

    slopes = "; ".join(
        f"{name} {signed(sweep.slope)}"
        + (f" ({between(sweep.interval)})" if sweep.interval is not None else "")
        + f", n = {sweep.points[0].episodes:,}"
        for name, sweep in sorted(sweeps.items(), key=lambda item: item[1].slope)
    )
    mean = signed(float(np.mean([sweep.slope for sweep in sweeps.values()])))
    caption = (
        "Left: PRIDE from structure alone (alpha 0) to keywords alone (alpha 1). Right: slope of the fitted line; "
        f"negative if new keywords cost more than new structure. Steepest first, with 95 % intervals: {slopes}."
        + (f" Mean slope: {mean}." if len(sweeps) > 1 else "")
    )
    return Drawing("weight", "PRIDE as a function of its weight", caption, (WIDTH, 3.4), paint)


@by_run(cell_rates)
def action_figure(results: dict[str, dict[CellKey, float]]) -> Drawing:
    """Return Figure 14: success rates by action type and by category, averaged over models."""
    types = [action_means(cells) for cells in results.values()]
    categories = [category_means(cells) for cells in results.values()]
    kind = {action: name for name, actions in CATEGORIES.items() for action in actions}

    def bars(
        axes: Axes, names: Sequence[str], models: Sequence[dict[str, float]], colours: Sequence[str]
    ) -> None:
        for place, (name, colour) in enumerate(zip(names, colours, strict=True)):
            values = [means[name] for means in models if name in means]
            if values:
                mean = float(np.mean(values))
                axes.bar(place, mean, 0.7, color=colour)
                axes.text(place, 0.02, number(100 * mean), ha="center", color="white", fontsize=7.5)
                offsets = np.linspace(-0.24, 0.24, len(values)) if len(values) > 1 else ()
                for model, (value, offset) in enumerate(zip(values, offsets, strict=False)):
                    axes.plot(place + offset, value, MARKS[model % len(MARKS)], color=INK, markersize=3)
        share_limits(axes)
        axes.grid(visible=False, axis="x")
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right")

    def paint(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(11, 3), sharey=True)
        bars(left, ACTIONS, types, [COLOURS[kind.get(action, "")] for action in ACTIONS])
        bars(right, list(CATEGORIES), categories, [COLOURS[category] for category in CATEGORIES])
        left.set_ylabel("success")
        handles: list[Artist] = [Patch(color=COLOURS[category], label=category) for category in CATEGORIES]
        for model, name in enumerate(results if len(results) > 1 else ()):
            mark = MARKS[model % len(MARKS)]
            handles.append(Line2D([], [], color=INK, marker=mark, linestyle="", markersize=4, label=name))
        figure.legend(handles=handles, loc="outside upper center", ncols=5)

    complete = [name for name, cells in results.items() if ORIGINAL in cells]
    scope = f" only in {listed(complete)}" if complete else " in none of the runs"
    caption = (
        f"Unweighted mean over the object types, then over {_name_models(results)}; marks are the models. '{NONE}' "
        f"includes the original instruction{'' if len(complete) == len(results) else scope}. "
        "Right: mean of the action types of a category."
    )
    return Drawing("actions", "Success rate by action type", caption, (WIDTH, 3.5), paint)


def _distances(run: PaperRun) -> tuple[list[tuple[float, float, float]], str]:
    """Return the distance, success rate and standard deviation of each cell, and a text with the correlation."""
    cells = [
        (cell.pd, cell.success, cell.spread or 0.0)
        for cell in run.data.result(CELLS)
        if cell.pd is not None and cell.key != ORIGINAL
    ]
    if not cells:
        raise MeasureError("no cell has a distance")
    correlation = run.data.attempt(DISTANCE_CORRELATION)
    if isinstance(correlation, Missing):
        return cells, correlation.missing
    return cells, f"r = {number(correlation.r, 3)}, {p_phrase(correlation.p)}"


@by_run(_distances)
def correlation_figure(results: dict[str, tuple[list[tuple[float, float, float]], str]]) -> Drawing:
    """Return Figure 16: success rate of each cell against PD, one panel per model."""
    across = min(len(results), 3)
    down = -(-len(results) // across)

    def paint(figure: Figure) -> None:
        panels = np.atleast_1d(figure.subplots(down, across, sharex=True, sharey=True)).ravel()
        for place, (axes, (name, (cells, text))) in enumerate(zip(panels, results.items(), strict=False)):
            x, y, spread = np.array(cells).T
            look = series(place)
            axes.errorbar(x, y, yerr=spread, linestyle="", markersize=3.5, elinewidth=0.6, **look)
            if np.ptp(x) > 0:
                slope, level = np.polyfit(x, y, 1)
                ends = np.array([x.min(), x.max()])
                axes.plot(ends, slope * ends + level, color=FAINT, lw=1.1, linestyle="--")
            share_limits(axes)
            axes.set_title(f"{name}\n{text}", fontsize=8.5)
        for axes in panels[len(results) :]:
            axes.set_visible(False)
        figure.supxlabel("mean distance from the original instruction, PD", fontsize=8.5)
        figure.supylabel("success", fontsize=8.5)

    sizes = ", ".join(f"{name} {len(cells)}" for name, (cells, _) in results.items())
    caption = (
        "Each mark is a cell of the grid without the original; lines: standard deviation over seeds. Pearson's r "
        f"over cells ({sizes}); dashed: least squares."
    )
    width = HALF if across == 1 else WIDTH
    title = "Success rate against the distance of the instruction"
    return Drawing("correlation", title, caption, (width, 2.5 * down + 0.5), paint)


def _name_models(names: Iterable[str]) -> str:
    names = list(names)
    return listed(names) if len(names) < 4 else plural(len(names), "model")


EXHIBITS = (
    ExhibitPlan("Figure 6", "Success rate in each cell, averaged over models", average_grid),
    ExhibitPlan("Figure 17", "Success rate in each cell, by model", cell_exhibits, of_each=True),
    ExhibitPlan("Figure 7", "Original and other object names", names_figure),
    ExhibitPlan("Figure 14", "Action types", action_figure),
    ExhibitPlan("Figure 13", "PRIDE as a function of its weight", weight_figure),
    ExhibitPlan("Figure 16", "Success rate against distance, by model", correlation_figure),
)
