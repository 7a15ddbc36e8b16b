"""Success against the magnitude of a change, with where the threshold may be."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.figure import Figure

from assay.measures.views.style import BLUE, ORANGE, WIDTH, Drawing, share_limits
from assay.measures.views.wording import percent
from assay.measures.world.thresholds import Threshold, Thresholds
from assay.report.thresholds import in_words
from assay.support.stats.intervals import wilson_interval

MOST = 12
"""Panels that are drawn."""


def figure_of_thresholds(found: Thresholds) -> Drawing:
    """One panel for each task and axis."""
    shown = found.found[:MOST]
    columns = min(4, len(shown))
    rows = math.ceil(len(shown) / columns)

    def paint(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for place, each in enumerate(shown):
            _panel(grid[place // columns][place % columns], each, found.level)
        for place in range(len(shown), rows * columns):
            grid[place // columns][place % columns].set_axis_off()
        for row in grid:
            row[0].set_ylabel("success kept")

    more = f" The first {MOST} of {len(found.found)}." if len(found.found) > MOST else ""
    caption = (
        "Of the starts that succeed unchanged, how many still do; the area of a dot is the number of starts, lines "
        f"are 95 % Wilson intervals. Shaded: where success falls below {percent(found.level, 0)} (dashed), with a "
        f"confidence of {percent(found.confidence, 0)} at all times.{more}"
    )
    size = (min(WIDTH, max(4.6, 2.4 * columns)), 2.3 * rows + 0.2)
    return Drawing("thresholds", "The smallest change that breaks it", caption, size, paint)


def threshold_figure(found: Thresholds, report: object) -> Drawing:
    """The same for a report."""
    return figure_of_thresholds(found)


def _panel(axes: Any, each: Threshold, level: float) -> None:
    end = each.magnitudes[-1]
    room = 0.06 * end
    axes.set_xlim(-room, end + room)
    if each.fits:
        axes.axvspan(
            each.kept or 0.0, end + room if each.lost is None else each.lost, color=ORANGE, alpha=0.22, lw=0
        )
    axes.axhline(level, color=ORANGE, lw=1, ls="--")
    for point in each.points:
        between = wilson_interval(point.successes / point.starts, point.starts)
        axes.vlines(point.magnitude, between.low, between.high, color=BLUE, lw=1)
    axes.scatter(
        [point.magnitude for point in each.points],
        [point.successes / point.starts for point in each.points],
        s=[14 * point.starts for point in each.points],
        color=BLUE,
        zorder=3,
        clip_on=False,
    )
    share_limits(axes)
    axes.set_title(f"{each.task}\n{in_words(each)}", fontsize=8)
    axes.set_xlabel(f"{each.axis}, {each.unit}" if each.unit else each.axis)
