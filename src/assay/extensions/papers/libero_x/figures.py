"""LIBERO-X's Figures 3, 5, 6 and 7: paths, the decline over levels, success by label and by time limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from assay.extensions.papers.libero_x.published import DEFAULT_LIMIT
from assay.extensions.papers.libero_x.tables import heading, level_rows
from assay.measures.result import MeasureError
from assay.measures.success.rates import Rate
from assay.measures.success.task_labels import label_families, label_rates
from assay.measures.time.timing import Limit, limits_by, within_limit
from assay.measures.views.style import HALF, SHADES, WIDTH, Drawing, aside, points_axis, series
from assay.measures.views.wording import plural
from assay.measures.world.curves import SuccessCurve, curve
from assay.report.figures.curves import levels_figure
from assay.measures.time.timing import limits_axes
from assay.measures.success.task_labels import radar, spokes_of
from assay.report.papers.base import PaperRun, Part, of_each
from assay.measures.time.timing import REFERENCE_NOTE

CELL = 0.015
"""Of the heat map of paths, metres."""
COLUMNS = 3
"""Panels in a row."""
WITHIN = f" within {DEFAULT_LIMIT:g} times the reference time, where that is known"
"""How success is counted here, in captions."""
_EDGE = 0.02


def paths_figure(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Figure 3: where the end effector went, from above; bright where it was often."""
    found, missing = of_each(runs, _steps)
    both = np.concatenate(list(found.values()))
    low, high = both.min(axis=0) - _EDGE, both.max(axis=0) + _EDGE
    bins = [np.arange(low[axis], high[axis] + CELL, CELL) for axis in (0, 1)]
    maps = {name: np.histogram2d(points[:, 0], points[:, 1], bins)[0] for name, points in found.items()}
    # Shares, not counts: runs of different lengths look alike where they went to the same places.
    shares = {name: each / each.sum() for name, each in maps.items()}
    most = max(float(each.max()) for each in shares.values())
    least = min(float(each[each > 0].min()) for each in shares.values())
    rows = -(-len(found) // COLUMNS)
    columns = min(len(found), COLUMNS)

    def paint(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False)
        drawn: Any = None
        for place, axes in enumerate(grid.flat):
            if place >= len(shares):
                axes.set_axis_off()
                continue
            name = list(shares)[place]
            drawn = axes.imshow(
                np.where(shares[name] > 0, shares[name], np.nan),
                extent=(bins[1][0], bins[1][-1], bins[0][-1], bins[0][0]),
                cmap=SHADES,
                norm=LogNorm(least, most),
                interpolation="nearest",
            )
            axes.grid(visible=False)
            axes.set_facecolor("#f4f4f6")
            axes.set_xlabel("y, m")
            axes.set_ylabel("x, m")
            if len(found) > 1:
                axes.set_title(name, fontsize=8.5)
        bar = figure.colorbar(drawn, ax=list(grid.flat), pad=0.02, aspect=24)
        bar.set_label("steps in a cell, of all", fontsize=8)
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
        bar.ax.grid(visible=False)

    said = "; ".join(
        f"{name}: " * (len(found) > 1) + f"{len(found[name]):,} steps in {int((each > 0).sum()):,} cells"
        for name, each in maps.items()
    )
    caption = (
        f"Steps of the end effector in cells of {100 * CELL:g} cm, from above, the robot at the top; {said}. "
        "Shades are logarithmic."
    )
    span = (high[0] - low[0]) / (high[1] - low[1])
    wide = WIDTH if columns > 1 else HALF
    tall = rows * ((wide - 1.2) / columns - 0.5) * float(np.clip(span, 0.5, 1.6)) + 0.7 * rows
    yield Drawing("paths", "Where the end effector went", caption, (wide, tall), paint)
    yield from missing


def _steps(run: PaperRun) -> np.ndarray:
    """All positions of the end effector, (n, 3). Raises MeasureError where there is none."""
    points = run.data.paths.points
    if not len(points):
        raise MeasureError("no episode has a trajectory")
    return points


def decline_figures(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Figure 5: success on each level, and what each level costs against the one before."""
    found, missing = of_each(runs, lambda run: curve(_in_time(run.data.plausible), "level"))
    shown = found if len(found) > 1 else {"": next(iter(found.values()))}
    success = levels_figure(shown)
    yield replace(success, caption=f"Success{WITHIN}. {success.caption}")
    yield _decline(shown)
    yield from missing


def _in_time(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows with success as the paper's Tables II to IV have it: within its usual time limit."""
    return within_limit(frame, DEFAULT_LIMIT)


def _decline(runs: Mapping[str, SuccessCurve]) -> Drawing:
    names = {
        (before.at, after.at): f"{_level(before.at)} to {_level(after.at)}"
        for each in runs.values()
        for before, after in zip(each.steps, each.steps[1:], strict=False)
        if after.change is not None
    }
    if not names:
        raise MeasureError("no start was played on two levels")
    places = {pair: place for place, pair in enumerate(sorted(names))}

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        axes.axhline(0, color="#888890", lw=0.8)
        for number, (run, each) in enumerate(runs.items()):
            look = series(number)
            axes.plot([], [], label=run, ls="none", **look)
            for before, after in zip(each.steps, each.steps[1:], strict=False):
                if after.change is None:
                    continue
                x = places[before.at, after.at] + 4 * aside(number, len(runs)) * max(len(places) - 1, 1)
                axes.plot(x, after.change, ls="none", **look)
                if after.interval is not None:
                    axes.vlines(x, after.interval.low, after.interval.high, color=look["color"], lw=1.1)
        axes.set_xticks(range(len(places)), [names[pair] for pair in places])
        axes.set_xlim(-0.5, len(places) - 0.5)
        points_axis(axes.yaxis)
        axes.set_xlabel("from level to level")
        axes.set_ylabel("change of success, points")
        if len(runs) > 1:
            figure.legend(loc="outside lower center", ncols=min(len(runs), 2))

    caption = (
        f"Change of success{WITHIN}, from one level to the next over the starts that both have. Lines: "
        "95 % Newcombe intervals over starts, which reach to 0 where the exact test cannot exclude it."
    )
    return Drawing("decline", "What each level costs", caption, (HALF, 3.0), paint)


def _level(at: float) -> str:
    return "control" if at == 0 else f"{at:g}"


def radars(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Figure 6: success by label, one radar for each level."""

    def levels(run: PaperRun) -> dict[int, dict[str, tuple[Rate, ...]]]:
        parts = sorted(level_rows(run).group_by("level"), key=lambda each: int(each[0][0]))
        return {
            int(level): {family: label_rates(_in_time(part), family) for family in label_families(part)}
            for (level,), part in parts
        }

    found, missing = of_each(runs, levels)
    everything = sorted({level for each in found.values() for level in each})
    spokes = spokes_of([families for each in found.values() for families in each.values()])
    named = [heading("label", label) for _, label in spokes]

    def paint(figure: Figure) -> None:
        rows = -(-len(everything) // COLUMNS)
        for place, level in enumerate(everything):
            axes: Any = figure.add_subplot(rows, COLUMNS, place + 1, projection="polar")
            radar(
                axes, {name: each.get(level, {}) for name, each in found.items()}, spokes, size=7, names=named
            )
            axes.set_title(f"level {level}", fontsize=9, pad=10)
        if len(found) > 1:
            handles, names = figure.axes[0].get_legend_handles_labels()
            figure.legend(handles, names, loc="outside lower center", ncols=min(len(found), 5))

    lines = (
        " Lines along the spokes: 95 % Wilson intervals."
        if len(found) == 1
        else " Intervals are in Tables V to IX."
    )
    caption = f"Success by label{WITHIN}; a spoke for each label, 100 % at the rim.{lines}"
    rows = -(-len(everything) // COLUMNS)
    yield Drawing("radars", "Success by label, level by level", caption, (WIDTH, 3.2 * rows + 0.3), paint)
    yield from missing


def limits_figures(runs: Sequence[PaperRun]) -> Iterator[Part]:
    """Figure 7: success against the time limit, level by level."""

    def levels(run: PaperRun) -> dict[int, tuple[Limit, ...]]:
        found = limits_by(level_rows(run), ("level",))
        return {int(str(level)): limits for (level,), limits in found.items()}

    found, missing = of_each(runs, levels)
    everything = sorted({level for each in found.values() for level in each})
    shown = found if len(found) > 1 else {"": next(iter(found.values()))}

    def paint(figure: Figure) -> None:
        rows = -(-len(everything) // COLUMNS)
        grid = figure.subplots(rows, COLUMNS, squeeze=False, sharey=True)
        for place, axes in enumerate(grid.flat):
            if place >= len(everything):
                axes.set_axis_off()
                continue
            level = everything[place]
            limits_axes(axes, {name: each[level] for name, each in shown.items() if level in each})
            axes.set_title(f"level {level}", fontsize=9)
            axes.tick_params(axis="x", labelsize=6.5)
        if len(found) > 1:
            handles, names = grid[0, 0].get_legend_handles_labels()
            figure.legend(handles, names, loc="outside lower center", ncols=min(len(found), 4))

    count = plural(sum(limits[0].count for each in found.values() for limits in each.values()), "episode")
    caption = f"Success, had the time been shorter; {count}. {REFERENCE} Lines: 95 % Wilson intervals."
    rows = -(-len(everything) // COLUMNS)
    yield Drawing("limits", "Success against the time limit", caption, (WIDTH, 2.4 * rows + 0.4), paint)
    yield from missing
