"""LIBERO-Para: paraphrased instructions over a grid of object and action types.

Contains the figures of success rates (grids, object names, PRIDE's weight, action types, distance) and the layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from assay.extensions.papers.libero_para import failures, tables
from assay.extensions.papers.libero_para.tables import CellKey, ParaCell
from assay.measures.frames import ACTIONS, NONE
from assay.measures.result import MeasureError, Missing
from assay.measures.views import style
from assay.measures.views.style import Drawing, grid_map
from assay.measures.views.table import Column, Table
from assay.measures.views.wording import listed, number, p_phrase, plural
from assay.measures.words.paraphrase import DISTANCE_CORRELATION, OBJECT_GAP
from assay.measures.words.pride import SWEEP
from assay.report.papers import ExhibitPlan, Paper, PaperRun, Part, by_run, drawn_by, plan_sections

COLOURS = {"lexical": style.BLUE, "structural": style.ORANGE, "pragmatic": style.PINK, "": style.FAINT}
"""Colours of the action-type categories and of the original instruction."""


def _in_percent(share: float) -> str:
    return number(100 * share, 1)


@by_run(lambda run: run.data.result(tables.CELLS))
def average_grid(results: dict[str, tuple[ParaCell, ...]]) -> Drawing:
    """Return Figure 6: success rate in each cell of the grid, averaged over models."""
    shares = tables.average([{cell.key: cell.success for cell in cells} for cells in results.values()])
    episodes = sum(cell.episodes for cells in results.values() for cell in cells)
    original = "The top left cell is the original instruction. " if tables.ORIGINAL in shares else ""
    caption = (
        f"Success rate in per cent, unweighted mean over {_name_models(results)}; {plural(episodes, 'episode')}. "
        f"{original}Hatched cells have no episodes."
    )
    return grid_map(
        "success", "Success rate in each cell, averaged over models", caption, shares, _in_percent
    )


def cell_exhibits(run: PaperRun) -> Iterator[Part]:
    """Yield Figure 17: one model's success rate in each cell, averaged over seeds and for each seed."""
    cells = run.data.result(tables.CELLS)
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
    yield grid_map("success", "success rate in each cell", caption, tables.cell_rates(run), _in_percent)


@by_run(tables.cell_rates)
def action_figure(results: dict[str, dict[CellKey, float]]) -> Drawing:
    """Return Figure 14: success rates by action type and by category, averaged over models."""
    types = [tables.action_means(cells) for cells in results.values()]
    categories = [tables.category_means(cells) for cells in results.values()]
    kind = {action: name for name, actions in tables.CATEGORIES.items() for action in actions}

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
                    axes.plot(
                        place + offset,
                        value,
                        style.MARKS[model % len(style.MARKS)],
                        color=style.INK,
                        markersize=3,
                    )
        style.share_limits(axes)
        axes.grid(visible=False, axis="x")
        axes.set_xticks(range(len(names)), names, rotation=35, ha="right")

    def paint(figure: Figure) -> None:
        left, right = figure.subplots(1, 2, width_ratios=(11, 3), sharey=True)
        bars(left, ACTIONS, types, [COLOURS[kind.get(action, "")] for action in ACTIONS])
        bars(
            right, list(tables.CATEGORIES), categories, [COLOURS[category] for category in tables.CATEGORIES]
        )
        left.set_ylabel("success")
        handles: list[Artist] = [
            Patch(color=COLOURS[category], label=category) for category in tables.CATEGORIES
        ]
        for model, name in enumerate(results if len(results) > 1 else ()):
            mark = style.MARKS[model % len(style.MARKS)]
            handles.append(
                Line2D([], [], color=style.INK, marker=mark, linestyle="", markersize=4, label=name)
            )
        figure.legend(handles=handles, loc="outside upper center", ncols=5)

    complete = [name for name, cells in results.items() if tables.ORIGINAL in cells]
    scope = f" only in {listed(complete)}" if complete else " in none of the runs"
    caption = (
        f"Unweighted mean over the object types, then over {_name_models(results)}; each mark is a model. '{NONE}' "
        f"includes the original instruction{'' if len(complete) == len(results) else scope}. "
        "Right: mean of the action types of a category."
    )
    return Drawing("actions", "Success rate by action type", caption, (style.WIDTH, 3.5), paint)


def _distances(run: PaperRun) -> tuple[list[tuple[float, float, float]], str]:
    """Return each cell's distance, success rate and standard deviation, and a label with the correlation."""
    cells = [
        (cell.pd, cell.success, cell.spread or 0.0)
        for cell in run.data.result(tables.CELLS)
        if cell.pd is not None and cell.key != tables.ORIGINAL
    ]
    if not cells:
        raise MeasureError("no cell has a distance")
    correlation = run.data.attempt(DISTANCE_CORRELATION)
    if isinstance(correlation, Missing):
        return cells, correlation.missing
    return cells, f"r = {number(correlation.r, 3)}, {p_phrase(correlation.p)}"


@by_run(_distances)
def correlation_figure(results: dict[str, tuple[list[tuple[float, float, float]], str]]) -> Drawing:
    """Return Figure 16: success rate in each cell against the paraphrase distance PD, one panel per model."""
    across = min(len(results), 3)
    down = -(-len(results) // across)

    def paint(figure: Figure) -> None:
        panels = np.atleast_1d(figure.subplots(down, across, sharex=True, sharey=True)).ravel()
        for place, (axes, (name, (cells, text))) in enumerate(zip(panels, results.items(), strict=False)):
            x, y, spread = np.array(cells).T
            look = style.series(place)
            axes.errorbar(x, y, yerr=spread, linestyle="", markersize=3.5, elinewidth=0.6, **look)
            if np.ptp(x) > 0:
                slope, level = np.polyfit(x, y, 1)
                ends = np.array([x.min(), x.max()])
                axes.plot(ends, slope * ends + level, color=style.FAINT, lw=1.1, linestyle="--")
            style.share_limits(axes)
            axes.set_title(f"{name}\n{text}", fontsize=8.5)
        for axes in panels[len(results) :]:
            axes.set_visible(False)
        figure.supxlabel("mean distance from the original instruction, PD", fontsize=8.5)
        figure.supylabel("success", fontsize=8.5)

    sizes = ", ".join(f"{name} {len(cells)}" for name, (cells, _) in results.items())
    caption = (
        "Each mark is a cell of the grid (original excluded); lines: standard deviation over seeds. Pearson's r "
        f"over cells ({sizes}); dashed: least squares."
    )
    width = style.HALF if across == 1 else style.WIDTH
    title = "Success rate against the distance of the instruction"
    return Drawing("correlation", title, caption, (width, 2.5 * down + 0.5), paint)


def _name_models(names: Iterable[str]) -> str:
    names = list(names)
    return listed(names) if len(names) < 4 else plural(len(names), "model")


EXHIBITS = (
    ExhibitPlan("Figure 6", "Success rate in each cell, averaged over models", average_grid),
    ExhibitPlan("Figure 17", "Success rate in each cell, by model", cell_exhibits, of_each=True),
    drawn_by(OBJECT_GAP, "Figure 7", "Original and other object names"),
    ExhibitPlan("Figure 14", "Action types", action_figure),
    drawn_by(SWEEP, "Figure 13", "PRIDE as a function of its weight"),
    ExhibitPlan("Figure 16", "Success rate against distance, by model", correlation_figure),
)


LAYOUT = (
    (
        "Success",
        "Success rates with the original instructions and with paraphrases, and PRIDE.",
        ("Table 2", "Table 3", "Figure 6", "Figure 17", "Summary by seed", "Summary by scope", "Table 11"),
    ),
    (
        "Difficulty of paraphrases",
        "Object names compared with action types, and the distance from the original instruction.",
        ("Figure 7", "Figure 14", "Figure 13", "Figure 16", "Table 10"),
    ),
    (
        "Failures",
        "Near failures follow the successful trajectory (execution errors); far failures do not (planning errors).",
        ("Table 4", "Table 16", "Figure 8", "Figure 18", "Figure 19"),
    ),
    (
        "The paraphrases",
        "The wordings in the runs. `assay words stats` makes the same tables from a table of wordings.",
        tuple(plan.label for plan in tables.PARAPHRASES),
    ),
)

PAPER = Paper(
    "libero-para",
    "LIBERO-Para: A Diagnostic Benchmark and Metrics for Paraphrase Robustness in VLA Models",
    plan_sections(LAYOUT, (*tables.EXHIBITS, *tables.PARAPHRASES, *EXHIBITS, *failures.EXHIBITS)),
)
