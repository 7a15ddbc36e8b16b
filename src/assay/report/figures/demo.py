"""The demo at a glance: success of every policy on every experiment."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from assay.measures.success.rates import Rate
from assay.measures.views.style import HALF, Drawing
from assay.report.figures.paraphrase import cell


def success_figure(found: Mapping[str, Mapping[str, Rate | None]]) -> Drawing:
    """Success as a heat map: policy -> experiment -> rate."""
    experiments = list(next(iter(found.values()), {}))

    def paint(figure: Figure) -> None:
        axes = figure.subplots()
        for row, rates in enumerate(found.values()):
            for column, rate in enumerate(rates.values()):
                if rate is not None:
                    cell(axes, row, column, rate)
        axes.set_xlim(0, len(experiments))
        axes.set_ylim(len(found), 0)
        axes.set_xticks(np.arange(len(experiments)) + 0.5, experiments)
        axes.set_yticks(np.arange(len(found)) + 0.5, list(found))
        axes.xaxis.set_ticks_position("top")
        axes.tick_params(length=0)
        axes.grid(visible=False)
        for side in axes.spines.values():
            side.set_visible(False)

    caption = (
        "Success in per cent where success is expected and, below it, how many episodes; libero "
        "as it is, the others where something was changed."
    )
    return Drawing(
        "success", "Success by policy and experiment", caption, (HALF, 0.5 + 0.4 * len(found)), paint
    )
